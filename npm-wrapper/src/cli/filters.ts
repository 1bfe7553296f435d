// Options that select ledger entries.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type Answer, CommandError } from './workspace.js';

/** Options that select entries. */
export const FILTERS = {
  intent: { type: 'string' },
  file: { type: 'string' },
  session: { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
} as const;

/** The values of the options. */
export type Filters = Partial<Record<keyof typeof FILTERS, string>>;

/** The fields of a request about the workspace at `root`. */
export function questionOf(op: string, { file, ...filters }: Filters, root: string): Answer {
  const chosen = Object.keys(FILTERS).flatMap((name) => {
    const value = filters[name as Exclude<keyof Filters, 'file'>];
    return value === undefined ? [] : [[name, value]];
  });
  const meant = file === undefined ? undefined : workspacePattern(file, root, process.cwd());
  return { op, ...Object.fromEntries(chosen), ...(meant === undefined ? {} : { file: meant }) };
}

/** Whether a path is relative to the workspace rather than to the current folder. */
export function isWorkspaceRelative(given: string): boolean {
  return !/^\.\.?($|\/)/.test(given);
}

/** A path or glob as the ledger spells it; `undefined` for the whole workspace. */
function workspacePattern(given: string, root: string, here: string): string | undefined {
  const meant = path.resolve(isWorkspaceRelative(given) ? root : here, given);
  // The ledger contains canonical paths, without links.
  const real = fs.existsSync(meant) ? fs.realpathSync.native(meant) : meant;
  const isFolder = given.endsWith('/') || (fs.statSync(real, { throwIfNoEntry: false })?.isDirectory() ?? false);
  const inside = [real, meant]
    .map((file) => path.relative(root, file))
    .find((file) => !file.startsWith('..') && !path.isAbsolute(file));
  if (inside === undefined) throw new CommandError(`\`${given}\` is not in the workspace \`${root}\``);
  if (inside === '') return undefined;
  const spelled = inside.split(path.sep).join('/');
  return isFolder ? `${spelled}/**` : spelled;
}
