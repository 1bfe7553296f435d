// `tollgate init`: wires the agent programs in use to the gate, once a person has seen how, and takes it back.
//
// The gate plans; here files are read, a person is asked, and files are written.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { makeState, stateFolder, stateOf } from '../files/state.js';
import { confinerOf } from '../programs/confining.js';
import { slashed } from '../files/path.js';
import { look, onPath, placeOf, realOf, searchPath, type Seen } from './inspection.js';
import { type Change, obstacleOf, textOf, writeAll } from './change.js';
import { requirePerson } from './confirm.js';
import { plain, say } from './output.js';
import { type Answer, ask, onGate, type Opened, Stop, strange } from './workspace.js';

const USAGE = `Usage: tollgate init [--host NAME]… [--scope workspace|user] [--yes] [--workspace DIR] [--home DIR] [--state DIR] [--json]
       tollgate init --undo [--yes]

  --host NAME   Wire this program; may be repeated; those in use where none is named
  --scope       Whose settings to write: the workspace's, which a team can commit, or the user's own, which count in every folder
  --undo        Take back what an earlier run did in this workspace
  --yes         Say yes beforehand; it takes a terminal even so`;

/** How often a plan is made anew because a file turned out not to be writable. */
const MAX_PLANS = 20;

const LEDGER = '.orchestration/agent_trace.jsonl';

/** What was done in a workspace, in its state folder. */
const RECEIPT = 'init.json';

interface Plan {
  programs: string[];
  changes: Change[];
  notes: string[];
  problems: { program: string | null; message: string }[];
  receipt: string | null;
}

interface Undo {
  steps: { words: string; path: string; shown: string; change: Change | null }[];
  folders: string[];
  notes: string[];
}

interface Values {
  host?: string[];
  scope?: string;
  undo?: boolean;
  yes?: boolean;
  home?: string;
  state?: string;
}

const OPTIONS = {
  host: { type: 'string', multiple: true },
  scope: { type: 'string' },
  undo: { type: 'boolean' },
  yes: { type: 'boolean', short: 'y' },
} as const;

export function main(args: string[]): Promise<number> {
  return onGate(
    args,
    OPTIONS,
    USAGE,
    (opened, words, given) => {
      const values = given as unknown as Values;
      if (words.length > 0) throw new Stop(`that cannot be understood\n${USAGE}`);
      if (values.undo !== true) return init(opened, values);
      if (values.host !== undefined || values.scope !== undefined) throw new Stop('--undo takes neither --host nor --scope');
      return undo(opened, values);
    },
    true,
  );
}

function init(opened: Opened, values: Values): boolean {
  const person = requirePerson(opened, ['init'], values.yes === true);
  const receipts = new Receipts(opened.root, values);
  const command = commandOf();
  const question = { op: 'wiring', place: placeOf(opened, values.home), programs: values.host ?? [] };
  const seen = look(opened, question);
  const { own, others } = receipts;
  const scope = values.scope ?? null;
  // This package's own script cannot confine.
  const found = confinerOf(searchPath().split(path.delimiter));
  const confiner = found === undefined ? null : slashed(found);
  const plan = planOf(opened, { ...question, do: 'plan', scope, run_as: command, confiner, receipt: own ?? null, others }, seen);
  for (const { message } of plan.problems) say(message);
  if (command !== 'tollgate') {
    say('`tollgate` is not on the search path, or is another one there, so the hooks name this program by its path');
    if (/[\\/]_npx[\\/]/.test(command))
      say('npm may clear that path away; `npm install --global tollgate`, then `tollgate init` again, keeps it');
  }
  if (plan.changes.length > 0) {
    for (const change of plan.changes) show(opened, change);
    const these = plan.changes.length === 1 ? 'this file' : `these ${plan.changes.length} files`;
    if (!person.agrees(`write ${these}?`)) return false;
  }
  receipts.keep(plan.receipt, plan.changes);
  // Another gate: this one has not seen the folder that governs from now on.
  if (plan.changes.length > 0)
    person.record(
      plan.changes.map(({ shown }) => shown),
      opened.reopen(),
    );
  tell(opened, plan);
  if (plan.problems.length > 0)
    throw new Stop(`not everything was set up: ${plan.problems.map(({ message }) => message).join('; ')}`);
  return true;
}

/** The gate's plan, without the files that cannot be written. */
function planOf({ gate }: Opened, question: Answer, seen: Seen): Plan {
  const files = { ...seen.files };
  for (let round = 0; round < MAX_PLANS; round++) {
    const plan = ask(gate, { ...question, seen: { ...seen, files } }) as unknown as Plan;
    const faults = plan.changes.flatMap((change) => {
      const why = obstacleOf(change);
      return why === undefined ? [] : [[change.path, why] as const];
    });
    if (faults.length === 0) return plan;
    for (const [file, why] of faults) {
      const names = Object.keys(files).filter((name) => name === file || seen.links[name] === file);
      for (const name of [...names, file]) files[name] = { fault: `it cannot be written: ${why}` };
    }
  }
  throw strange(question);
}

