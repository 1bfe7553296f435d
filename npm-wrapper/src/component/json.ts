// Converts values to and from the JSON bytes that the component reads and writes, and checks values of callers.
import { TollgateError } from '../api/error.js';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** A value as JSON bytes for the component. */
export function toBytes(value: unknown, what: string): Uint8Array {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new TollgateError('invalid_input', `\`${what}\` cannot be written as JSON: ${why}`, error);
  }
  return encoder.encode(text ?? 'null');
}

/** Like `toBytes`, but replaces lone surrogates, which an editor may send and the component cannot read. */
export function toWellFormedBytes(value: unknown, what: string): Uint8Array {
  const bytes = toBytes(value, what);
  if (!Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes('\\ud')) return bytes;
  const half = /\\(?:u(d[89a-f][0-9a-f]{2})|.)/g;
  return textBytes(toText(bytes).replace(half, (escape, lone) => (lone === undefined ? escape : '\\ufffd')));
}

/** The payload of an agent program as bytes for the component. */
export function payloadBytes(payload: Uint8Array | string | object): Uint8Array {
  if (payload instanceof Uint8Array) return payload;
  return typeof payload === 'string' ? textBytes(payload) : toWellFormedBytes(payload, 'payload');
}

export function parseBytes(bytes: Uint8Array): unknown {
  return JSON.parse(decoder.decode(bytes));
}

export function toText(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

export function textBytes(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Checks that a value is a string; otherwise the error names the argument. The generated code would discard the instance. */
export function requireString(value: unknown, what: string): string {
  if (typeof value === 'string') return value;
  throw new TollgateError('invalid_input', `\`${what}\` is ${value === null ? 'null' : typeof value}; pass a string`);
}

/** Checks that a value is a whole number; otherwise the error names the argument. */
export function requireWholeNumber(value: unknown, most: number, what: string): number {
  if (typeof value === 'number' && value >= 0 && value <= most) return Math.floor(value);
  throw new TollgateError('invalid_input', `\`${what}\` is ${String(value)}; pass a number from 0 to ${most}`);
}
