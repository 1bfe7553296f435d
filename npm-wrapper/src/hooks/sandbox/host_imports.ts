// What a third-party hook can access: settings, granted files, a log, WASI stubs.
import { readLine, writeLine } from './lines.js';

/** At most this many log lines are kept per call, and this many characters of each. */
const MAX_LINES = 100;
const MAX_CHARS = 1_000;

/** The most bytes that can be printed, or requested as random bytes, at once. */
const MAX_BYTES = 65_536;

/** A line that a hook logged or printed. */
export interface HookLogLine {
  level: string;
  text: string;
}

/** The answer of the parent process to a request for files. */
interface FileResponse {
  bytes?: string;
  paths?: string[];
  fault?: string;
}

/** What a hook has access to: its settings, granted files and a log, and stubs for WASI, as in the other host. */
export class HostImports {
  readonly #settings: string;
  readonly #maxLifted: number;
  #log: HookLogLine[] = [];
  #printed = new Map<string, string>();
  #clockReads = 0n;

  constructor(settings: string, maxLifted: number) {
    this.#settings = settings;
    this.#maxLifted = maxLifted;
  }

  /** Takes the lines that were logged and printed since the last call. */
  takeLog(): HookLogLine[] {
    for (const level of this.#printed.keys()) this.#endLine(level);
    const log = this.#log;
    this.#log = [];
    return log;
  }

  /** The imports of a component, by name. WASI functions without a stub throw when they are called. */
  byName(): Record<string, unknown> {
    const known: Record<string, Record<string, unknown>> = {
      'tollgate:hook/types': {},
      'tollgate:hook/settings': { get: () => this.#settings },
      'tollgate:hook/log': { write: (level: string, message: string) => this.#addToLog(level, this.#checkLength(message)) },
      'tollgate:hook/files': {
        read: (path: string, limit: number) => this.#read(path, limit),
        readText: (path: string, limit: number) => readText(this.#read(path, limit)),
        find: (glob: string) => this.#request({ find: [this.#checkLength(glob)] }).paths ?? [],
      },
      ...this.#wasi(),
    };
    return new Proxy(known, { get: (all, name) => withThrowingStubs(String(name), all[String(name)] ?? {}) });
  }

  #read(path: string, limit: number): Uint8Array {
    return Buffer.from(this.#request({ read: [this.#checkLength(path), limit] }).bytes ?? '', 'base64');
  }

  #request(wanted: object): FileResponse {
    writeLine(wanted);
    const served = JSON.parse(readLine() ?? '{"fault":"other"}') as FileResponse;
    // Generated code treats a thrown value that is not an `Error` as the error of the contract.
    if (served.fault !== undefined) throw served.fault;
    return served;
  }

  #checkLength(text: string): string {
    if (Buffer.byteLength(text) > this.#maxLifted) throw new Error('too much data is passed to the host');
    return text;
  }

  #addToLog(level: string, text: string): void {
    if (this.#log.length < MAX_LINES)
      this.#log.push({ level, text: [...text.slice(0, 2 * MAX_CHARS)].slice(0, MAX_CHARS).join('') });
  }

  #print(level: string, bytes: Uint8Array): void {
    if (this.#log.length >= MAX_LINES) return;
    const lines = ((this.#printed.get(level) ?? '') + Buffer.from(bytes).toString('utf8')).split('\n');
    this.#printed.set(level, (lines.pop() ?? '').slice(0, 4 * MAX_CHARS));
    for (const line of lines) if (line !== '') this.#addToLog(level, line);
  }

  #endLine(level: string): void {
    const line = this.#printed.get(level) ?? '';
    this.#printed.set(level, '');
    if (line !== '') this.#addToLog(level, line);
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
      if (length > MAX_BYTES) throw new Error(`the hook requests ${length} random bytes at once`);
      return new Uint8Array(Number(length)).fill(4);
    };
    const frozenTime = () => ({ seconds: 0n, nanoseconds: 0 });
    return {
      'wasi:cli/environment': { getEnvironment: () => [], getArguments: () => [], initialCwd: () => undefined },
      'wasi:cli/stdin': { getStdin: () => new InputStream() },
      'wasi:cli/stdout': { getStdout: () => new OutputStream('stdout') },
      'wasi:cli/stderr': { getStderr: () => new OutputStream('stderr') },
      'wasi:cli/terminal-stdin': { getTerminalStdin: () => undefined },
      'wasi:cli/terminal-stdout': { getTerminalStdout: () => undefined },
      'wasi:cli/terminal-stderr': { getTerminalStderr: () => undefined },
      'wasi:filesystem/preopens': { getDirectories: () => [] },
      'wasi:clocks/wall-clock': { now: frozenTime, resolution: frozenTime },
      'wasi:clocks/monotonic-clock': { now: () => ++this.#clockReads, resolution: () => 1n },
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

/** Completes an interface so that all other names throw when they are called, including methods of resources. */
function withThrowingStubs(name: string, known: Record<string, unknown>): object {
  return new Proxy(known, {
    get: (_, item) => known[String(item)] ?? throwingStub(`${name}#${String(item)}`),
    has: () => true,
  });
}

function throwingStub(name: string): unknown {
  class UndefinedImport {
    constructor() {
      throw new Error(`unknown import: \`${name}\` has not been defined`);
    }
  }
  const call = (): never => {
    throw new Error(`unknown import: \`${name}\` has not been defined`);
  };
  const methods = new Proxy(UndefinedImport.prototype, { get: () => call });
  return new Proxy(UndefinedImport, {
    apply: call,
    get: (target, item) => (item === 'prototype' ? methods : Reflect.get(target, item)),
  });
}
