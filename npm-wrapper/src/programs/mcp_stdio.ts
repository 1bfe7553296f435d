// A server that is a program, over its standard input and output.
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Socket } from 'node:net';
import * as path from 'node:path';
import { Transform } from 'node:stream';
import type { Bounds } from './mcp_bounds.js';
import type { Channel, Closed, TransportOrder } from './mcp_connection.js';
import { keep, killTree, start } from './process.js';

/** How long a server may take to end by itself once its input has ended. */
const GRACE_MS = 200;

/** Of what a server complains about, this much is kept. */
const MAX_COMPLAINT = 4 << 10;

/** Starts a program and talks to it. */
export function openStdio(order: Extract<TransportOrder, { type: 'stdio' }>, folder: string, bounds: Bounds): Channel {
  const { argv, inherit, set, cwd } = order;
  let child: ChildProcessWithoutNullStreams;
  try {
    child = start({ argv, folder: path.resolve(folder, cwd ?? '.'), inherit, set: Object.entries(set) });
  } catch (error) {
    const closed: Closed = { kind: 'ended', why: error instanceof Error ? error.message : String(error) };
    const transport = { start: () => Promise.reject(new Error(closed.why)), send: async () => {}, close: async () => {} };
    return { transport, over: Promise.resolve(closed), fault: () => closed, end: async () => {}, kill: () => {} };
  }
  // A server that is kept must not keep the process.
  for (const part of partsOf(child)) part.unref();
  const complaint = keep(child.stderr, MAX_COMPLAINT);
  // A server that does not read breaks the pipe, which is reported when the server ends.
  child.stdin.on('error', () => {});
  const silence = () => [child.stdout, child.stderr].forEach((pipe) => pipe.destroy());
  let fault: Closed | undefined;
  const over = new Promise<Closed>((resolve) => {
    const end = (closed: Closed) => {
      fault ??= closed;
      resolve(fault);
    };
    child.on('error', (error: NodeJS.ErrnoException) =>
      end(error.code === 'ENOENT' ? { kind: 'missing', why: '' } : { kind: 'ended', why: error.message }),
    );
    // Its output ends where it ends, even if a child of its own stays.
    child.on('exit', () => setTimeout(silence, GRACE_MS));
    child.on('close', () => {
      const first = complaint
        .text()
        .split('\n')
        .find((line) => line.trim() !== '');
      end({ kind: 'ended', why: first?.slice(0, 200) ?? '' });
    });
  });
  const lines = child.stdout.setEncoding('utf8').pipe(messages(bounds, () => killTree(child)));
  const end = async () => {
    // From now on, the process waits for it.
    for (const part of partsOf(child)) part.ref();
    child.stdin.end();
    await Promise.race([over, new Promise((resolve) => globalThis.setTimeout(resolve, GRACE_MS))]);
    killTree(child);
    silence();
    await over;
  };
  // It is only a reader and a writer of lines; which end is the server's does not matter to it.
  const transport = new StdioServerTransport(lines, child.stdin);
  return { transport, over, fault: () => fault, end, kill: () => killTree(child, true) };
}

/** A process and its pipes, each of which keeps ours. */
function partsOf(child: ChildProcessWithoutNullStreams): { ref(): void; unref(): void }[] {
  return [child, ...[child.stdin, child.stdout, child.stderr].map((pipe) => pipe as Socket)];
}

/** The messages among what a server prints. One that prints too much else is cut off. */
function messages(bounds: Bounds, cutOff: () => void): Transform {
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
        isWithin &&= isMessage ? bounds.take(line.length + 1) : bounds.takeGarbage(line.length + 1);
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
