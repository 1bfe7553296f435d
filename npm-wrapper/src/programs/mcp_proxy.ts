// The tools of the servers behind a gate, and the gate's own, for MCP clients.
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

/** A person may take this long to answer: as long as a timer can be set for. */
const PATIENCE_MS = 0x7fff_ffff;

/** What a proxy says of itself, and the gate behind it. */
export interface Proxied {
  name: string;
  instructions: string;
  session: string;
  /** Asks the gate for something of the servers; throws what is wrong with the request. */
  request: (method: string, params: object, signal: AbortSignal) => Promise<unknown>;
  /** Sets how a person is asked, and who is notified when the tools change. */
  connect: (options: McpOptions) => void;
}

/** Serves on standard input and output until the input ends. */
export async function serveProxy({ name, instructions, session, request, connect }: Proxied): Promise<void> {
  const capabilities = { tools: { listChanged: true } };
  const server = new Server({ name, version: TOLLGATE_VERSION }, { capabilities, instructions });
  connect({
    ask: async (message) => {
      const params = { mode: 'form', message, requestedSchema: { type: 'object', properties: {} } };
      const options = { timeout: PATIENCE_MS };
      const { action } = await server.request({ method: 'elicitation/create', params } as never, ResultSchema, options);
      if (action === 'accept') return true;
      return action === 'decline' ? false : undefined;
    },
    onToolsChanged: () => void server.sendToolListChanged().catch(() => {}),
  });
  const asked = async (method: string, params: object, signal: AbortSignal): Promise<ServerResult> => {
    try {
      return (await request(method, params, signal)) as ServerResult;
    } catch (error) {
      throw new McpError(ErrorCode.InvalidParams, error instanceof Error ? error.message : String(error));
    }
  };
  let calls = 0;
  server.setRequestHandler(ListToolsRequestSchema, (_, { signal }) => asked('tools/list', {}, signal));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) => {
    calls += 1;
    const attended = server.getClientCapabilities()?.elicitation !== undefined;
    const call = { session, call: `${session}-${calls}`, attended };
    return asked('tools/call', { name: params.name, arguments: params.arguments, ...call }, signal);
  });
  const ended = once(process.stdin, 'end');
  await server.connect(new StdioServerTransport());
  await ended;
}
