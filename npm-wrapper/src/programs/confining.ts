// Finds the native program that confines commands.
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { relativePath, withSlashes } from '../files/path.js';

/** The native program is larger than this, unlike the script of this package. */
const MIN_BYTES = 1 << 20;

/** It answers immediately. */
const MAX_MS = 2_000;

const NAME = process.platform === 'win32' ? 'tollgate.exe' : 'tollgate';

/** The native program, or why there is none that can confine commands. */
export interface Confiner {
  program?: string;
  why?: string;
}

/** By path, why a program cannot confine commands; `undefined` if it can. The answer does not change. */
const checkResults = new Map<string, string | undefined>();

/**
 * Finds the native program that confines commands, because Node itself cannot restrict a process. There is none if it is not in
 * these folders, is in the workspace, or the system does not support it.
 */
export function findConfiner(folders: readonly string[], workspace: string): Confiner {
  const program = nativeProgram(folders, workspace);
  if (program === undefined) return {};
  if (!checkResults.has(program)) checkResults.set(program, checkConfinement(program));
  const why = checkResults.get(program);
  return why === undefined ? { program } : { why };
}

/** The native program in one of these folders, unless it is in the workspace. */
export function nativeProgram(folders: readonly string[], workspace: string): string | undefined {
  return folders
    .filter((folder) => path.isAbsolute(folder))
    .map((folder) => path.join(folder, NAME))
    .find((file) => isNativeProgram(file) && !isInside(file, workspace));
}

function checkConfinement(program: string): string | undefined {
  const said = spawnSync(program, ['confine', '--check'], { encoding: 'utf8', timeout: MAX_MS, windowsHide: true });
  if (said.status === 0) return undefined;
  return said.stdout?.trim().replace(/^commands cannot be confined: /, '') || `\`${program} confine --check\` fails`;
}

function isInside(file: string, workspace: string): boolean {
  return relativePath(workspace, withSlashes(fs.realpathSync.native(file))) !== undefined;
}

function isNativeProgram(file: string): boolean {
  try {
    const found = fs.statSync(file);
    return found.isFile() && found.size >= MIN_BYTES;
  } catch {
    return false;
  }
}
