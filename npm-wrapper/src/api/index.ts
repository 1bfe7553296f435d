// The package's API: opens gates, and finds the workspace of a payload.
import { TollgateError } from './error.js';
import { Guest } from '../component/guest.js';
import { importsOf } from '../component/imports.js';
import type { HooksOptions } from './hook_types.js';
import { parseBytes, textBytes } from '../component/json.js';
import { type LogSink, createLogSink } from '../component/log.js';
import type { LookupOptions, McpOptions } from './types.js';
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
export type { Servers } from '../programs/servers.js';
export type { Tollgate } from './tollgate.js';

/** The severity of a log line. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** The options of a gate. */
export interface TollgateOptions {
  /** The workspace: an existing folder. */
  workspace: string;
  /** The home folder, which contains the user's settings in `.tollgate/`. Default: the user's home folder. */
  home?: string | undefined;
  /**
   * The folder that contains the state folders of all workspaces. Default: `.local/state/tollgate` in the given home folder,
   * otherwise `$XDG_STATE_HOME/tollgate` or its equivalent on this system.
   */
  state?: string | undefined;
  /** Receives the gate's log. Agents never see it. */
  log?: ((level: LogLevel, message: string, details?: unknown) => void) | undefined;
  /** Milliseconds since 1970, for repeatable entries. Default: the system clock. */
  clock?: (() => number) | undefined;
  /** Returns this many random bytes, for repeatable ids. Default: the system's random bytes. */
  random?: ((length: number) => Uint8Array) | undefined;
  /** Environment variables for the settings of extensions, by name. Default: those of this process. */
  variables?: Readonly<Record<string, string | undefined>> | undefined;
  /** Options for hooks. */
  hooks?: HooksOptions | undefined;
  /** How concepts are looked up. */
  lookups?: LookupOptions | undefined;
  /** How a person is asked about calls of MCP servers. */
  mcp?: McpOptions | undefined;
}

/** The package's version. */
export const version: string = TOLLGATE_VERSION;

/** `sha256:` and the hex digest of the component. The same bytes run in every host. */
export const digest: string = TOLLGATE_DIGEST;

/** The request for the parts of the home folder that the gate needs to read. */
const READABLE_FILES = textBytes('{"op":"readable-files"}');

/** The gate's own folders in the home folder, which every component may read. */
const OWN_IN_HOME = ['.tollgate', '.ollm'];

/**
 * The parts of the home folder in the gate's answer. A component that does not know this request may read only its own folders.
 */
function readableInHome(answer: Uint8Array): string[] {
  try {
    return (parseBytes(answer) as { home?: string[] }).home ?? OWN_IN_HOME;
  } catch {
    return OWN_IN_HOME;
  }
}

/** Opens the gate of a workspace. */
export function createTollgate(options: TollgateOptions): Tollgate {
  const { workspace, home, state, clock = Date.now, random = systemRandom, variables = process.env } = options ?? {};
  if (typeof workspace !== 'string') {
    throw new TollgateError('invalid_input', 'no workspace is named; pass { workspace: "path/to/folder" }');
  }
  const roots = new Roots(workspace, home, state);
  const log: LogSink = createLogSink(options.log);
  const guest = new Guest(importsOf(roots, log, clock, random, variables), ({ operations }) => {
    roots.readableInHome = readableInHome(operations.perform(READABLE_FILES));
  });
  return new Tollgate({ guest, roots, log, hooks: options.hooks, lookups: options.lookups, mcp: options.mcp });
}
