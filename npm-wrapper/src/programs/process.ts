// Runs programs for the gate, limits their output, and ends them with their child processes.
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import type { Readable } from 'node:stream';
import { readBytes, withFile } from '../files/content.js';
import { errnoOf, isRefusal } from '../files/fault.js';
import { isWindows } from '../files/path.js';

/** How long to wait for output after the program has ended: another process may hold the pipe forever. */
const OUTPUT_MS = 100;

/** Give up on a killed program after this time if the operating system cannot end it. */
const KILL_MS = 5000;

/** How often to retry starting a file that was just written, while a process that another thread is starting holds it open. */
const MAX_BUSY_RETRIES = 50;
const BUSY_RETRY_MS = 2;

/** At most this many characters of a program's error output become part of a message. */
const MAX_COMPLAINT_CHARS = 200;

/** The messages for files that cannot be executed, the same in every host. */
const NOT_EXECUTABLE = 'Exec format error (os error 8)';
const BUSY = 'Text file busy (os error 26)';

/** The first bytes of executable files: scripts with an interpreter line, ELF, Mach-O. */
const PROGRAMS = ['2321', '7f454c46', 'feedface', 'feedfacf', 'cefaedfe', 'cffaedfe', 'cafebabe'];

/** A program to run, without a shell. */
export interface Program {
  argv: readonly string[];
  input: string;
  /** The working directory, as an absolute path. */
  folder: string;
  /** The names of inherited variables. Others may contain secrets. */
  inherit: readonly string[];
  /** Additional variables. */
  set: readonly (readonly [string, string])[];
  /** At most this much of each stream is kept; the rest is discarded. */
  outputBytes: number;
}

/** How a run ended. */
export type ProgramEnding =
  /** It exited or was ended by a signal. */
  | { how: 'ended'; code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string; truncated: boolean }
  /** There is no such program. */
  | { how: 'missing' }
  /** It could not be run. */
  | { how: 'failed'; why: string }
  /** It was canceled through the abort signal. */
  | { how: 'canceled' };

/** Cleanup functions to run when this process exits. */
const cleanups = new Set<() => void>();

function runCleanups(): void {
  for (const undo of cleanups) undo();
}

/** Runs `undo` when this process exits, until the returned function is called. */
export function addExitCleanup(undo: () => void): () => void {
  if (cleanups.size === 0) process.on('exit', runCleanups);
  cleanups.add(undo);
  return () => {
    cleanups.delete(undo);
    if (cleanups.size === 0) process.off('exit', runCleanups);
  };
}

/** Starts a program in its own process group, with pipes. */
export function start({ argv, folder, inherit, set }: Omit<Program, 'input' | 'outputBytes'>): ChildProcessWithoutNullStreams {
  const [name, ...words] = argv;
  if (name === undefined) throw new Error('no program is given');
  const env = childEnvironment({ inherit, set });
  // On Unix, `detached` creates a process group; on Windows it would open a console window.
  return spawn(name, words, { cwd: folder, env, detached: !isWindows, windowsHide: true, stdio: 'pipe' });
}

/** Like `start`, but waits for a moment while the program's file is open for writing. */
export function startWhenFree(program: Parameters<typeof start>[0]): ChildProcessWithoutNullStreams {
  for (let retries = MAX_BUSY_RETRIES; ; retries -= 1) {
    try {
      return start(program);
    } catch (error) {
      if (errnoOf(error) !== 'ETXTBSY' || retries === 0) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_RETRY_MS);
    }
  }
}

/** Runs a program in its own process group, which is ended as a whole when the program ends or the signal is aborted. */
export function run(program: Program, signal: AbortSignal): Promise<ProgramEnding> {
  const [name] = program.argv;
  if (name === undefined) return Promise.resolve({ how: 'failed', why: 'no program is given' });
  if (signal.aborted) return Promise.resolve({ how: 'canceled' });
  if (!isWindows && name.includes('/') && isNotExecutable(path.resolve(program.folder, name))) {
    return Promise.resolve({ how: 'failed', why: NOT_EXECUTABLE });
  }
  return new Promise((resolve) => tryToRun(program, name, signal, MAX_BUSY_RETRIES, resolve));
}

