import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';

/** The native program is larger than this; the script of this package is not. */
const MIN_BYTES = 1 << 20;

/** It says at once whether it can. */
const MAX_MS = 2_000;

const NAME = process.platform === 'win32' ? 'tollgate.exe' : 'tollgate';

let known: { program: string | undefined } | undefined;

/**
 * Whether commands can be confined here: Node itself cannot restrict a process, the native `tollgate` can, where it is installed and the
 * system lets it. Asked once, because the answer does not change.
 */
export function canConfine(folders: readonly string[]): boolean {
  return confinerOf(folders) !== undefined;
}

/** The native program that confines commands, in one of these folders; none where it is not there or the system does not let it. */
export function confinerOf(folders: readonly string[]): string | undefined {
  known ??= { program: ask(folders) };
  return known.program;
}

function ask(folders: readonly string[]): string | undefined {
  const native = folders
    .filter((folder) => path.isAbsolute(folder))
    .map((folder) => path.join(folder, NAME))
    .find(isNative);
  if (native === undefined) return undefined;
  const { status } = spawnSync(native, ['confine', '--check'], { stdio: 'ignore', timeout: MAX_MS, windowsHide: true });
  return status === 0 ? native : undefined;
}

function isNative(file: string): boolean {
  try {
    const found = fs.statSync(file);
    return found.isFile() && found.size >= MIN_BYTES;
  } catch {
    return false;
  }
}
