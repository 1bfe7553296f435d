/**
 * Paths as the contract spells them: with `/` as separator on every operating system.
 *
 * The tests only cover Linux; the code for Windows and macOS follows their documented rules.
 */

export const isWindows = process.platform === 'win32';

/** Whether names that differ in case or Unicode normalization usually mean the same file. */
export const ignoresCase = isWindows || process.platform === 'darwin';

/** An absolute path: its anchor (`''`, `C:` or `//server/share`) and the names below it. */
export interface AbsolutePath {
  anchor: string;
  names: string[];
}

const drive = /^[A-Za-z]:(?=\/|$)/;
const share = /^\/\/[^/]+\/[^/]+(?=\/|$)/;

/** The path with `/` as separator. */
export function withSlashes(path: string): string {
  return isWindows ? path.replaceAll('\\', '/') : path;
}

/** The anchor of a path; `undefined` if the path is relative. */
export function anchorOf(path: string, current: string): string | undefined {
  if (isWindows) {
    const found = drive.exec(path)?.[0].toUpperCase() ?? share.exec(path)?.[0];
    if (found !== undefined) return found;
    return path.startsWith('/') ? current : undefined;
  }
  return path.startsWith('/') ? '' : undefined;
}

/** The names of a path, without its anchor, empty names and `.`. */
export function namesOf(path: string, anchor: string | undefined): string[] {
  const below = isWindows && anchor !== undefined && !isRooted(path) ? path.slice(anchor.length) : path;
  return below.split('/').filter((name) => name !== '' && name !== '.');
}

/** Whether a Windows path starts at the root of the current drive, such as `/temp`. */
function isRooted(path: string): boolean {
  return path.startsWith('/') && !share.test(path);
}

/** Whether a string is a valid name in a path. */
export function isName(name: string): boolean {
  // On Windows, a colon names an alternate data stream of a file, which would not show in its name.
  return !name.includes('\0') && !(isWindows && name.includes(':'));
}

/** Splits an absolute path. */
export function splitPath(absolute: string): AbsolutePath {
  const path = withSlashes(absolute);
  const anchor = anchorOf(path, '') ?? '';
  return { anchor, names: namesOf(path, anchor) };
}

/** Joins an anchor and names to an absolute path. */
export function joinPath(anchor: string, names: readonly string[]): string {
  return names.length === 0 ? `${anchor}/` : `${anchor}/${names.join('/')}`;
}

/** The part of `path` below `folder`: `''` for the folder itself, `undefined` if it is not in it. */
export function relativePath(folder: string, path: string): string | undefined {
  if (path === folder) return '';
  if (folder.endsWith('/')) return path.startsWith(folder) ? path.slice(folder.length) : undefined;
  return path.startsWith(folder) && path[folder.length] === '/' ? path.slice(folder.length + 1) : undefined;
}
