import { brotliDecompressSync } from 'node:zlib';
import { TollgateError } from '../api/error.js';

/** A core module, from inside the bundle: stands in for `core_files.ts` where a plugin has to be one file. */
export function coreBytes(name: string): Uint8Array {
  const packed = TOLLGATE_MODULES[name];
  if (packed === undefined) throw new TollgateError('component_missing', `the bundle holds no \`${name}\`; build it anew`);
  return brotliDecompressSync(Buffer.from(packed, 'base64'));
}
