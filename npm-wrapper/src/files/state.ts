// Where the gate keeps its state between calls: one folder per workspace.
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { TollgateError } from '../api/error.js';
import { withSlashes } from './path.js';

/** The file with the path of the workspace, for people. */
const WORKSPACE = 'workspace';

/** Length of a folder name in hex digits: half a digest, as elsewhere in the state. */
const DIGITS = 32;

/** State folders are accessible only to the user. */
export const PRIVATE_FOLDER = 0o700;

/**
 * The folder for the state of all workspaces: the given folder, `.local/state/tollgate` in the given home folder, or the user's
 * state folder on this system.
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
    const why = 'there is no folder for the state: neither a home folder nor XDG_STATE_HOME is known';
    throw new TollgateError('state_missing', `${why}; set HOME, or name a folder as \`state\``);
  }
  return path.join(folder, 'tollgate');
}

/**
 * The state folder of a workspace, given the workspace's canonical path with `/` as separator. It may not exist yet. Its name is the
 * `state_name` of the gate, which cannot be asked: it is opened with this folder.
 */
export function stateOf(workspace: string, folder: string): string {
  const digest = createHash('sha256').update(workspace).digest('hex').slice(0, DIGITS);
  return `${withSlashes(realOf(path.resolve(folder))).replace(/\/$/, '')}/${digest}`;
}

/** Creates the state folder of a workspace. */
export function makeState(folder: string, workspace: string): void {
  if (fs.existsSync(folder)) return;
  fs.mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
  // Only informational. A process that creates the folder at the same time writes the same text.
  fs.writeFileSync(`${folder}/${WORKSPACE}`, `${workspace}\n`, { mode: 0o600 });
}

/** The user's home folder, if there is one. */
export function homeFolder(): string | undefined {
  try {
    const home = os.homedir();
    return path.isAbsolute(home) ? home : undefined;
  } catch {
    return undefined;
  }
}

/** The canonical path of a folder that may not exist yet. */
function realOf(folder: string): string {
  try {
    return fs.realpathSync.native(folder);
  } catch {
    const above = path.dirname(folder);
    return above === folder ? folder : path.join(realOf(above), path.basename(folder));
  }
}
