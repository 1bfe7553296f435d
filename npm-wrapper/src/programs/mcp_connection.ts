// One connection to one MCP server, as the gate ordered it.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { McpError, ResultSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { Bounds, type ServerLimits } from './mcp_bounds.js';
import { openHttp } from './mcp_http.js';
import { openStdio } from './mcp_stdio.js';
import { untilExit } from './process.js';

/** How long anything may take is the gate's to say, so the client waits as long as a timer can. */
const PATIENCE_MS = 0x7fff_ffff;

/** How a server is reached, as the gate orders it. */
export type TransportOrder = { limits: ServerLimits } & (
  | { type: 'stdio'; argv: string[]; inherit: string[]; set: Record<string, string>; cwd: string | null }
  | { type: 'http' | 'sse'; url: string; headers: Record<string, string> }
);

/** Tells the gate what happened. */
export type Report = (input: object) => void;

/** Why a connection ended, as reported to the gate. */
export interface Closed {
  kind: 'missing' | 'denied' | 'redirect' | 'flood' | 'ended';
  why: string;
}

/** How messages get to a server and back. */
export interface Channel {
  transport: Parameters<Client['connect']>[0];
  /** Resolves once the server is known to be gone. */
  over: Promise<Closed>;
  /** What ended it says more than what followed from it. */
  fault: () => Closed | undefined;
  /** Ends everything that belongs to it. */
  end: () => Promise<void>;
  /** The same at once, where the process ends. */
  kill: () => void;
}

/** What a connection is told to do. */
export interface Connection {
  list: () => void;
  call: (command: number, tool: string, given: Record<string, unknown>) => void;
  cancel: (command: number) => void;
  /** Ends the connection, and the server with it. Nothing more is reported. */
  close: () => Promise<void>;
  /** The same at once. */
  kill: () => void;
}

/** Makes a connection. The gate hears that it is made, and of its end, unless it ordered that. */
export function connect(connection: number, order: TransportOrder, folder: string, tell: Report): Connection {
  const bounds = new Bounds(order.limits);
  const calls = new Map<number, AbortController>();
  const client = new Client({ name: 'tollgate', version: TOLLGATE_VERSION });
  let isOpen = true;
  const report: Report = (input) => {
    if (isOpen) tell(input);
  };
  const channel = order.type === 'stdio' ? openStdio(order, folder, bounds) : openHttp(order, bounds);
  // A process that ends takes its servers with it.
  const forget = untilExit(channel.kill);
  const end = async () => {
    isOpen = false;
    for (const call of calls.values()) call.abort();
    await client.close().catch(() => {});
    await channel.end();
    forget();
  };
  const close = ({ kind, why }: Closed) => {
    if (!isOpen) return;
    const said = channel.fault() ?? { kind, why };
    report({ type: 'closed', connection, ...said, ...(bounds.areExceeded ? { kind: 'flood' } : {}) });
    void end();
  };
  void channel.over.then(close);
  client.onclose = () => close({ kind: 'ended', why: '' });
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => report({ type: 'changed', connection }));

  const ask = async (method: string, params: Record<string, unknown>, signal?: AbortSignal) => {
    // The client's own methods would check answers against what the server said of its tools, which is the gate's to do.
    const options = { timeout: PATIENCE_MS, ...(signal === undefined ? {} : { signal }) };
    try {
      return (await client.request({ method, params } as never, ResultSchema, options)) as Record<string, unknown>;
    } finally {
      // An error is an answer, too.
      bounds.answered();
    }
  };
  const listAll = async () => {
    const tools: string[] = [];
    let [cursor, size]: [unknown, number] = [undefined, 0];
    try {
      for (let page = 0; page < bounds.limits.pages; page += 1) {
        const listed = await ask('tools/list', typeof cursor === 'string' ? { cursor } : {});
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
      report({ type: 'listed', connection, tools, failed: toldBy(error).message });
    }
  };
  const callTool = async (command: number, tool: string, given: Record<string, unknown>) => {
    const cancel = new AbortController();
    calls.set(command, cancel);
    try {
      const result = await ask('tools/call', { name: tool, arguments: given }, cancel.signal);
      report({ type: 'answered', command, result: JSON.stringify(result) });
    } catch (error) {
      if (!cancel.signal.aborted) report({ type: 'answered', command, ...toldBy(error) });
    } finally {
      calls.delete(command);
    }
  };
  void client.connect(channel.transport, { timeout: PATIENCE_MS }).then(
    () => {
      const info = { serverInfo: client.getServerVersion(), capabilities: client.getServerCapabilities() };
      report({ type: 'connected', connection, info });
    },
    (error: unknown) => close({ kind: 'ended', why: toldBy(error).message }),
  );
  return {
    list: () => void listAll(),
    call: (command, tool, given) => void callTool(command, tool, given),
    cancel: (command) => calls.get(command)?.abort('it took too long, or was canceled'),
    close: end,
    kill: channel.kill,
  };
}

/** An error of the protocol, without what the client puts before its message. */
function toldBy(error: unknown): { code: number; message: string } {
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof McpError ? error.code : -32_000;
  return { code, message: message.replace(/^MCP error -?\d+: /, '') };
}
