// Runs an MCP server as a child process, and talks to it over its standard input and output.
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Socket } from 'node:net';
import * as path from 'node:path';
import { Transform } from 'node:stream';
import type { ServerBounds } from './mcp_bounds.js';
import type { Channel, Closure, TransportOrder } from './mcp_connection.js';
import { collectOutput, firstComplaint, killTree, startErrorMessage, startWhenFree } from './process.js';

/** How long a server may take to exit after its input has ended. */
const GRACE_MS = 200;

/** At most this much of a server's error output is kept. */
const MAX_ERROR_OUTPUT = 4 << 10;

/** Starts a program and opens a channel to it. */
export function openStdio(order: Extract<TransportOrder, { type: 'stdio' }>, folder: string, bounds: ServerBounds): Channel {
  const { argv, inherit, set, cwd } = order;
  let child: ChildProcessWithoutNullStreams;
  try {
    child = startWhenFree({ argv, folder: path.resolve(folder, cwd ?? '.'), inherit, set: Object.entries(set) });
  } catch (error) {
    const closed: Closure = { kind: 'ended', why: startErrorMessage(error) };
    const transport = { start: () => Promise.reject(new Error(closed.why)), send: async () => {}, close: async () => {} };
    return { transport, over: Promise.resolve(closed), fault: () => closed, end: async () => {}, kill: () => {} };
  }
  // An open connection to a server must not keep this process alive.
  for (const part of handlesOf(child)) part.unref();
  const complaint = collectOutput(child.stderr, MAX_ERROR_OUTPUT);
  // A server that does not read breaks the pipe, which is reported when the server ends.
  child.stdin.on('error', () => {});
  const silence = () => [child.stdout, child.stderr].forEach((pipe) => pipe.destroy());
  let fault: Closure | undefined;
  const over = new Promise<Closure>((resolve) => {
    const end = (closed: Closure) => {
      fault ??= closed;
      resolve(fault);
    };
    child.on('error', (error: NodeJS.ErrnoException) =>
      end(error.code === 'ENOENT' ? { kind: 'missing', why: '' } : { kind: 'ended', why: startErrorMessage(error) }),
    );
    // Once the server has exited, its output counts as ended, even if a child of it keeps running.
    child.on('exit', () => setTimeout(silence, GRACE_MS));
    child.on('close', () => end({ kind: 'ended', why: firstComplaint(complaint.text()) }));
  });
  const lines = child.stdout.setEncoding('utf8').pipe(filterMessages(bounds, () => killTree(child)));
  const end = async () => {
    // From now on, this process waits for the server.
    for (const part of handlesOf(child)) part.ref();
    child.stdin.end();
    await Promise.race([over, new Promise((resolve) => globalThis.setTimeout(resolve, GRACE_MS))]);
    killTree(child);
    silence();
    await over;
  };
  // This transport only reads and writes lines; it does not matter that it was made for the server's end.
  const transport = new StdioServerTransport(lines, child.stdin);
  return { transport, over, fault: () => fault, end, kill: () => killTree(child, true) };
}

/** A child process and its pipes, each of which keeps this process alive. */
function handlesOf(child: ChildProcessWithoutNullStreams): { ref(): void; unref(): void }[] {
  return [child, ...[child.stdin, child.stdout, child.stderr].map((pipe) => pipe as Socket)];
}

/** Passes on the messages among a server's output. A server that prints too much else is cut off. */
function filterMessages(bounds: ServerBounds, cutOff: () => void): Transform {
  let rest = '';
  return new Transform({
    decodeStrings: false,
    transform(piece: string, _encoding, done) {
      rest += piece;
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      let [kept, isWithin] = ['', bounds.mayGrowTo(rest.length)];
      for (const line of lines) {
        const isMessage = line.trimStart().startsWith('{');
        isWithin &&= isMessage ? bounds.countMessages(line.length + 1) : bounds.countGarbage(line.length + 1);
        if (isMessage) kept += `${line}\n`;
      }
      if (!isWithin) {
        cutOff();
        return;
      }
      if (kept !== '') this.push(kept);
      done();
    },
  });
}
