// Changes to settings files, applied all or not at all.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { errorCodeOf } from './inspection.js';
import { CommandError } from './workspace.js';

/** A change to a file. */
export interface Change {
  program: string | null;
  path: string;
  /** The path, as shown to people. */
  shown: string;
  /** The current content; `null` if the file does not exist. */
  before: string | null;
  /** The new content; `null` if the file is removed. */
  after: string | null;
  /** The difference, as lines. */
  diff?: string[];
}

/** Why a file cannot be written, if so. */
export function writeErrorOf({ path: file, before }: Change): string | undefined {
  try {
    let folder = path.dirname(file);
    while (!fs.existsSync(folder) && folder !== path.dirname(folder)) folder = path.dirname(folder);
    fs.rmdirSync(fs.mkdtempSync(path.join(folder, '.tollgate-')));
    // A writable folder may contain a file that is not writable.
    if (before !== null) fs.closeSync(fs.openSync(file, 'a'));
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** The content of a file, if it exists. */
export function textOf(file: string): string | null {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Applies all changes or none: everything that can fail is tried before the first file changes. */
export function writeAll(changes: Change[]): void {
  const made: string[] = [];
  let current: Change | undefined;
  try {
    for (current of changes) writeTemporary(current, made);
    replaceAll(changes, (change) => (current = change));
  } catch (error) {
    for (const { path: file } of changes) fs.rmSync(temporaryPath(file), { force: true });
    for (const folder of made.reverse()) {
      try {
        fs.rmdirSync(folder);
      } catch {
        // Another process has put something there.
      }
    }
    throw new CommandError(`\`${current?.path}\` cannot be written: ${messageOf(error)}; nothing was changed`);
  }
}

/** Writes the new content to a temporary file in the same folder. */
function writeTemporary({ path: file, before, after }: Change, made: string[]): void {
  if (textOf(file) !== before) throw new Error('it has changed since it was shown');
  if (after === null) return;
  const missing: string[] = [];
  for (let folder = path.dirname(file); !fs.existsSync(folder); folder = path.dirname(folder)) missing.push(folder);
  for (const folder of missing.reverse()) {
    fs.mkdirSync(folder);
    made.push(folder);
  }
  fs.writeFileSync(temporaryPath(file), after);
  if (before === null) return;
  fs.closeSync(fs.openSync(file, 'a'));
  fs.chmodSync(temporaryPath(file), fs.statSync(file).mode);
}

function replaceAll(changes: Change[], begin: (change: Change) => void): void {
  const done: Change[] = [];
  try {
    for (const change of changes) {
      begin(change);
      if (change.after === null) fs.rmSync(change.path);
      else fs.renameSync(temporaryPath(change.path), change.path);
      done.push(change);
    }
  } catch (error) {
    for (const { path: file, before } of done) {
      if (before === null) fs.rmSync(file, { force: true });
      else fs.writeFileSync(file, before);
    }
    throw error;
  }
}

function temporaryPath(file: string): string {
  return `${file}.tollgate-new`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
