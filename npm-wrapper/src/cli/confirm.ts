// Commands that only a person may run: they change the gate's settings, approvals, wiring or ledger.
//
// The gate decides who counts as a person; this module reports the parent processes, the environment, the terminal and the
// account, asks for confirmation on the terminal, and records the command in the ledger.
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import type { Tollgate } from '../api/index.js';
import { decodeSettings } from '../files/settings_text.js';
import { describeAncestry } from './process_ancestry.js';
import { say } from './output.js';
import { askForConfirmation, openTerminal } from './terminal.js';
import { ask, type OpenGate, CommandError } from './workspace.js';

/** The user settings, relative to the account's home folder. */
const SETTINGS = '.tollgate/config.json';

/** A larger file cannot be a settings file. */
const MAX_BYTES = 1 << 20;

/** The person who runs a command, or an account that is allowed to act for one. */
export interface Person {
  /** Asks for confirmation on the terminal, unless `--yes` was given. Prints a note if the answer is no. */
  agrees(question: string): boolean;
  /** Records the command and what it changed in the ledger; through another gate if this one has not seen the change. */
  record(changed: string[], gate?: Tollgate): void;
}

/**
 * Checks that a person runs this command, before it does anything. `command` is the command without options; `yes` says whether
 * `--yes` was given, which counts because only a person gets this far.
 */
export function requirePerson({ gate, root }: OpenGate, command: string[], yes: boolean): Person {
  const account = os.userInfo();
  const terminal = openTerminal();
  const settings = readOwnSettings(path.join(account.homedir, SETTINGS), root, account.uid);
  const seen = { ...describeAncestry(true), terminal: terminal !== undefined, ...(settings !== undefined && { settings }) };
  const { allowed, why } = ask(gate, { op: 'person', step: 'check', command, ...seen }) as { allowed: boolean; why?: string };
  if (!allowed) {
    const message = why ?? '';
    throw new CommandError(message, { error: { code: 'needs_person', message } });
  }
  return {
    agrees(question) {
      if (yes) return true;
      if (terminal === undefined)
        throw new CommandError('nothing was changed: there is no terminal to ask on; confirm with `--yes`');
      const agrees = askForConfirmation(terminal, question);
      if (!agrees) say('nothing was changed');
      return agrees;
    },
    record(changed, other = gate) {
      try {
        ask(other, { op: 'person', step: 'record', command, user: account.username, changed });
      } catch (error) {
        throw new CommandError(
          `the command succeeded, but it could not be recorded in the ledger: ${error instanceof Error ? error.message : String(error)}`,
        );
      }
    },
  };
}

/** A request that tells the gate the parent processes, so that it can refuse requests that only a person may send. */
export function ancestryReport(): object {
  return { op: 'person', step: 'look', ...describeAncestry(false) };
}

/** The text of the account's settings, unless the file is inside the workspace or others can write to it. */
function readOwnSettings(settings: string, root: string, uid: number): string | undefined {
  try {
    const file = fs.realpathSync.native(settings);
    const facts = fs.statSync(file);
    const isPrivate = process.platform === 'win32' || ((facts.uid === 0 || facts.uid === uid) && (facts.mode & 0o022) === 0);
    const isInside = !path.relative(root, file).startsWith('..') && !path.isAbsolute(path.relative(root, file));
    if (isInside || !facts.isFile() || facts.size > MAX_BYTES || !isPrivate) return undefined;
    return decodeSettings(fs.readFileSync(file));
  } catch {
    return undefined;
  }
}
