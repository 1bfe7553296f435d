// Reads the core modules of the component from files next to the bundle.
import * as fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import { TollgateError } from '../api/error.js';

/** Reads a core module from the file next to the bundle. */
export function coreBytes(name: string): Uint8Array {
  const path = fileURLToPath(new URL(name, import.meta.url));
  try {
    return fs.readFileSync(path);
  } catch (error) {
    const remedy = 'keep the .wasm files of the package in the folder of its code, also when you bundle it';
    throw new TollgateError('component_missing', `cannot read \`${path}\`: ${remedy}`, error);
  }
}
