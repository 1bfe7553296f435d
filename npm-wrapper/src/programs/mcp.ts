// MCP servers for lookups, and a server for the gate's own tools. This is a separate file in the package, because it contains an
// MCP client and server that few users need. Its timers do not keep the process alive; `build.mjs` takes care of that.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { ErrorCode, ListToolsResultSchema, McpError } from '@modelcontextprotocol/sdk/types.js';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Socket } from 'node:net';
import { Transform } from 'node:stream';
import type { LookupAnswer, LookupProgram, McpRequest } from '../api/types.js';
import { keep, killTree, start, untilExit } from './process.js';

export { serve } from './mcp_server.js';

/** Give up if a server is not ready after this time. A package may have to be downloaded first. */
const STARTUP_TIMEOUT_MS = 60_000;
/** How long a server may take to exit after its input has ended. */
const GRACE_MS = 200;
/** At most this much of a server's error output is kept. */
const MAX_COMPLAINT = 4 << 10;

/**
 * At most this much output that is not a message is read. The client creates an error for every such line, which takes minutes if
 * there are many.
 */
const MAX_GARBAGE = 1 << 20;
/** The length limit of a message. */
const LONGEST_LINE = 10 << 20;

/** At most this many pages of a tool list are read. */
const MAX_PAGES = 20;

const GONE = 'the server ended';

type Answer = LookupAnswer;

/** Receives the tools of a server, as answered to `tools/list`. */
export type OnTools = (server: string, tools: unknown[]) => void;

/** A connection that is being established or in use. */
interface Connection {
  /** The client, or the answer to every request. */
  ready: Promise<Client | Answer>;
  /** Ends the server. */
  close: () => Promise<void>;
  /** Ends the server immediately, for when the process exits. */
  kill: () => void;
}

/** The MCP servers of one gate. */
export class Servers {
  readonly #folder: string;
  readonly #connections = new Map<string, Connection>();
  readonly #onTools: OnTools;
  #forget: (() => void) | undefined;

  /**
   * @param folder the folder in which servers run
   * @param onTools receives the tool list of a server once, soon after it is ready
   */
  constructor(folder: string, onTools: OnTools = () => {}) {
    this.#folder = folder;
    this.#onTools = onTools;
  }

  /** Calls a tool. A server is started when it is first needed and kept running. */
  async ask({ server, tool, arguments: given, start: program }: McpRequest, signal: AbortSignal): Promise<Answer> {
    if (program === undefined) return 'unavailable';
    const key = JSON.stringify([server, program]);
    const connection = this.#connections.get(key) ?? this.#connect(key, server, program);
    const client = await connection.ready;
    if (!(client instanceof Client)) return client;
    try {
      return resultText(await client.callTool({ name: tool, arguments: given }, undefined, { signal }));
    } catch (error) {
      return { failed: error instanceof McpError && error.code === ErrorCode.ConnectionClosed ? GONE : told(error) };
    }
  }

