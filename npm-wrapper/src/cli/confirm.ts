// Commands that only a person may give: they change the gate, its approvals, its wiring or its ledger.
//
// The gate decides who counts as a person; this looks at the processes above, the variables, the terminal and the account, asks
// on the terminal, and has what was done entered in the ledger.
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import type { Tollgate } from '../api/index.js';
import { surroundings } from './process_ancestry.js';
import { say } from './output.js';
import { askOn, openTerminal } from './terminal.js';
import { ask, type Opened, Stop } from './workspace.js';

/** The user's own settings, below the home folder of the account. */
const SETTINGS = '.tollgate/config.json';

/** A larger file is a mistake. */
const MAX_BYTES = 1 << 20;

/** The person who gives a command, or whoever the account lets act for one. */
export interface Person {
  /** Whether they agree: asked on the terminal, unless they said yes beforehand. A no is told. */
  agrees(question: string): boolean;
  /** Has the command entered in the ledger, with what it changed; in another gate where this one has not seen the change. */
  record(changed: string[], gate?: Tollgate): void;
}

/**
 * Makes sure that a person gives a command, before anything else is done. `command` is what they typed, without options; `yes`
 * is whether `--yes` was among those, which counts because somebody who may say it has been found.
 */
export function requirePerson({ gate, root }: Opened, command: string[], yes: boolean): Person {
  const account = os.userInfo();
  const terminal = openTerminal();
  const isUnattended = saysUnattended(path.join(account.homedir, SETTINGS), root, account.uid);
  const seen = { ...surroundings(true), terminal: terminal !== undefined, unattended: isUnattended };
  const { allowed, why } = ask(gate, { op: 'person', step: 'check', command, ...seen }) as { allowed: boolean; why?: string };
  if (!allowed) {
    const message = why ?? '';
    throw new Stop(message, { error: { code: 'needs_person', message } });
  }
  return {
    agrees(question) {
      if (yes) return true;
      if (terminal === undefined) throw new Stop('nothing was changed: there is no terminal to ask on; say yes with `--yes`');
      const agrees = askOn(terminal, question);
      if (!agrees) say('nothing was changed');
      return agrees;
    },
    record(changed, other = gate) {
      try {
        ask(other, { op: 'person', step: 'record', command, user: account.username, changed });
      } catch (error) {
        throw new Stop(
          `it is done, but the ledger does not know of it: ${error instanceof Error ? error.message : String(error)}`,
        );
      }
    },
  };
}

/** Tells the gate who stands above this process, so that it can refuse what only a person may send. */
export function lookAround(gate: Tollgate): void {
  gate.perform({ op: 'person', step: 'look', ...surroundings(false) });
}

/**
 * Whether the account's own settings say that nobody is there to be asked. A file that stands in the workspace, or that others
 * may write to, does not count.
 */
function saysUnattended(settings: string, root: string, uid: number): boolean {
  try {
    const file = fs.realpathSync.native(settings);
    const facts = fs.statSync(file);
    const isPrivate = process.platform === 'win32' || ((facts.uid === 0 || facts.uid === uid) && (facts.mode & 0o022) === 0);
    const isInside = !path.relative(root, file).startsWith('..') && !path.isAbsolute(path.relative(root, file));
    if (isInside || !facts.isFile() || facts.size > MAX_BYTES || !isPrivate) return false;
    return (JSON.parse(fs.readFileSync(file, 'utf8')) as { unattended?: unknown } | null)?.unattended === true;
  } catch {
    return false;
  }
}
