import { randomFillSync } from 'node:crypto';
import type { LogSink } from './log.js';

/**
 * The WASI imports that Rust's standard library brings into the component.
 *
 * Clocks and random bytes are real. Everything else does nothing: no environment, no arguments, no terminal, no input, and output
 * goes to the log.
 */

/** Milliseconds since 1970. */
export type Clock = () => number;

/** Returns this many random bytes. */
export type Random = (length: number) => Uint8Array;

class IoError {}

class Pollable {
  block(): void {}
}

class InputStream {}

class TerminalInput {}

class TerminalOutput {}

/** Longer log lines are truncated. */
const MAX_CHARS = 4096;

/** Sends output to the log, line by line. */
class OutputStream {
  readonly #log: LogSink;
  readonly #decoder = new TextDecoder();
  #line = '';

  constructor(log: LogSink = () => {}) {
    this.#log = log;
  }

  checkWrite(): bigint {
    return 65536n;
  }

  write(contents: Uint8Array): void {
    const lines = (this.#line + this.#decoder.decode(contents, { stream: true })).split('\n');
    this.#line = (lines.pop() ?? '').slice(0, MAX_CHARS);
    for (const line of lines) if (line !== '') this.#log('debug', line);
  }

  blockingFlush(): void {}

  subscribe(): Pollable {
    return new Pollable();
  }
}

/** Thrown when a guest tries to exit; the instance counts as failed. */
function exit(): never {
  throw new Error('the component tried to exit');
}

/** Wraps errors of the embedder's function, so that they cannot be mistaken for errors of the contract. */
function callEmbedder<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw new Error(`${what} threw`, { cause });
  }
}

export function systemRandom(length: number): Uint8Array {
  return randomFillSync(new Uint8Array(length));
}

/** The imports by name, without versions. */
export function wasiImports(log: LogSink, clock: Clock, random: Random) {
  const drawBytes = (length: number) => {
    const drawn = callEmbedder('the random function', () => random(length));
    if (drawn.byteLength !== length)
      throw new Error(`the random function returned ${drawn.byteLength} bytes instead of ${length}`);
    return drawn;
  };
  const readNumber = (drawn: Uint8Array, at: number) =>
    new DataView(drawn.buffer, drawn.byteOffset, drawn.byteLength).getBigUint64(at, true);
  const output = () => new OutputStream(log);
  return {
    'wasi:cli/environment': {
      getEnvironment: (): [string, string][] => [],
      getArguments: (): string[] => [],
      initialCwd: (): string | undefined => undefined,
    },
    'wasi:cli/exit': { exit },
    'wasi:cli/stdin': { getStdin: () => new InputStream() },
    'wasi:cli/stdout': { getStdout: output },
    'wasi:cli/stderr': { getStderr: output },
    'wasi:cli/terminal-input': { TerminalInput },
    'wasi:cli/terminal-output': { TerminalOutput },
    'wasi:cli/terminal-stdin': { getTerminalStdin: () => undefined },
    'wasi:cli/terminal-stdout': { getTerminalStdout: () => undefined },
    'wasi:cli/terminal-stderr': { getTerminalStderr: () => undefined },
    'wasi:io/error': { Error: IoError },
    'wasi:io/poll': { Pollable },
    'wasi:io/streams': { InputStream, OutputStream },
    // Not the embedder's clock, which may stand still or jump.
    'wasi:clocks/monotonic-clock': { now: () => process.hrtime.bigint() },
    'wasi:clocks/wall-clock': {
      now: () => {
        const ms = callEmbedder('the clock function', clock);
        const seconds = Math.floor(ms / 1000);
        return { seconds: BigInt(seconds), nanoseconds: Math.floor((ms - seconds * 1000) * 1e6) };
      },
    },
    'wasi:random/random': {
      getRandomBytes: (length: bigint) => drawBytes(Number(length)),
      getRandomU64: () => readNumber(drawBytes(8), 0),
    },
    // Not the embedder's bytes: this only seeds hash tables, and would use up bytes that are meant for ids.
    'wasi:random/insecure-seed': {
      insecureSeed: (): [bigint, bigint] => {
        const seed = systemRandom(16);
        return [readNumber(seed, 0), readNumber(seed, 8)];
      },
    },
  };
}
