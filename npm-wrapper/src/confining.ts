import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { below, slashed } from './path.js';

/** The native program is larger than this; the script of this package is not. */
const MIN_BYTES = 1 << 20;

/** It says at once whether it can. */
const MAX_MS = 2_000;

const NAME = process.platform === 'win32' ? 'tollgate.exe' : 'tollgate';

/** Whether programs can confine commands, by their paths. The answer does not change. */
const able = new Map<string, boolean>();

/**
 * The native program that confines commands: Node itself cannot restrict a process. None where it is in none of these folders, lies in the
 * workspace, or the system does not let it.
 */
export function confinerOf(folders: readonly string[], workspace: string): string | undefined {
  const native = folders
    .filter((folder) => path.isAbsolute(folder))
    .map((folder) => path.join(folder, NAME))
    .find((file) => isNative(file) && !liesIn(file, workspace));
  return native !== undefined && isAble(native) ? native : undefined;
}

function isAble(program: string): boolean {
  const known = able.get(program);
  if (known !== undefined) return known;
  const { status } = spawnSync(program, ['confine', '--check'], { stdio: 'ignore', timeout: MAX_MS, windowsHide: true });
  able.set(program, status === 0);
  return status === 0;
}

function liesIn(file: string, workspace: string): boolean {
  return below(workspace, slashed(fs.realpathSync.native(file))) !== undefined;
}

function isNative(file: string): boolean {
  try {
    const found = fs.statSync(file);
    return found.isFile() && found.size >= MIN_BYTES;
  } catch {
    return false;
  }
}
