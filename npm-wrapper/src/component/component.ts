// Instantiates the component.
import { type ImportObject, instantiate, type Root as Exports } from '../../generated/tollgate.js';
import { coreBytes } from './core_files.js';

export type { Exports };

/** The generated code looks imports up by name without a version; only its types include versions. */
type Unversioned<T> = { [Name in keyof T as Name extends `${infer Plain}@${string}` ? Plain : Name]: T[Name] };

export type Imports = Unversioned<ImportObject>;

/** Compiled once and shared by all instances, because compiling takes a thousand times as long as instantiating. */
const modules = new Map<string, WebAssembly.Module>();

function coreModule(name: string): WebAssembly.Module {
  const compiled = modules.get(name);
  if (compiled !== undefined) return compiled;
  const module = new WebAssembly.Module(coreBytes(name));
  modules.set(name, module);
  return module;
}

/** Creates a new instance of the component. */
export function newInstance(imports: Imports): Exports {
  return instantiate(coreModule, imports as unknown as ImportObject);
}
