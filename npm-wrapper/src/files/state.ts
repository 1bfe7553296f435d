import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { TollgateError } from '../api/error.js';
import { slashed } from './path.js';

/** In every workspace's folder, for people: which workspace it is. */
const WORKSPACE = 'workspace';

/** Digits of a workspace's folder: half a digest, as elsewhere in the state. */
const DIGITS = 32;

/** Nobody but the user may look into folders of the state. */
export const PRIVATE_FOLDER = 0o700;

/**
 * The folder that the state of all workspaces stands in: the one that is named, `.local/state/tollgate` of a home folder that
 * is named, else where the user keeps such things on this system.
 */
export function stateFolder(home: string | undefined, state: string | undefined): string {
  if (state !== undefined) return state;
  if (home !== undefined) return path.join(home, '.local/state/tollgate');
  const of = (variable: string): string | undefined => {
    const folder = process.env[variable];
    return folder !== undefined && path.isAbsolute(folder) ? folder : undefined;
  };
  const atHome = (below: string): string | undefined => {
    const home = homeFolder();
    return home === undefined ? undefined : path.join(home, below);
  };
  const usual = () => {
    if (process.platform === 'win32') return of('LOCALAPPDATA') ?? atHome('AppData\\Local');
    return atHome(process.platform === 'darwin' ? 'Library/Application Support' : '.local/state');
  };
  const folder = of('XDG_STATE_HOME') ?? usual();
  if (folder === undefined) {
    const why = 'there is no folder to keep state in: neither a home folder nor XDG_STATE_HOME is known';
    throw new TollgateError('state_missing', `${why}; set HOME, or name a folder as \`state\``);
  }
  return path.join(folder, 'tollgate');
}

/** The folder of a workspace in it, given the workspace's real path with `/` between names. It need not exist yet. */
export function stateOf(workspace: string, folder: string): string {
  const digest = createHash('sha256').update(workspace).digest('hex').slice(0, DIGITS);
  return `${slashed(realOf(path.resolve(folder))).replace(/\/$/, '')}/${digest}`;
}

/** Makes the folder of a workspace. */
export function makeState(folder: string, workspace: string): void {
  if (fs.existsSync(folder)) return;
  fs.mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
  // For people. Whoever else makes the folder at this moment writes the same.
  fs.writeFileSync(`${folder}/${WORKSPACE}`, `${workspace}\n`, { mode: 0o600 });
}

/** The user's home folder; none where there is none. */
export function homeFolder(): string | undefined {
  try {
    const home = os.homedir();
    return path.isAbsolute(home) ? home : undefined;
  } catch {
    return undefined;
  }
}

/** The real path of a folder that need not exist yet. */
function realOf(folder: string): string {
  try {
    return fs.realpathSync.native(folder);
  } catch {
    const above = path.dirname(folder);
    return above === folder ? folder : path.join(realOf(above), path.basename(folder));
  }
}