function tryToRun(
  program: Program,
  name: string,
  signal: AbortSignal,
  retries: number,
  resolve: (ending: ProgramEnding) => void,
): void {
  let child: ChildProcess;
  try {
    child = start(program);
  } catch (error) {
    if (errnoOf(error) !== 'ETXTBSY' || retries === 0) {
      resolve(startError(error, name, program.folder));
      return;
    }
    setTimeout(() => {
      if (signal.aborted) resolve({ how: 'canceled' });
      else tryToRun(program, name, signal, retries - 1, resolve);
    }, BUSY_RETRY_MS);
    return;
  }
  const [stdout, stderr] = [collectOutput(child.stdout, program.outputBytes), collectOutput(child.stderr, program.outputBytes)];
  const removeCleanup = addExitCleanup(() => killTree(child, true));
  const timers: NodeJS.Timeout[] = [];
  const settle = (ending: ProgramEnding) => {
    for (const timer of timers) clearTimeout(timer);
    signal.removeEventListener('abort', cancel);
    removeCleanup();
    // A remaining child may hold the other ends forever.
    for (const stream of child.stdio) stream?.destroy();
    resolve(ending);
  };
  const cancel = () => {
    killTree(child);
    timers.push(setTimeout(() => settle({ how: 'canceled' }), KILL_MS));
  };
  signal.addEventListener('abort', cancel, { once: true });
  child.on('error', (error) => {
    if (child.pid === undefined) settle(startError(error, name, program.folder));
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
    // The timer may fire before buffered output has been read, so read once more first.
    timers.push(setTimeout(() => setImmediate(end), OUTPUT_MS));
  });
  // Writing to a program that does not read its input fails, which is not an error.
  child.stdin?.on('error', () => {});
  child.stdin?.end(program.input);
}

/** Whether a file cannot be executed. Node would pass it to a shell instead. */
function isNotExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return withFile(file, (descriptor) => {
      const head = Buffer.from(readBytes(descriptor, 0n, 4n)).toString('hex');
      return !PROGRAMS.some((magic) => head.startsWith(magic));
    });
  } catch {
    // A link, or not accessible; the operating system reports the error.
    return false;
  }
}

function childEnvironment({ inherit, set }: Pick<Program, 'inherit' | 'set'>): NodeJS.ProcessEnv {
  const inherited = inherit.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  return Object.fromEntries([...inherited, ...set]) as NodeJS.ProcessEnv;
}

/** Why a program could not be started, in the same words in every host. */
export function startErrorMessage(error: unknown): string {
  if (isRefusal(error)) return 'Permission denied (os error 13)';
  if (errnoOf(error) === 'ENOEXEC') return NOT_EXECUTABLE;
  if (errnoOf(error) === 'ETXTBSY') return BUSY;
  return error instanceof Error ? error.message : String(error);
}

/** How a run ended that could not be started. The system reports the same error for a missing program, folder and interpreter. */
function startError(error: unknown, name: string, folder: string): ProgramEnding {
  const failed = (why: string): ProgramEnding => ({ how: 'failed', why });
  if (errnoOf(error) !== 'ENOENT') return failed(startErrorMessage(error));
  if (!fs.existsSync(folder)) return failed(`there is no folder \`${folder}\` to run it in`);
  if (!path.isAbsolute(name) || !fs.existsSync(name)) return { how: 'missing' };
  return failed(`the interpreter that \`${name}\` names in its first line does not exist`);
}

/** Ends a program and all of its children. */
export function killTree({ pid }: ChildProcess, atOnce = false): void {
  if (pid === undefined) return;
  if (isWindows) {
    const words = ['/T', '/F', '/PID', String(pid)];
    if (atOnce) spawnSync('taskkill', words, { windowsHide: true });
    else spawn('taskkill', words, { windowsHide: true, stdio: 'ignore' }).on('error', () => {});
    return;
  }
  try {
    // A negative id means the process group.
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group no longer exists.
  }
}

/** Keeps the beginning of a stream and discards the rest, so that the writer never blocks. */
export function collectOutput(stream: Readable | null, most: number) {
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

/** The first line of error output that is not blank, shortened. */
export function firstComplaint(stderr: string): string {
  const line = stderr.split(/\r?\n/).find((line) => line.trim() !== '') ?? '';
  return [...line.trim()].slice(0, MAX_COMPLAINT_CHARS).join('');
}

/** The exit code as a shell reports it: 128 plus the signal number for a program that was ended by a signal. */
export function exitCode({ code, signal }: { code: number | null; signal: NodeJS.Signals | null }): number {
  return code ?? 128 + (signal === null ? 0 : os.constants.signals[signal]);
}
