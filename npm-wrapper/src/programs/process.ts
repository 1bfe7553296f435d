import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import type { Readable } from 'node:stream';
import { bytesAt, withFile } from '../files/content.js';
import { errnoOf, isRefusal } from '../files/fault.js';
import { windows } from '../files/path.js';

/** Once the program has ended, its output is waited for so long: whoever else holds the pipe may never let go. */
const OUTPUT_MS = 100;

/** A killed program that the operating system cannot end is given up after so long. */
const KILL_MS = 2000;

/** What every host says of a file that is no program. */
const NO_PROGRAM = 'Exec format error (os error 8)';

/** How files begin that the operating system runs: scripts that name their interpreter, ELF, Mach-O. */
const PROGRAMS = ['2321', '7f454c46', 'feedface', 'feedfacf', 'cefaedfe', 'cffaedfe', 'cafebabe'];

/** A program to run. No shell: the words are the arguments. */
export interface Program {
  argv: readonly string[];
  input: string;
  /** Where it runs: an absolute path. */
  folder: string;
  /** The names that it inherits of the environment. Secrets in the rest are none of its business. */
  inherit: readonly string[];
  /** What is added to its environment. */
  set: readonly (readonly [string, string])[];
  /** Of each stream so much is kept; the rest is read and dropped. */
  outputBytes: number;
}

/** How a run ended. */
export type Ending =
  /** By itself, or by somebody else's signal. */
  | { how: 'ended'; code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string; truncated: boolean }
  /** There is no such program. */
  | { how: 'missing' }
  /** It could not be run. */
  | { how: 'failed'; why: string }
  /** The signal ended it. */
  | { how: 'canceled' };

/** What has to be undone when this process ends first. */
const unfinished = new Set<() => void>();

function undoAll(): void {
  for (const undo of unfinished) undo();
}

/** Has `undo` run when this process ends, until the returned function is called. */
export function untilExit(undo: () => void): () => void {
  if (unfinished.size === 0) process.on('exit', undoAll);
  unfinished.add(undo);
  return () => {
    unfinished.delete(undo);
    if (unfinished.size === 0) process.off('exit', undoAll);
  };
}

/** Starts a program in a process group of its own, with pipes to it. */
export function start({ argv, folder, inherit, set }: Omit<Program, 'input' | 'outputBytes'>): ChildProcessWithoutNullStreams {
  const [name, ...words] = argv;
  if (name === undefined) throw new Error('no program is named');
  const env = environment({ inherit, set });
  // Elsewhere `detached` makes a group; on Windows it would open a console.
  return spawn(name, words, { cwd: folder, env, detached: !windows, windowsHide: true, stdio: 'pipe' });
}

/** Runs a program in a process group of its own, which goes as a whole when the program ends or the signal comes. */
export function run(program: Program, signal: AbortSignal): Promise<Ending> {
  const [name] = program.argv;
  if (name === undefined) return Promise.resolve({ how: 'failed', why: 'no program is named' });
  if (signal.aborted) return Promise.resolve({ how: 'canceled' });
  if (!windows && name.includes('/') && isNoProgram(path.resolve(program.folder, name))) {
    return Promise.resolve({ how: 'failed', why: NO_PROGRAM });
  }
  return new Promise((resolve) => {
    let child: ChildProcess;
    try {
      child = start(program);
    } catch (error) {
      resolve(unstarted(error, name, program.folder));
      return;
    }
    const [stdout, stderr] = [keep(child.stdout, program.outputBytes), keep(child.stderr, program.outputBytes)];
    const forget = untilExit(() => killTree(child, true));
    const timers: NodeJS.Timeout[] = [];
    const settle = (ending: Ending) => {
      for (const timer of timers) clearTimeout(timer);
      signal.removeEventListener('abort', cancel);
      forget();
      // A stray child may hold the other ends for ever.
      for (const stream of child.stdio) stream?.destroy();
      resolve(ending);
    };
    const cancel = () => {
      killTree(child);
      timers.push(setTimeout(() => settle({ how: 'canceled' }), KILL_MS));
    };
    signal.addEventListener('abort', cancel, { once: true });
    child.on('error', (error) => {
      if (child.pid === undefined) settle(unstarted(error, name, program.folder));
    });
    child.on('exit', (code, by) => {
      killTree(child);
      if (signal.aborted) {
        settle({ how: 'canceled' });
        return;
      }
      signal.removeEventListener('abort', cancel);
      const end = () =>
        settle({
          how: 'ended',
          code,
          signal: by,
          stdout: stdout.text(),
          stderr: stderr.text(),
          truncated: stdout.truncated() || stderr.truncated(),
        });
      child.on('close', end);
      // The timer may come before what waits in the pipes has been read, so one more look at them comes first.
      timers.push(setTimeout(() => setImmediate(end), OUTPUT_MS));
    });
    // A program that does not read its input breaks the pipe, which is its own business.
    child.stdin?.on('error', () => {});
    child.stdin?.end(program.input);
  });
}

