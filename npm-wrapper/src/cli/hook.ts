// `tollgate hook PROGRAM`: one event of an agent program on standard input, one answer on standard output.
//
// A hook that crashes lets the tool run, in every program, so nothing here may: exit code 2 keeps the tool from running where the
// answer cannot be told in the program's own words.
import * as fs from 'node:fs';
import { createTollgate, Locator, type LogLevel } from '../api/index.js';

/** One byte more than the gate reads, so that it notices. */
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
      return blocked(`\`${program}\` is not a program that Tollgate speaks to; use one of: ${names.join(', ')}`);
    const payload = readInput();
    const workspace = locator.locate(program, event, payload);
    if (workspace === undefined) return print(locator.silence(program), undefined);
    const gate = createTollgate({ workspace, log });
    const { text, refused } = await gate.respond(program, event, payload);
    const code = print(text, refused);
    // What could not be entered is tried again; the program has its answer.
    await gate.close().catch((error: unknown) => say(`error: ${told(error)}`));
    return code;
  } catch (error) {
    say(`error: ${told(error)}`);
    return BLOCKED;
  }
}

/** Standard input to its end, or as much of it as is read. */
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

/** Reads from standard input, which may be a pipe that nobody has written to yet. */
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

/** Prints the answer. Silence would let a tool run that must not. */
function print(text: string, refused: string | undefined): number {
  if (text === '') return refused === undefined ? 0 : blocked(refused);
  const bytes = Buffer.from(`${text}\n`);
  try {
    for (let at = 0; at < bytes.byteLength; ) at += writePiece(bytes.subarray(at));
    return 0;
  } catch {
    say('error: the answer could not be written');
    return refused === undefined ? 0 : blocked(refused);
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

function blocked(reason: string): number {
  say(reason);
  return BLOCKED;
}

function log(level: LogLevel, message: string): void {
  if (level === 'warn' || level === 'error') say(`${level}: ${message}`);
}

/** One message on standard error. Where that is closed, there is nobody to tell. */
function say(message: string): void {
  try {
    fs.writeSync(2, `tollgate: ${message}\n`);
  } catch {
    // Nobody listens.
  }
}

function told(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
