import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import type { Root } from '../../generated/interfaces/tollgate-hooks-workspace.js';
import { TollgateError } from '../api/error.js';
import { errnoOf, isRefusal } from './fault.js';
import { below, slashed } from './path.js';
import { makeState, PRIVATE_FOLDER, stateFolder, stateOf } from './state.js';
import { type Folders, type Walk, Walker } from './walk.js';

/** Of the home folder, only these are lent: the gate's own folders, and the settings in which agent programs keep what is allowed. */
const LENT_OF_HOME = ['.tollgate', '.ollm', '.claude/settings.json', '.gemini/settings.json', '.codex/config.toml'];

/** The gate's own folders, where it may write. */
const WRITABLE_OF_PROJECT = ['.orchestration', '.tollgate'];
const WRITABLE_OF_HOME = ['.tollgate'];

/** The folders that the host lends, and what of them it lends. */
export class Roots {
  readonly project: Walker;
  readonly home: Walker;
  /** What is kept of the workspace between calls. The folder is made when something is first kept in it. */
  readonly state: Walker;

  /**
   * Opens them. The workspace has to exist; a home folder that does not is an empty one. `state` is the folder that the state of
   * all workspaces stands in.
   */
  constructor(workspace: string, home: string | undefined, state?: string) {
    this.project = new Walker(opened(workspace));
    this.home = new Walker(resolved(home ?? os.homedir()));
    this.state = new Walker(stateOf(this.project.folder, stateFolder(home, state)), true);
  }

  walk(root: Root, asked: string, folders?: Folders): Walk {
    return this[root].walk(asked, folders);
  }

  /** Makes the folder of a file that is about to be written. */
  makeFolder(root: Root, folder: string): void {
    if (root === 'state') makeState(this.state.folder, this.project.folder);
    fs.mkdirSync(folder, root === 'state' ? { recursive: true, mode: PRIVATE_FOLDER } : { recursive: true });
  }

  /** Whether an absolute path lies in the workspace. */
  inProject(real: string): boolean {
    return below(this.project.folder, real) !== undefined;
  }

  /** Whether the content at an absolute path is lent to a question about that root. */
  lends(root: Root, real: string): boolean {
    if (root === 'state') return below(this.state.folder, real) !== undefined;
    return root === 'project' ? this.inProject(real) : liesIn(this.home.folder, LENT_OF_HOME, real);
  }

  /**
   * Whether an absolute path lies in the writable folders of the root that was named. A link in the workspace must not lead to
   * what the user keeps at home.
   */
  writable(root: Root, real: string): boolean {
    if (root === 'state') return (below(this.state.folder, real) ?? '') !== '';
    if (root === 'home') return isBelow(this.home.folder, WRITABLE_OF_HOME, real);
    return isBelow(this.project.folder, WRITABLE_OF_PROJECT, real);
  }

  /** Whether what is written there is the user's alone. The workspace may be the home folder itself. */
  isPrivate(root: Root, real: string): boolean {
    return root === 'state' || isBelow(this.home.folder, WRITABLE_OF_HOME, real);
  }

  /** A path as the guest sees it: relative to the workspace where it lies in it, else absolute. */
  reported(real: string): string {
    const inside = below(this.project.folder, real);
    return inside === undefined ? real : inside === '' ? '.' : inside;
  }
}

/** No workspace yet: every path is told whole, and no content is lent. */
export class Anywhere extends Roots {
  constructor(home: string | undefined) {
    super(path.parse(os.homedir()).root, home, home ?? os.homedir());
  }

  override inProject(): boolean {
    return false;
  }

  override lends(): boolean {
    return false;
  }

  override writable(): boolean {
    return false;
  }

  override reported(real: string): string {
    return real;
  }
}

function liesIn(root: string, folders: readonly string[], real: string): boolean {
  const inside = below(root, real);
  return inside !== undefined && folders.some((folder) => below(folder, inside) !== undefined);
}

function isBelow(root: string, folders: readonly string[], real: string): boolean {
  const inside = below(root, real);
  return inside !== undefined && folders.some((folder) => (below(folder, inside) ?? '') !== '');
}

function opened(workspace: string): string {
  const refuse = (why: string, cause?: unknown) =>
    new TollgateError('workspace_missing', `cannot open the workspace \`${workspace}\`: ${why}; name an existing folder`, cause);
  let real: string;
  let isFolder: boolean;
  try {
    real = fs.realpathSync.native(workspace);
    isFolder = fs.statSync(real).isDirectory();
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === 'ENOENT') throw refuse('it does not exist', error);
    if (errno === 'ENOTDIR') throw refuse('it is no folder', error);
    throw refuse(isRefusal(error) ? 'permission denied' : error instanceof Error ? error.message : String(error), error);
  }
  if (!isFolder) throw refuse('it is no folder');
  return slashed(real);
}

function resolved(home: string): string {
  try {
    return slashed(fs.realpathSync.native(home));
  } catch {
    return slashed(path.resolve(home));
  }
}
