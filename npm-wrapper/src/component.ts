import * as fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type ImportObject, instantiate, type Root as Exports } from '../generated/tollgate.js';
import { TollgateError } from './error.js';

export type { Exports };

/** The glue asks for its imports by name alone; only its types spell out the versions. */
type Unversioned<T> = { [Name in keyof T as Name extends `${infer Plain}@${string}` ? Plain : Name]: T[Name] };

export type Imports = Unversioned<ImportObject>;

/** Compiled once and shared by all instances: compiling takes a thousand times as long as instantiating. */
const modules = new Map<string, WebAssembly.Module>();

/** A core module, from the file beside the bundle. */
function coreModule(name: string): WebAssembly.Module {
  const compiled = modules.get(name);
  if (compiled !== undefined) return compiled;
  const path = fileURLToPath(new URL(name, import.meta.url));
  let bytes: Uint8Array;
  try {
    bytes = fs.readFileSync(path);
  } catch (error) {
    const remedy = 'keep the .wasm files of the package in the folder of its code, also when you bundle it';
    throw new TollgateError('component_missing', `cannot read \`${path}\`: ${remedy}`, error);
  }
  const module = new WebAssembly.Module(bytes);
  modules.set(name, module);
  return module;
}

/** A fresh instance of the component. */
export function newInstance(imports: Imports): Exports {
  return instantiate(coreModule, imports as unknown as ImportObject);
}