  /** Ends every server and waits for that. */
  async close(): Promise<void> {
    await Promise.all([...this.#connections.values()].map((connection) => connection.close()));
    this.#forget?.();
    this.#forget = undefined;
  }

  #connect(key: string, server: string, program: LookupProgram): Connection {
    // Servers end together with the process.
    this.#forget ??= untilExit(() => this.#connections.forEach((connection) => connection.kill()));
    const isOver = (connection: Connection) => {
      if (this.#connections.get(key) === connection) this.#connections.delete(key);
    };
    // Before the first call, so that a server that answers requests in order has answered this one first.
    const isReady = (client: Client) =>
      void toolsOf(client)
        .then((tools) => this.#onTools(server, tools))
        .catch(() => {});
    const connection = connect(program, this.#folder, isReady, isOver);
    this.#connections.set(key, connection);
    return connection;
  }
}

/** The tools of a server. The client's own `listTools` would validate later answers against this list. */
async function toolsOf(client: Client): Promise<unknown[]> {
  const tools: unknown[] = [];
  let cursor: string | undefined;
  for (let page = 0; page === 0 || (cursor !== undefined && page < MAX_PAGES); page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const listed = await client.request({ method: 'tools/list', params }, ListToolsResultSchema, { timeout: STARTUP_TIMEOUT_MS });
    tools.push(...listed.tools);
    cursor = listed.nextCursor;
  }
  return tools;
}

/** The text of a result. */
function resultText({ content, isError }: Awaited<ReturnType<Client['callTool']>>): Answer {
  const blocks = Array.isArray(content) ? content : [];
  const text = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
  if (isError === true) return { failed: text };
  return text === '' ? 'unknown' : { text };
}

function told(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Passes on the messages in a server's output. If there is too much other output, nothing more is read. */
function messages(): Transform {
  let [rest, garbage] = ['', 0];
  return new Transform({
    decodeStrings: false,
    transform(piece: string, _encoding, done) {
      rest += piece;
      if (piece.includes('\n')) {
        const lines = rest.split('\n');
        rest = lines.pop() ?? '';
        let kept = '';
        for (const line of lines) {
          if (line.startsWith('{') && line.includes('"jsonrpc"')) kept += `${line}\n`;
          else garbage += line.length + 1;
        }
        if (kept !== '') this.push(kept);
      }
      if (garbage <= MAX_GARBAGE && rest.length <= LONGEST_LINE) done();
    },
  });
}

/** A process and its pipes, each of which keeps our process alive. */
function partsOf(child: ChildProcessWithoutNullStreams): { ref(): void; unref(): void }[] {
  return [child, ...[child.stdin, child.stdout, child.stderr].map((pipe) => pipe as Socket)];
}

/**
 * @param isReady called when the server is ready
 * @param isOver called when the server has ended or the connection has failed
 */
function connect(
  { argv, inherit, set }: LookupProgram,
  folder: string,
  isReady: (client: Client) => void,
  isOver: (connection: Connection) => void,
): Connection {
  let child: ChildProcessWithoutNullStreams;
  try {
    child = start({ argv, folder, inherit, set });
  } catch (error) {
    return { ready: Promise.resolve({ failed: told(error) }), close: async () => {}, kill: () => {} };
  }
  // An idle server must not keep the process alive.
  for (const part of partsOf(child)) part.unref();
  const complaint = keep(child.stderr, MAX_COMPLAINT);
  // Writing to a server that does not read fails; the end of the server reports that.
  child.stdin.on('error', () => {});
  const client = new Client({ name: 'tollgate', version: TOLLGATE_VERSION });
  const silence = () => [child.stdout, child.stderr].forEach((pipe) => pipe.destroy());
  const over = new Promise<Answer>((resolve) => {
    child.on('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code === 'ENOENT' ? 'unavailable' : { failed: error.message }),
    );
    // Its output ends with it, even if one of its children stays.
    child.on('exit', () => setTimeout(silence, GRACE_MS));
    child.on('close', () => {
      const [first] = complaint
        .text()
        .split('\n')
        .filter((line) => line.trim() !== '');
      const why = 'the server ended before it was ready';
      resolve({ failed: first === undefined ? why : `${why}: ${first.slice(0, 200)}` });
    });
  });
  const forget = async () => {
    isOver(connection);
    killTree(child);
    silence();
    await client.close();
  };
  void over.then(forget);
  // This transport only reads and writes lines, so it works for either end.
  const lines = child.stdout.setEncoding('utf8').pipe(messages());
  const connected = client.connect(new StdioServerTransport(lines, child.stdin), { timeout: STARTUP_TIMEOUT_MS });
  const failed = async (error: unknown): Promise<Answer> => {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return over;
    await forget();
    return { failed: `communication with the server failed: ${told(error)}` };
  };
  const close = async () => {
    // Now a caller waits for it.
    for (const part of partsOf(child)) part.ref();
    child.stdin.end();
    await Promise.race([over, new Promise((resolve) => setTimeout(resolve, GRACE_MS))]);
    await forget();
    await over;
  };
  const talking = async () => {
    await connected;
    isReady(client);
    return client;
  };
  const ready = Promise.race([over, talking().catch(failed)]);
  const connection: Connection = { ready, close, kill: () => killTree(child, true) };
  return connection;
}
