// MCP servers that lookups ask, and a server for the gate's own tools. A file of its own in the package, because it carries a client
// and a server that few need. Its timers keep no
// process alive: `build.mjs` sees to that.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { ErrorCode, ListToolsResultSchema, McpError } from '@modelcontextprotocol/sdk/types.js';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Socket } from 'node:net';
import { Transform } from 'node:stream';
import type { LookupAnswer, LookupProgram, McpRequest } from '../api/types.js';
import { keep, killTree, start, untilExit } from './process.js';

export { serve } from './mcp_server.js';

/** A server that is not ready after so long is given up. A package may have to be fetched first. */
const GET_READY_MS = 60_000;
/** So long a server may take to end by itself once its input has ended. */
const GRACE_MS = 200;
/** Of what a server complains about, so much is kept. */
const MAX_COMPLAINT = 4 << 10;

/** Of what is no message, so much is read. The client makes an error of every line, which takes it minutes where there are many. */
const MAX_GARBAGE = 1 << 20;
/** The longest message. */
const LONGEST_LINE = 10 << 20;

/** A list of tools goes on for so many pages at most. */
const MAX_PAGES = 20;

const GONE = 'the server ended';

type Answer = LookupAnswer;

/** Told what a server says of its tools, as `tools/list` of the protocol answers it. */
export type OnTools = (server: string, tools: unknown[]) => void;

/** A connection, being made or in use. */
interface Connection {
  /** The client, or what every question gets. */
  ready: Promise<Client | Answer>;
  /** Ends the server. */
  close: () => Promise<void>;
  /** The same at once, where the process ends. */
  kill: () => void;
}

/** The MCP servers of one gate. */
export class Servers {
  readonly #folder: string;
  readonly #connections = new Map<string, Connection>();
  readonly #onTools: OnTools;
  #forget: (() => void) | undefined;

  /**
   * @param folder where servers are run
   * @param onTools told once what a server says of its tools, soon after it is ready
   */
  constructor(folder: string, onTools: OnTools = () => {}) {
    this.#folder = folder;
    this.#onTools = onTools;
  }

  /** Calls a tool as the gate asks for it. A server is started when it is first needed, and kept. */
  async ask({ server, tool, arguments: given, start: program }: McpRequest, signal: AbortSignal): Promise<Answer> {
    if (program === undefined) return 'unavailable';
    const key = JSON.stringify([server, program]);
    const connection = this.#connections.get(key) ?? this.#connect(key, server, program);
    const client = await connection.ready;
    if (!(client instanceof Client)) return client;
    try {
      return said(await client.callTool({ name: tool, arguments: given }, undefined, { signal }));
    } catch (error) {
      return { failed: error instanceof McpError && error.code === ErrorCode.ConnectionClosed ? GONE : told(error) };
    }
  }

  /** Ends every server, and comes back when they are gone. */
  async close(): Promise<void> {
    await Promise.all([...this.#connections.values()].map((connection) => connection.close()));
    this.#forget?.();
    this.#forget = undefined;
  }

  #connect(key: string, server: string, program: LookupProgram): Connection {
    // A process that ends takes its servers with it.
    this.#forget ??= untilExit(() => this.#connections.forEach((connection) => connection.kill()));
    const isOver = (connection: Connection) => {
      if (this.#connections.get(key) === connection) this.#connections.delete(key);
    };
    // Before the first call, so that a server that answers one thing after the other has answered this when it answers that.
    const isReady = (client: Client) =>
      void toolsOf(client)
        .then((tools) => this.#onTools(server, tools))
        .catch(() => {});
    const connection = connect(program, this.#folder, isReady, isOver);
    this.#connections.set(key, connection);
    return connection;
  }
}

/** What a server says of its tools. The client's own `listTools` would check later answers against what is said there. */
async function toolsOf(client: Client): Promise<unknown[]> {
  const tools: unknown[] = [];
  let cursor: string | undefined;
  for (let page = 0; page === 0 || (cursor !== undefined && page < MAX_PAGES); page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const listed = await client.request({ method: 'tools/list', params }, ListToolsResultSchema, { timeout: GET_READY_MS });
    tools.push(...listed.tools);
    cursor = listed.nextCursor;
  }
  return tools;
}

/** The text of a result. */
function said({ content, isError }: Awaited<ReturnType<Client['callTool']>>): Answer {
  const blocks = Array.isArray(content) ? content : [];
  const text = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
  if (isError === true) return { failed: text };
  return text === '' ? 'unknown' : { text };
}

function told(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The messages among what a server prints. From one that prints too much else, nothing more is read. */
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

/** A process and its pipes, each of which keeps ours. */
function partsOf(child: ChildProcessWithoutNullStreams): { ref(): void; unref(): void }[] {
  return [child, ...[child.stdin, child.stdout, child.stderr].map((pipe) => pipe as Socket)];
}

/**
 * @param isReady told once the server can be talked to
 * @param isOver told once the server has ended, or cannot be talked to
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
  // A server that is kept must not keep the process.
  for (const part of partsOf(child)) part.unref();
  const complaint = keep(child.stderr, MAX_COMPLAINT);
  // A server that does not read breaks the pipe, which the end of the server tells of.
  child.stdin.on('error', () => {});
  const client = new Client({ name: 'tollgate', version: TOLLGATE_VERSION });
  const silence = () => [child.stdout, child.stderr].forEach((pipe) => pipe.destroy());
  const over = new Promise<Answer>((resolve) => {
    child.on('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code === 'ENOENT' ? 'unavailable' : { failed: error.message }),
    );
    // Its output ends where it ends, even if a child of its own stays.
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
  // It is only a reader and a writer of lines; which end is the server's does not matter to it.
  const lines = child.stdout.setEncoding('utf8').pipe(messages());
  const connected = client.connect(new StdioServerTransport(lines, child.stdin), { timeout: GET_READY_MS });
  const failed = async (error: unknown): Promise<Answer> => {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return over;
    await forget();
    return { failed: `the server cannot be talked to: ${told(error)}` };
  };
  const close = async () => {
    // Now somebody waits for it.
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
