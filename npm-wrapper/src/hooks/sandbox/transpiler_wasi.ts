/**
 * WASI for the transpiler, which is a component itself and does not need any of it. The names are those that its code imports.
 */

class Resource {}

class OutputStream {
  checkWrite(): bigint {
    return 65_536n;
  }
  write(): void {}
  blockingFlush(): void {}
  blockingWriteAndFlush(): void {}
}

export const environment = { getEnvironment: () => [], getArguments: () => [], initialCwd: () => undefined };
export const exit = {
  exit(): never {
    throw new Error('the transpiler gave up');
  },
};
export const stdin = { getStdin: () => new Resource() };
export const stdout = { getStdout: () => new OutputStream() };
export const stderr = { getStderr: () => new OutputStream() };
export const terminalInput = { TerminalInput: Resource };
export const terminalOutput = { TerminalOutput: Resource };
export const terminalStdin = { getTerminalStdin: () => undefined };
export const terminalStdout = { getTerminalStdout: () => undefined };
export const terminalStderr = { getTerminalStderr: () => undefined };
export const preopens = { getDirectories: () => [] };
export const types = { Descriptor: class {}, DirectoryEntryStream: class {}, filesystemErrorCode: () => undefined };
export const error = { Error: class {} };
export const streams = { InputStream: class {}, OutputStream };
export const random = { getRandomBytes: (length: bigint) => new Uint8Array(Number(length)), getRandomU64: () => 4n };
export const wallClock = { now: () => ({ seconds: 0n, nanoseconds: 0 }) };
export const monotonicClock = { now: () => 0n };
