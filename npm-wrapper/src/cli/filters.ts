// Which entries of the ledger are asked for.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type Answer, Stop } from './workspace.js';

/** The options that choose entries. */
export const FILTERS = {
  intent: { type: 'string' },
  file: { type: 'string' },
  session: { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
} as const;

/** What was chosen. */
export type Filters = Partial<Record<keyof typeof FILTERS, string>>;

/** The fields of a question to the gate about the workspace at `root`. */
export function questionOf(op: string, { file, ...filters }: Filters, root: string): Answer {
  const chosen = Object.keys(FILTERS).flatMap((name) => {
    const value = filters[name as Exclude<keyof Filters, 'file'>];
    return value === undefined ? [] : [[name, value]];
  });
  const meant = file === undefined ? undefined : inWorkspace(file, root, process.cwd());
  return { op, ...Object.fromEntries(chosen), ...(meant === undefined ? {} : { file: meant }) };
}

/** Whether it does not say that it begins here. */
export function isFromWorkspace(given: string): boolean {
  return !/^\.\.?($|\/)/.test(given);
}

/** A path or glob as the ledger spells it; none where it is the whole workspace. */
function inWorkspace(given: string, root: string, here: string): string | undefined {
  const meant = path.resolve(isFromWorkspace(given) ? root : here, given);
  // The ledger names files by where they are, not by the links that lead there.
  const real = fs.existsSync(meant) ? fs.realpathSync.native(meant) : meant;
  const isFolder = given.endsWith('/') || (fs.statSync(real, { throwIfNoEntry: false })?.isDirectory() ?? false);
  const inside = [real, meant]
    .map((file) => path.relative(root, file))
    .find((file) => !file.startsWith('..') && !path.isAbsolute(file));
  if (inside === undefined) throw new Stop(`\`${given}\` is not in the workspace \`${root}\``);
  if (inside === '') return undefined;
  const spelled = inside.split(path.sep).join('/');
  return isFolder ? `${spelled}/**` : spelled;
}
