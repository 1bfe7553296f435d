import { type Imports } from './component.js';
import { TollgateError } from './error.js';
import { Guest } from './guest.js';
import { logImport, type LogSink, sink } from './log.js';
import { recordsImport } from './records.js';
import { Roots } from './roots.js';
import { Tollgate } from './tollgate.js';
import { systemRandom, wasiImports } from './wasi.js';
import { workspaceImport } from './workspace.js';

export * from './calls.js';
export { type ErrorCode, TollgateError } from './error.js';
export * from './hook_types.js';
export { Hooks } from './hooks.js';
export { carryOut, closeMcpServers, type LookupOptions } from './lookups.js';
export type { Tollgate } from './tollgate.js';

/** How much a log line matters. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Where a gate stands and what it is given. */
export interface TollgateOptions {
  /** The workspace: an existing folder. */
  workspace: string;
  /** The home folder, with the user's own settings in `.tollgate/`; the user's home where none is named. */
  home?: string | undefined;
  /**
   * The folder in which every workspace has a folder for what the gate keeps between calls. Where none is named, it is
   * `.local/state/tollgate` in the home folder that is named, else `$XDG_STATE_HOME/tollgate`, or what stands for it on this system.
   */
  state?: string | undefined;
  /** Takes what the gate has to say to you. Nothing an agent sees. */
  log?: ((level: LogLevel, message: string, details?: unknown) => void) | undefined;
  /** Milliseconds since 1970, for entries that have to repeat; the system's clock where there is none. */
  clock?: (() => number) | undefined;
  /** So many random bytes, for ids that have to repeat; the system's where there is none. */
  random?: ((length: number) => Uint8Array) | undefined;
}

/** The package's version. */
export const version: string = TOLLGATE_VERSION;

/** `sha256:` and hex of the component inside. The same bytes run in every host. */
export const digest: string = TOLLGATE_DIGEST;

/** The gate of a workspace. */
export function createTollgate(options: TollgateOptions): Tollgate {
  const { workspace, home, state, clock = Date.now, random = systemRandom } = options ?? {};
  if (typeof workspace !== 'string') {
    throw new TollgateError('invalid_input', 'no workspace is named; pass { workspace: "path/to/folder" }');
  }
  const roots = new Roots(workspace, home, state);
  const log: LogSink = sink(options.log);
  const imports: Imports = {
    ...wasiImports(log, clock, random),
    'tollgate:hooks/types': {},
    'tollgate:hooks/log': logImport(log),
    'tollgate:hooks/workspace': workspaceImport(roots, log),
    'tollgate:hooks/records': recordsImport(roots, log),
  };
  return new Tollgate(new Guest(imports), roots, log);
}
