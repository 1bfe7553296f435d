// Everything that the component imports.
import type { Imports } from './component.js';
import { environmentImport, type Variables } from './environment.js';
import { logImport, type LogSink } from './log.js';
import { recordsImport } from '../files/records.js';
import type { Roots } from '../files/roots.js';
import { type Clock, type Random, wasiImports } from './wasi.js';
import { workspaceImport } from '../files/workspace.js';

/** The imports of the component. */
export function importsOf(roots: Roots, log: LogSink, clock: Clock, random: Random, variables: Variables): Imports {
  return {
    ...wasiImports(log, clock, random),
    'tollgate:hooks/types': {},
    'tollgate:hooks/environment': environmentImport(variables),
    'tollgate:hooks/log': logImport(log),
    'tollgate:hooks/workspace': workspaceImport(roots, log),
    'tollgate:hooks/records': recordsImport(roots, log),
  };
}
