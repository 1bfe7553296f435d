import { TollgateError } from './error.js';
import { Guest } from '../component/guest.js';
import { importsOf } from '../component/imports.js';
import type { HooksOptions } from './hook_types.js';
import { type LogSink, sink } from '../component/log.js';
import type { LookupOptions } from './types.js';
import { Roots } from '../files/roots.js';
import { Tollgate } from './tollgate.js';
import { systemRandom } from '../component/wasi.js';

export * from './types.js';
export { type ErrorCode, TollgateError } from './error.js';
export * from './hook_types.js';
export type { Hooks } from '../hooks/hooks.js';
export * from './ledger.js';
export { callOwnTool, listOwnTools, type OwnTool } from './own_tools.js';
/** @internal For this package's own command. */
export { Locator } from './locate.js';
export { locate, type Surroundings } from './locate.js';
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
  /** What hooks are given to work with. */
  hooks?: HooksOptions | undefined;
  /** Who can be asked about the concepts that calls name. */
  lookups?: LookupOptions | undefined;
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
  const guest = new Guest(importsOf(roots, log, clock, random));
  return new Tollgate({ guest, roots, log, hooks: options.hooks, lookups: options.lookups });
}
