// Runs one connection to one MCP server, as ordered by the gate.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { McpError, ResultSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { ServerBounds, type ServerLimits } from './mcp_bounds.js';
import { openHttp } from './mcp_http.js';
import { openStdio } from './mcp_stdio.js';
import { addExitCleanup } from './process.js';

/** The gate sets all time limits, so the client waits as long as a timer can. */
const MAX_WAIT_MS = 0x7fff_ffff;

/** How to reach a server, as specified by the gate. */
export type TransportOrder = { limits: ServerLimits } & (
  | { type: 'stdio'; argv: string[]; inherit: string[]; set: Record<string, string>; cwd: string | null }
  | { type: 'http' | 'sse'; url: string; headers: Record<string, string> }
);

/** Reports an input to the gate. */
export type InputListener = (input: object) => void;

/** Why a connection ended, as reported to the gate. */
export interface Closure {
  kind: 'missing' | 'denied' | 'redirect' | 'flood' | 'ended';
  why: string;
}

/** The transport to a server, and how to end it. */
export interface Channel {
  transport: Parameters<Client['connect']>[0];
  /** Resolves once the server is known to have gone away. */
  over: Promise<Closure>;
  /** The first fault, which is more informative than the errors that followed from it. */
  fault: () => Closure | undefined;
  /** Ends everything that belongs to the channel. */
  end: () => Promise<void>;
  /** Like `end`, but at once, for when this process exits. */
  kill: () => void;
}

/** A connection to a server. */
export interface Connection {
  list: () => void;
  call: (command: number, tool: string, given: Record<string, unknown>) => void;
  cancel: (command: number) => void;
  /** Ends the connection, and the server with it. Nothing more is reported. */
  close: () => Promise<void>;
  /** Like `close`, but at once. */
  kill: () => void;
}

/** Makes a connection. Success is reported to the gate, and so is the end of the connection, unless the gate ordered it. */
export function connect(connection: number, order: TransportOrder, folder: string, tell: InputListener): Connection {
  const bounds = new ServerBounds(order.limits);
  const calls = new Map<number, AbortController>();
  const client = new Client({ name: 'tollgate', version: TOLLGATE_VERSION });
  let isOpen = true;
  const report: InputListener = (input) => {
    if (isOpen) tell(input);
  };
  const channel = order.type === 'stdio' ? openStdio(order, folder, bounds) : openHttp(order, bounds);
  // When this process exits, it ends its servers.
  const removeCleanup = addExitCleanup(channel.kill);
  const end = async () => {
    isOpen = false;
    for (const call of calls.values()) call.abort();
    await client.close().catch(() => {});
    await channel.end();
    removeCleanup();
  };
  const close = ({ kind, why }: Closure) => {
    if (!isOpen) return;
    const said = channel.fault() ?? { kind, why };
    report({ type: 'closed', connection, ...said, ...(bounds.isExceeded ? { kind: 'flood' } : {}) });
    void end();
  };
  void channel.over.then(close);
  client.onclose = () => close({ kind: 'ended', why: '' });
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => report({ type: 'changed', connection }));

  const sendRequest = async (method: string, params: Record<string, unknown>, signal?: AbortSignal) => {
    // The client's own methods would validate answers against the server's tool schemas, which is up to the gate.
    const options = { timeout: MAX_WAIT_MS, ...(signal === undefined ? {} : { signal }) };
    try {
      return (await client.request({ method, params } as never, ResultSchema, options)) as Record<string, unknown>;
    } finally {
      // An error is an answer, too.
      bounds.resetUnasked();
    }
  };
  const listAll = async () => {
    const tools: string[] = [];
    let [cursor, size]: [unknown, number] = [undefined, 0];
    try {
      for (let page = 0; page < bounds.limits.pages; page += 1) {
        const listed = await sendRequest('tools/list', typeof cursor === 'string' ? { cursor } : {});
        for (const tool of Array.isArray(listed.tools) ? listed.tools : []) {
          const text = JSON.stringify(tool);
          size += text.length;
          tools.push(text);
        }
        cursor = listed.nextCursor;
        if (typeof cursor !== 'string' || size >= bounds.limits.message_bytes) break;
      }
      report({ type: 'listed', connection, tools });
    } catch (error) {
      report({ type: 'listed', connection, tools, failed: protocolErrorOf(error).message });
    }
  };
  const callTool = async (command: number, tool: string, given: Record<string, unknown>) => {
    const cancel = new AbortController();
    calls.set(command, cancel);
    try {
      const result = await sendRequest('tools/call', { name: tool, arguments: given }, cancel.signal);
      report({ type: 'answered', command, result: JSON.stringify(result) });
    } catch (error) {
      if (!cancel.signal.aborted) report({ type: 'answered', command, ...protocolErrorOf(error) });
    } finally {
      calls.delete(command);
    }
  };
  void client.connect(channel.transport, { timeout: MAX_WAIT_MS }).then(
    () => {
      const info = { serverInfo: client.getServerVersion(), capabilities: client.getServerCapabilities() };
      report({ type: 'connected', connection, info });
    },
    (error: unknown) => close({ kind: 'ended', why: protocolErrorOf(error).message }),
  );
  return {
    list: () => void listAll(),
    call: (command, tool, given) => void callTool(command, tool, given),
    cancel: (command) => calls.get(command)?.abort('it took too long, or was canceled'),
    close: end,
    kill: channel.kill,
  };
}

/** The code and message of a protocol error, without the prefix that the client adds to the message. */
function protocolErrorOf(error: unknown): { code: number; message: string } {
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof McpError ? error.code : -32_000;
  return { code, message: message.replace(/^MCP error -?\d+: /, '') };
}