/** What hooks call: the name, where the shell finds this very program under it, else its path. */
function commandOf(): string {
  const own = realOf(process.argv[1] ?? '');
  const found = onPath('tollgate');
  return found !== undefined && realOf(found) === own ? 'tollgate' : own;
}

function show({ json, screen }: Opened, { before, shown, diff }: Change): void {
  const print = json ? (line: string) => void process.stderr.write(`${line}\n`) : screen.line;
  print(screen.paint('bold', `${plain(shown)} (${before === null ? 'new file' : 'change'})`));
  for (const line of diff ?? []) {
    const style = line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : 'dim';
    print(`  ${screen.paint(style, plain(line).trimEnd())}`);
  }
}

function tell({ json, screen }: Opened, { programs, changes, notes, problems }: Plan): void {
  if (json) {
    const files = changes.map(({ program, shown, before }) => ({ host: program, path: shown, made: before === null }));
    return screen.line(JSON.stringify({ hosts: programs, files, notes, problems }));
  }
  for (const note of notes) screen.line(plain(note));
  if (changes.length > 0) screen.line('done; `tollgate doctor` proves that it works, `tollgate init --undo` takes it back');
  else screen.line(problems.length === 0 ? 'everything is set up already' : 'nothing else is to do');
}

function undo(opened: Opened, values: Values): boolean {
  const person = requirePerson(opened, ['init', '--undo'], values.yes === true);
  const receipts = new Receipts(opened.root, values);
  if (receipts.own === undefined) {
    say('there is nothing to take back: `tollgate init` has not been run here');
    return true;
  }
  const place = placeOf(opened, values.home);
  const question = { op: 'wiring', do: 'undo', place, receipt: receipts.own, others: receipts.others };
  const { steps, folders, notes } = ask(opened.gate, { ...question, seen: look(opened, question) }) as unknown as Undo;
  for (const { words, shown } of steps) {
    const line = `${words}: ${plain(shown)}`;
    if (opened.json) process.stderr.write(`${line}\n`);
    else opened.screen.line(line);
  }
  if (!person.agrees('take this back?')) return false;
  writeAll(steps.flatMap(({ change }) => (change === null ? [] : [change])));
  person.record(steps.map(({ shown }) => shown));
  receipts.forget();
  // Only empty ones go.
  for (const folder of folders) {
    try {
      fs.rmdirSync(folder);
    } catch {
      // Something is left in it, or it is gone.
    }
  }
  notes.forEach(say);
  const files = steps.map(({ words, shown }) => ({ path: shown, what: words }));
  opened.screen.line(opened.json ? JSON.stringify({ files, notes }) : takenBack(opened.root));
  return true;
}

/** What is said at the end: the ledger has both commands, so it stays. */
function takenBack(root: string): string {
  return fs.existsSync(path.join(root, LEDGER)) ? `taken back; the ledger stays: ${LEDGER}` : 'taken back';
}

/** What was done in this workspace and in others. */
class Receipts {
  readonly #folder: string;
  readonly #workspace: string;

  constructor(workspace: string, { home, state }: Values) {
    this.#workspace = workspace;
    this.#folder = stateOf(workspace, stateFolder(home, state));
  }

  /** This workspace's, where there is one. */
  get own(): string | undefined {
    return textOf(`${this.#folder}/${RECEIPT}`) ?? undefined;
  }

  /** Those of other workspaces. */
  get others(): string[] {
    const all = path.dirname(this.#folder);
    const names = fs.existsSync(all) ? fs.readdirSync(all) : [];
    const folders = names.map((name) => `${all}/${name}`).filter((folder) => folder !== this.#folder);
    return folders.flatMap((folder) => {
      try {
        return textOf(`${folder}/${RECEIPT}`) ?? [];
      } catch {
        return [];
      }
    });
  }

  /** Writes the changes, and the receipt for all that has been done. */
  keep(receipt: string | null, changes: Change[]): void {
    const before = this.own ?? null;
    if (receipt === null || (changes.length === 0 && before === receipt)) return;
    makeState(this.#folder, this.#workspace);
    const file = `${this.#folder}/${RECEIPT}`;
    writeAll([{ program: null, path: file, shown: file, before, after: receipt }, ...changes]);
  }

  forget(): void {
    fs.rmSync(`${this.#folder}/${RECEIPT}`);
  }
}