/** Whether it is a file that cannot be run. Node would hand it to a shell, which nobody asked for. */
function isNoProgram(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return withFile(file, (descriptor) => {
      const head = Buffer.from(bytesAt(descriptor, 0n, 4n)).toString('hex');
      return !PROGRAMS.some((magic) => head.startsWith(magic));
    });
  } catch {
    // A link, or nothing to be run or read; the operating system says what.
    return false;
  }
}

function environment({ inherit, set }: Pick<Program, 'inherit' | 'set'>): NodeJS.ProcessEnv {
  const inherited = inherit.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  return Object.fromEntries([...inherited, ...set]) as NodeJS.ProcessEnv;
}

/** Why nothing was started. The system says the same of a program, of its folder and of the program that reads a script. */
function unstarted(error: unknown, name: string, folder: string): Ending {
  const failed = (why: string): Ending => ({ how: 'failed', why });
  if (isRefusal(error)) return failed('Permission denied (os error 13)');
  if (errnoOf(error) === 'ENOEXEC') return failed(NO_PROGRAM);
  if (errnoOf(error) !== 'ENOENT') return failed(error instanceof Error ? error.message : String(error));
  if (!fs.existsSync(folder)) return failed(`there is no folder \`${folder}\` to run it in`);
  if (!path.isAbsolute(name) || !fs.existsSync(name)) return { how: 'missing' };
  return failed(`the interpreter that \`${name}\` names in its first line is not there`);
}

/** Ends a program and what it started. */
export function killTree({ pid }: ChildProcess, atOnce = false): void {
  if (pid === undefined) return;
  if (windows) {
    const words = ['/T', '/F', '/PID', String(pid)];
    if (atOnce) spawnSync('taskkill', words, { windowsHide: true });
    else spawn('taskkill', words, { windowsHide: true, stdio: 'ignore' }).on('error', () => {});
    return;
  }
  try {
    // A negative id means the group.
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nobody is left in it.
  }
}

/** Collects the beginning of a stream and reads the rest, so that nobody waits to write. */
export function keep(stream: Readable | null, most: number) {
  const pieces: Buffer[] = [];
  let [length, truncated] = [0, false];
  stream?.on('data', (piece: Buffer) => {
    const kept = piece.subarray(0, most - length);
    length += kept.byteLength;
    truncated ||= kept.byteLength < piece.byteLength;
    if (kept.byteLength > 0) pieces.push(kept);
  });
  stream?.on('error', () => {});
  return { text: () => Buffer.concat(pieces, length).toString('utf8'), truncated: () => truncated };
}

/** The code that a shell would tell: that of a program ended by a signal is 128 and the signal's number. */
export function exitCode({ code, signal }: { code: number | null; signal: NodeJS.Signals | null }): number {
  return code ?? 128 + (signal === null ? 0 : os.constants.signals[signal]);
}
