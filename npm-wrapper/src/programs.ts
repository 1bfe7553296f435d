import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';

/** A program to start, as the gate asks for it. */
export interface Program {
  argv?: unknown;
  /** The variables that it inherits. Secrets in the rest of the environment are none of its business. */
  inherit?: unknown;
  /** Variables of its own. */
  env?: unknown;
}

/** Starts a program in a process group of its own, with pipes to it. No shell. */
export function start({ argv, inherit, env }: Program, folder: string): ChildProcessWithoutNullStreams {
  const [program, ...words] = texts(argv);
  if (program === undefined) throw new Error('no program is named');
  const inherited = texts(inherit).flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  const own = Object.entries(env ?? {}).filter(([, value]) => typeof value === 'string');
  const environment = Object.fromEntries([...inherited, ...own]);
  return spawn(program, words, { cwd: folder, env: environment, detached: true, stdio: 'pipe' });
}

/** Ends a program with all that it has started. */
export function end(child: ChildProcessWithoutNullStreams): void {
  try {
    // A negative id means the group; elsewhere than on Unix there is only the program itself.
    if (child.pid !== undefined) process.platform === 'win32' ? child.kill('SIGKILL') : process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

/** Collects the beginning of a stream and reads the rest, so that nobody waits to write. */
export function keep(stream: NodeJS.ReadableStream, most: number): () => string {
  const pieces: Buffer[] = [];
  let length = 0;
  stream.on('data', (piece: Buffer) => {
    const kept = piece.subarray(0, most - length);
    length += kept.byteLength;
    if (kept.byteLength > 0) pieces.push(kept);
  });
  return () => Buffer.concat(pieces, length).toString('utf8');
}

/** The texts in a list of the gate's. */
export function texts(list: unknown): string[] {
  return Array.isArray(list) ? list.filter((word) => typeof word === 'string') : [];
}
