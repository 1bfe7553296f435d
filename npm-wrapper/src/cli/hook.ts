// `tollgate hook PROGRAM`: one event of an agent program on standard input, one answer on standard output.
//
// In every agent program, a hook that crashes lets the tool run, so this command must not crash: exit code 2 blocks the tool if
// no answer can be written.
import * as fs from 'node:fs';
import { createTollgate, Locator, type LogLevel } from '../api/index.js';

/** One byte more than the gate's limit, which is `MAX_PAYLOAD` in `guest/src/exchange/mod.rs`, so that it notices. */
const MAX_PAYLOAD = (48 << 20) + 1;

const BLOCKED = 2;

const USAGE = 'usage: tollgate hook PROGRAM [--event NAME]';

export async function main(args: string[]): Promise<number> {
  const [program, option, event, ...more] = args;
  if (
    program === undefined ||
    program.startsWith('-') ||
    more.length > 0 ||
    (option !== undefined && (option !== '--event' || event === undefined))
  ) {
    say(USAGE);
    return BLOCKED;
  }
  try {
    const locator = new Locator();
    const names = locator.names();
    if (!names.includes(program))
      return block(`\`${program}\` is not a program that Tollgate supports; use one of: ${names.join(', ')}`);
    const payload = readInput();
    const workspace = locator.locate(program, event, payload);
    if (workspace === undefined) return print(locator.silence(program), undefined);
    const gate = createTollgate({ workspace, log });
    const { text, refused } = await gate.respond(program, event, payload);
    const code = print(text, refused);
    // Retries writing to the ledger; the program already has its answer.
    await gate.close().catch((error: unknown) => say(`error: ${messageOf(error)}`));
    return code;
  } catch (error) {
    say(`error: ${messageOf(error)}`);
    return BLOCKED;
  }
}

/** Reads standard input to its end, up to the limit. */
function readInput(): Uint8Array {
  const pieces: Uint8Array[] = [];
  let length = 0;
  while (length < MAX_PAYLOAD) {
    const piece = new Uint8Array(Math.min(1 << 16, MAX_PAYLOAD - length));
    const read = readPiece(piece);
    if (read === 0) break;
    pieces.push(piece.subarray(0, read));
    length += read;
  }
  return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces, length);
}

/** Reads from standard input, which may be a pipe without data yet. */
function readPiece(piece: Uint8Array): number {
  for (;;) {
    try {
      return fs.readSync(0, piece);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      if (code === 'EOF') return 0;
      if (code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

/** Prints the answer. Without an answer, a tool that must not run would run. */
function print(text: string, refused: string | undefined): number {
  if (text === '') return refused === undefined ? 0 : block(refused);
  const bytes = Buffer.from(`${text}\n`);
  try {
    for (let at = 0; at < bytes.byteLength; ) at += writePiece(bytes.subarray(at));
    return 0;
  } catch {
    say('error: the answer could not be written');
    return refused === undefined ? 0 : block(refused);
  }
}

function writePiece(piece: Uint8Array): number {
  try {
    return fs.writeSync(1, piece);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    return 0;
  }
}

function block(reason: string): number {
  say(reason);
  return BLOCKED;
}

function log(level: LogLevel, message: string): void {
  if (level === 'warn' || level === 'error') say(`${level}: ${message}`);
}

/** Prints a message on standard error. If that is closed, the message is dropped. */
function say(message: string): void {
  try {
    fs.writeSync(2, `tollgate: ${message}\n`);
  } catch {
    // Standard error is closed.
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
