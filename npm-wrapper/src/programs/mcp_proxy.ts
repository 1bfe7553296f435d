// Serves the tools of the MCP servers behind a gate, and the gate's own tools, to MCP clients.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  ResultSchema,
  type ServerResult,
} from '@modelcontextprotocol/sdk/types.js';
import { once } from 'node:events';
import type { McpOptions } from '../api/types.js';

/** How long a person may take to answer: as long as a timer can be set for. */
const MAX_WAIT_MS = 0x7fff_ffff;

/** How a proxy describes itself, and the gate behind it. */
export interface ProxyOptions {
  name: string;
  instructions: string;
  session: string;
  /** Sends the gate a request about the servers; throws an error that says what is wrong with it. */
  request: (method: string, params: object, signal: AbortSignal) => Promise<unknown>;
  /** Sets how a person is asked, and who is notified when the tools change. */
  connect: (options: McpOptions) => void;
}

/** Serves on standard input and output until the input ends. */
export async function serveProxy({ name, instructions, session, request, connect }: ProxyOptions): Promise<void> {
  const capabilities = { tools: { listChanged: true } };
  const server = new Server({ name, version: TOLLGATE_VERSION }, { capabilities, instructions });
  connect({
    ask: async (message) => {
      const params = { mode: 'form', message, requestedSchema: { type: 'object', properties: {} } };
      const options = { timeout: MAX_WAIT_MS };
      const { action } = await server.request({ method: 'elicitation/create', params } as never, ResultSchema, options);
      if (action === 'accept') return true;
      return action === 'decline' ? false : undefined;
    },
    onToolsChanged: () => void server.sendToolListChanged().catch(() => {}),
  });
  const forward = async (method: string, params: object, signal: AbortSignal): Promise<ServerResult> => {
    try {
      return (await request(method, params, signal)) as ServerResult;
    } catch (error) {
      throw new McpError(ErrorCode.InvalidParams, error instanceof Error ? error.message : String(error));
    }
  };
  let calls = 0;
  server.setRequestHandler(ListToolsRequestSchema, (_, { signal }) => forward('tools/list', {}, signal));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) => {
    calls += 1;
    const attended = server.getClientCapabilities()?.elicitation !== undefined;
    const call = { session, call: `${session}-${calls}`, attended };
    return forward('tools/call', { name: params.name, arguments: params.arguments, ...call }, signal);
  });
  const ended = once(process.stdin, 'end');
  await server.connect(new StdioServerTransport());
  await ended;
}
