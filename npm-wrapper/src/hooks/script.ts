// Copies an approved script to a private folder.
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { ScriptCopy as CopyOrder } from '../../generated/interfaces/tollgate-hooks-engine.js';
import { readBytes, withFile } from '../files/content.js';
import { addExitCleanup } from '../programs/process.js';
import type { Roots } from '../files/roots.js';

/** The size limit of a copy, which is more than can be approved. */
const MAX_BYTES = 64n << 20n;

/** The name prefix of copies. */
const PREFIX = 'tollgate-run-';

/** No run takes longer than this; an older folder was left by a killed process. */
const MAX_COPY_AGE_MS = 2 * 86_400_000;

/** A copy in a folder that only the user can access. */
export interface PrivateCopy {
  /** The arguments, referring to the copy. */
  argv: string[];
  discard: () => void;
}

/**
 * Makes a private copy of a script of the workspace and the files that it needs.
 *
 * Each file is read once, so the bytes that are written are those that were hashed: what was checked is what runs, even if
 * another process writes to the workspace in the meantime.
 *
 * @returns the path of a file that is not the approved one, if any
 */
export function copyScript(roots: Roots, order: CopyOrder, argv: readonly string[]): PrivateCopy | { changed: string } {
  const folder = createPrivateFolder(order.folders);
  const remove = () => fs.rmSync(folder, { recursive: true, force: true });
  const removeCleanup = addExitCleanup(remove);
  const discard = () => {
    removeCleanup();
    remove();
  };
  try {
    let left = MAX_BYTES;
    for (const file of order.files) {
      const bytes = readWorkspaceFile(roots, file.path, left);
      if (bytes === undefined || `sha256:${createHash('sha256').update(bytes).digest('hex')}` !== file.digest) {
        discard();
        return { changed: file.path };
      }
      left -= BigInt(bytes.byteLength);
      writeCopiedFile(folder, file.path, bytes);
    }
    const redirected = [...argv];
    for (const { index, path: file } of order.arguments) redirected[index] = path.join(folder, file);
    return { argv: redirected, discard };
  } catch (error) {
    discard();
    throw error;
  }
}

/** Creates a private folder in the first of these folders where that is possible. */
function createPrivateFolder(folders: readonly string[]): string {
  let why = 'the gate named no folder for it';
  for (const folder of folders) {
    try {
      fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
      removeStaleCopies(folder);
      return fs.mkdtempSync(path.join(folder, PREFIX));
    } catch (error) {
      why = `\`${folder}\` cannot be used for it: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
  throw new Error(`the script cannot be copied: ${why}; set TMPDIR to another folder`);
}

/** Removes copies that killed processes left behind. */
function removeStaleCopies(folder: string): void {
  for (const name of fs.readdirSync(folder)) {
    if (!name.startsWith(PREFIX)) continue;
    const left = path.join(folder, name);
    const stats = fs.lstatSync(left, { throwIfNoEntry: false });
    if (stats !== undefined && Date.now() - stats.mtimeMs > MAX_COPY_AGE_MS) fs.rmSync(left, { recursive: true, force: true });
  }
}

/** Writes a file below the folder of the copy, and nowhere else. */
function writeCopiedFile(folder: string, file: string, bytes: Uint8Array): void {
  const names = file.split('/');
  if (path.isAbsolute(file) || names.some((name) => name === '' || name === '.' || name === '..')) {
    throw new Error(`\`${file}\` cannot be copied: its path leads out of the copy`);
  }
  const target = path.join(folder, ...names);
  fs.mkdirSync(path.dirname(target), { recursive: true, mode: 0o700 });
  // Synchronous: a program that another thread starts in the meantime would inherit the open file, and the operating system
  // refuses to run a file that is open for writing.
  fs.writeFileSync(target, bytes, { mode: 0o500, flag: 'wx' });
}

/** The content of a file; `undefined` if there is no such file in the workspace. */
function readWorkspaceFile(roots: Roots, file: string, limit: bigint): Uint8Array | undefined {
  const { real } = roots.resolve('project', file);
  if (real === undefined || !roots.isInProject(real)) return undefined;
  try {
    return withFile(real, (descriptor, size) => (size > limit ? undefined : readBytes(descriptor, 0n, size)));
  } catch {
    return undefined;
  }
}
