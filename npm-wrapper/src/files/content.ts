// Reads and hashes files.
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { FileFault } from './fault.js';

/** On platforms that support them: do not follow a link in the last name, and do not wait for the other end of a pipe. */
export const CAUTIOUS_FLAGS = (fs.constants.O_NOFOLLOW ?? 0) | (fs.constants.O_NONBLOCK ?? 0);

const CHUNK_BYTES = 1 << 16;

/** More does not fit into the guest's memory. */
const MAX_BYTES = 0x7fff_ffffn;

const chunk = Buffer.allocUnsafe(CHUNK_BYTES);

/** Calls `use` with an open regular file. The file type is checked again after opening. */
export function withFile<T>(path: string, use: (descriptor: number, size: bigint) => T): T {
  const descriptor = fs.openSync(path, fs.constants.O_RDONLY | CAUTIOUS_FLAGS);
  try {
    const stats = fs.fstatSync(descriptor, { bigint: true });
    if (!stats.isFile()) throw new FileFault('other');
    return use(descriptor, stats.size);
  } finally {
    fs.closeSync(descriptor);
  }
}

/** The SHA-256 of a file as the contract spells it, computed without reading the whole file into memory. */
export function digestOf(path: string): string {
  return withFile(path, (descriptor) => {
    const hash = createHash('sha256');
    for (;;) {
      const count = fs.readSync(descriptor, chunk, 0, CHUNK_BYTES, null);
      if (count === 0) return `sha256:${hash.digest('hex')}`;
      hash.update(chunk.subarray(0, count));
    }
  });
}

/** The bytes from `offset`, at most `limit`, fewer if the file ends before that. */
export function readBytes(descriptor: number, offset: bigint, limit: bigint): Uint8Array {
  if (limit > MAX_BYTES) throw new FileFault('too-large');
  const bytes = new Uint8Array(Number(limit));
  let filled = 0;
  while (filled < bytes.byteLength) {
    const count = fs.readSync(descriptor, bytes, filled, bytes.byteLength - filled, offset + BigInt(filled));
    if (count === 0) return bytes.slice(0, filled);
    filled += count;
  }
  return bytes;
}
