/**
 * Paths as the contract spells them: `/` between names, whatever the operating system uses.
 *
 * Only Linux is exercised by the tests; what concerns Windows and macOS follows their documented rules.
 */

export const windows = process.platform === 'win32';

/** Whether names that differ in case, or in Unicode normalisation, are usually the same file. */
export const folding = windows || process.platform === 'darwin';

/** An absolute path in pieces: where the tree is anchored (`''`, `C:` or `//server/share`), and the names below. */
export interface Place {
  anchor: string;
  names: string[];
}

const drive = /^[A-Za-z]:(?=\/|$)/;
const share = /^\/\/[^/]+\/[^/]+(?=\/|$)/;

/** The path with `/` between names. */
export function slashed(path: string): string {
  return windows ? path.replaceAll('\\', '/') : path;
}

/** The anchor that a path starts with; none where the path is relative. */
export function anchorOf(path: string, current: string): string | undefined {
  if (windows) {
    const found = drive.exec(path)?.[0].toUpperCase() ?? share.exec(path)?.[0];
    if (found !== undefined) return found;
    return path.startsWith('/') ? current : undefined;
  }
  return path.startsWith('/') ? '' : undefined;
}

/** The names of a path, without its anchor and without the empty ones and `.`, which mean nothing. */
export function namesOf(path: string, anchor: string | undefined): string[] {
  const below = windows && anchor !== undefined && !isRooted(path) ? path.slice(anchor.length) : path;
  return below.split('/').filter((name) => name !== '' && name !== '.');
}

/** Whether a Windows path begins at the current drive without naming it, as `/temp` does. */
function isRooted(path: string): boolean {
  return path.startsWith('/') && !share.test(path);
}

/** Whether a name can stand in a path at all. */
export function isName(name: string): boolean {
  // On Windows a colon would open another stream of the same file, which no look at its name would show.
  return !name.includes('\0') && !(windows && name.includes(':'));
}

/** An absolute path in pieces. */
export function placeOf(absolute: string): Place {
  const path = slashed(absolute);
  const anchor = anchorOf(path, '') ?? '';
  return { anchor, names: namesOf(path, anchor) };
}

/** A place as one absolute path, good for the operating system too. */
export function pathOf(anchor: string, names: readonly string[]): string {
  return names.length === 0 ? `${anchor}/` : `${anchor}/${names.join('/')}`;
}

/** The part of `path` below `folder`: `''` for the folder itself, none where it does not lie there. */
export function below(folder: string, path: string): string | undefined {
  if (path === folder) return '';
  if (folder.endsWith('/')) return path.startsWith(folder) ? path.slice(folder.length) : undefined;
  return path.startsWith(folder) && path[folder.length] === '/' ? path.slice(folder.length + 1) : undefined;
}
