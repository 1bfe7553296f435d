import { readLine, writeLine } from './lines.js';

/** At most this many log lines are kept per call, and this many characters of each. */
const MAX_LINES = 100;
const MAX_CHARS = 1_000;

/** What is printed or drawn at once. */
const MAX_BYTES = 65_536;

/** A line that a hook logged or printed. */
export interface Line {
  level: string;
  text: string;
}

/** What the process that started this one answers to a question about files. */
interface Served {
  bytes?: string;
  paths?: string[];
  fault?: string;
}

/** What a hook is lent: settings, granted files, a log; and WASI in name only, as in the other host. */
export class Lent {
  readonly #settings: string;
  readonly #maxLifted: number;
  #log: Line[] = [];
  #printed = new Map<string, string>();
  #looks = 0n;

  constructor(settings: string, maxLifted: number) {
    this.#settings = settings;
    this.#maxLifted = maxLifted;
  }

  /** What was logged and printed since the last time. */
  takeLog(): Line[] {
    for (const level of this.#printed.keys()) this.#endLine(level);
    const log = this.#log;
    this.#log = [];
    return log;
  }

  /** The imports of a component, by name. Whatever else of WASI it imports throws when it is called. */
  imports(): Record<string, unknown> {
    const known: Record<string, Record<string, unknown>> = {
      'tollgate:hook/types': {},
      'tollgate:hook/settings': { get: () => this.#settings },
      'tollgate:hook/log': { write: (level: string, message: string) => this.#keep(level, this.#lifted(message)) },
      'tollgate:hook/files': {
        read: (path: string, limit: number) => this.#read(path, limit),
        readText: (path: string, limit: number) => readText(this.#read(path, limit)),
        find: (glob: string) => this.#ask({ find: [this.#lifted(glob)] }).paths ?? [],
      },
      ...this.#wasi(),
    };
    return new Proxy(known, { get: (all, name) => inert(String(name), all[String(name)] ?? {}) });
  }

  #read(path: string, limit: number): Uint8Array {
    return Buffer.from(this.#ask({ read: [this.#lifted(path), limit] }).bytes ?? '', 'base64');
  }

  #ask(wanted: object): Served {
    writeLine(wanted);
    const served = JSON.parse(readLine() ?? '{"fault":"other"}') as Served;
    // What is thrown and is not an error is the error of the contract.
    if (served.fault !== undefined) throw served.fault;
    return served;
  }

  #lifted(text: string): string {
    if (Buffer.byteLength(text) > this.#maxLifted) throw new Error('too much data is passed to the host');
    return text;
  }

  #keep(level: string, text: string): void {
    if (this.#log.length < MAX_LINES)
      this.#log.push({ level, text: [...text.slice(0, 2 * MAX_CHARS)].slice(0, MAX_CHARS).join('') });
  }

  #print(level: string, bytes: Uint8Array): void {
    if (this.#log.length >= MAX_LINES) return;
    const lines = ((this.#printed.get(level) ?? '') + Buffer.from(bytes).toString('utf8')).split('\n');
    this.#printed.set(level, (lines.pop() ?? '').slice(0, 4 * MAX_CHARS));
    for (const line of lines) if (line !== '') this.#keep(level, line);
  }

  #endLine(level: string): void {
    const line = this.#printed.get(level) ?? '';
    this.#printed.set(level, '');
    if (line !== '') this.#keep(level, line);
  }

  #wasi(): Record<string, Record<string, unknown>> {
    const print = (level: string, bytes: Uint8Array) => this.#print(level, bytes);
    class Pollable {
      ready(): boolean {
        return true;
      }
      block(): void {}
    }
    class InputStream {
      read(): never {
        throw { tag: 'closed' };
      }
      blockingRead(): never {
        throw { tag: 'closed' };
      }
      subscribe(): Pollable {
        return new Pollable();
      }
    }
    class OutputStream {
      readonly #level: string;
      constructor(level = 'stdout') {
        this.#level = level;
      }
      checkWrite(): bigint {
        return BigInt(MAX_BYTES);
      }
      write(bytes: Uint8Array): void {
        print(this.#level, bytes);
      }
      blockingWriteAndFlush(bytes: Uint8Array): void {
        print(this.#level, bytes);
      }
      flush(): void {}
      blockingFlush(): void {}
      subscribe(): Pollable {
        return new Pollable();
      }
    }
    const bytes = (length: bigint) => {
      if (length > MAX_BYTES) throw new Error(`the hook draws ${length} random bytes at once`);
      return new Uint8Array(Number(length)).fill(4);
    };
    const still = () => ({ seconds: 0n, nanoseconds: 0 });
    return {
      'wasi:cli/environment': { getEnvironment: () => [], getArguments: () => [], initialCwd: () => undefined },
      'wasi:cli/stdin': { getStdin: () => new InputStream() },
      'wasi:cli/stdout': { getStdout: () => new OutputStream('stdout') },
      'wasi:cli/stderr': { getStderr: () => new OutputStream('stderr') },
      'wasi:cli/terminal-stdin': { getTerminalStdin: () => undefined },
      'wasi:cli/terminal-stdout': { getTerminalStdout: () => undefined },
      'wasi:cli/terminal-stderr': { getTerminalStderr: () => undefined },
      'wasi:filesystem/preopens': { getDirectories: () => [] },
      'wasi:clocks/wall-clock': { now: still, resolution: still },
      'wasi:clocks/monotonic-clock': { now: () => ++this.#looks, resolution: () => 1n },
      'wasi:random/random': { getRandomBytes: bytes, getRandomU64: () => 4n },
      'wasi:random/insecure': { getInsecureRandomBytes: bytes, getInsecureRandomU64: () => 4n },
      'wasi:random/insecure-seed': { insecureSeed: () => [4n, 4n] },
      'wasi:io/streams': { InputStream, OutputStream },
      'wasi:io/poll': { Pollable },
    };
  }
}

function readText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw 'not-text';
  }
}

/** An interface whose other names throw when they are called, also as methods of resources. */
function inert(name: string, known: Record<string, unknown>): object {
  return new Proxy(known, {
    get: (_, item) => known[String(item)] ?? thrower(`${name}#${String(item)}`),
    has: () => true,
  });
}

function thrower(name: string): unknown {
  class Missing {
    constructor() {
      throw new Error(`unknown import: \`${name}\` has not been defined`);
    }
  }
  const call = (): never => {
    throw new Error(`unknown import: \`${name}\` has not been defined`);
  };
  const methods = new Proxy(Missing.prototype, { get: () => call });
  return new Proxy(Missing, { apply: call, get: (target, item) => (item === 'prototype' ? methods : Reflect.get(target, item)) });
}
