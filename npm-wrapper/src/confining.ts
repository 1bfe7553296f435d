import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';

/** The native program is larger than this; the script of this package is not. */
const MIN_BYTES = 1 << 20;

/** It says at once whether it can. */
const MAX_MS = 2_000;

const NAME = process.platform === 'win32' ? 'tollgate.exe' : 'tollgate';

let known: boolean | undefined;

/**
 * Whether commands can be confined here: Node itself cannot restrict a process, the native `tollgate` can, where it is installed and the
 * system lets it. Asked once, because the answer does not change.
 */
export function canConfine(folders: readonly string[]): boolean {
  known ??= ask(folders);
  return known;
}

function ask(folders: readonly string[]): boolean {
  const native = folders.map((folder) => path.join(folder, NAME)).find(isNative);
  if (native === undefined) return false;
  return spawnSync(native, ['confine', '--check'], { stdio: 'ignore', timeout: MAX_MS, windowsHide: true }).status === 0;
}

function isNative(file: string): boolean {
  try {
    const found = fs.statSync(file);
    return found.isFile() && found.size >= MIN_BYTES;
  } catch {
    return false;
  }
}
