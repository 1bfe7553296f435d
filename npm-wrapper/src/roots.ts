import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import type { Root } from '../generated/interfaces/tollgate-hooks-workspace.js';
import { TollgateError } from './error.js';
import { errnoOf, isRefusal } from './fault.js';
import { below, slashed } from './path.js';
import { type Walk, Walker } from './walk.js';

/** The folders of the home folder whose content is lent. */
const LENT_OF_HOME = ['.tollgate', '.ollm'];

/** The gate's own folders, where it may write. */
const WRITABLE_OF_PROJECT = ['.orchestration', '.tollgate'];
/** Nobody but the user reads these. */
const PRIVATE_OF_PROJECT = '.tollgate/state';
const WRITABLE_OF_HOME = ['.tollgate'];

/** The two folders that the host lends, and what of them it lends. */
export class Roots {
  readonly project: Walker;
  readonly home: Walker;

  /** Opens both. The workspace has to exist; a home folder that does not is an empty one. */
  constructor(workspace: string, home: string | undefined) {
    this.project = new Walker(opened(workspace));
    this.home = new Walker(resolved(home ?? os.homedir()));
  }

  walk(root: Root, asked: string): Walk {
    return (root === 'project' ? this.project : this.home).walk(asked);
  }

  /** Whether an absolute path lies in the workspace. */
  inProject(real: string): boolean {
    return below(this.project.folder, real) !== undefined;
  }

  /** Whether the content at an absolute path is lent to a question about that root. */
  lends(root: Root, real: string): boolean {
    return root === 'project' ? this.inProject(real) : liesIn(this.home.folder, LENT_OF_HOME, real);
  }

  /**
   * Whether an absolute path lies in the writable folders of the root that was named. A link in the workspace must not lead to
   * what the user keeps at home.
   */
  writable(root: Root, real: string): boolean {
    if (root === 'home') return isBelow(this.home.folder, WRITABLE_OF_HOME, real);
    return isBelow(this.project.folder, WRITABLE_OF_PROJECT, real);
  }

  /** Whether an absolute path lies at the user's home, or where copies of the user's files are kept, whoever may read those. */
  isPrivate(real: string): boolean {
    return isBelow(this.home.folder, WRITABLE_OF_HOME, real) || isBelow(this.project.folder, [PRIVATE_OF_PROJECT], real);
  }

  /** A path as the guest sees it: relative to the workspace where it lies in it, else absolute. */
  reported(real: string): string {
    const inside = below(this.project.folder, real);
    return inside === undefined ? real : inside === '' ? '.' : inside;
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
