// Reads the core modules of the component from inside the bundle.
import { brotliDecompressSync } from 'node:zlib';
import { TollgateError } from '../api/error.js';

/** Reads a core module from inside the bundle: replaces `core_files.ts` in the single-file plugin. */
export function coreBytes(name: string): Uint8Array {
  const packed = TOLLGATE_MODULES[name];
  if (packed === undefined)
    throw new TollgateError('component_missing', `the bundle does not contain \`${name}\`; build it again`);
  return brotliDecompressSync(Buffer.from(packed, 'base64'));
}
