// The workspace, home and state folders, and which parts of them the gate may read and write.
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import type { Root } from '../../generated/interfaces/tollgate-hooks-workspace.js';
import { TollgateError } from '../api/error.js';
import { errnoOf, isRefusal } from './fault.js';
import { relativePath, withSlashes } from './path.js';
import { makeState, PRIVATE_FOLDER, stateFolder, stateOf } from './state.js';
import { type KnownFolders, type ResolvedPath, PathResolver } from './walk.js';

/** The gate's own folders, which it may write. */
const WRITABLE_IN_PROJECT = ['.orchestration', '.tollgate'];
const WRITABLE_IN_HOME = ['.tollgate'];

/** The folders that the guest can access, and which parts of them. */
export class Roots {
  readonly project: PathResolver;
  readonly home: PathResolver;
  /** The state of the workspace between calls. The folder is created when something is first stored in it. */
  readonly state: PathResolver;
  /** Readable parts of the home folder, as the gate names them; none before it is asked. */
  readableInHome: readonly string[] = [];

  /**
   * Opens the folders. The workspace must exist; a missing home folder is treated as empty. `state` is the folder for the state
   * of all workspaces.
   */
  constructor(workspace: string, home: string | undefined, state?: string) {
    this.project = new PathResolver(openWorkspace(workspace));
    this.home = new PathResolver(resolveHome(home ?? os.homedir()));
    this.state = new PathResolver(stateOf(this.project.folder, stateFolder(home, state)), true);
  }

  resolve(root: Root, asked: string, folders?: KnownFolders): ResolvedPath {
    return this[root].resolve(asked, folders);
  }

  /** Creates the folder of a file that is about to be written. */
  makeFolder(root: Root, folder: string): void {
    if (root === 'state') makeState(this.state.folder, this.project.folder);
    fs.mkdirSync(folder, root === 'state' ? { recursive: true, mode: PRIVATE_FOLDER } : { recursive: true });
  }

  /** Whether an absolute path is in the workspace. */
  isInProject(real: string): boolean {
    return relativePath(this.project.folder, real) !== undefined;
  }

  /** Whether the content at an absolute path may be read for a question about this root. */
  isReadable(root: Root, real: string): boolean {
    if (root === 'state') return relativePath(this.state.folder, real) !== undefined;
    return root === 'project' ? this.isInProject(real) : isInFolders(this.home.folder, this.readableInHome, real);
  }

  /** Whether an absolute path is in the writable folders of this root. A link in the workspace must not lead to user files. */
  isWritable(root: Root, real: string): boolean {
    if (root === 'state') return (relativePath(this.state.folder, real) ?? '') !== '';
    if (root === 'home') return isBelowFolders(this.home.folder, WRITABLE_IN_HOME, real);
    return isBelowFolders(this.project.folder, WRITABLE_IN_PROJECT, real);
  }

  /** Whether files written there are accessible only to the user. The workspace may be the home folder itself. */
  isPrivate(root: Root, real: string): boolean {
    return root === 'state' || isBelowFolders(this.home.folder, WRITABLE_IN_HOME, real);
  }

  /** A path as it is reported to the guest: relative inside the workspace, otherwise absolute. */
  toGuestPath(real: string): string {
    const inside = relativePath(this.project.folder, real);
    return inside === undefined ? real : inside === '' ? '.' : inside;
  }
}

/** For requests without a workspace: every path is reported as absolute, and no content can be read. */
export class RootsWithoutWorkspace extends Roots {
  constructor(home: string | undefined) {
    super(path.parse(os.homedir()).root, home, home ?? os.homedir());
  }

  override isInProject(): boolean {
    return false;
  }

  override isReadable(): boolean {
    return false;
  }

  override isWritable(): boolean {
    return false;
  }

  override toGuestPath(real: string): string {
    return real;
  }
}

function isInFolders(root: string, folders: readonly string[], real: string): boolean {
  const inside = relativePath(root, real);
  return inside !== undefined && folders.some((folder) => relativePath(folder, inside) !== undefined);
}

function isBelowFolders(root: string, folders: readonly string[], real: string): boolean {
  const inside = relativePath(root, real);
  return inside !== undefined && folders.some((folder) => (relativePath(folder, inside) ?? '') !== '');
}

function openWorkspace(workspace: string): string {
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
    if (errno === 'ENOTDIR') throw refuse('it is not a folder', error);
    throw refuse(isRefusal(error) ? 'permission denied' : error instanceof Error ? error.message : String(error), error);
  }
  if (!isFolder) throw refuse('it is not a folder');
  return withSlashes(real);
}

function resolveHome(home: string): string {
  try {
    return withSlashes(fs.realpathSync.native(home));
  } catch {
    return withSlashes(path.resolve(home));
  }
}
