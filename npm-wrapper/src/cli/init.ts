// `tollgate init`: connects the agent programs in use to the gate after a person has reviewed the changes, and undoes that.
//
// The gate plans the changes; this command reads files, asks for confirmation and writes files.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { makeState, stateFolder, stateOf } from '../files/state.js';
import { findConfiner } from '../programs/confining.js';
import { withSlashes } from '../files/path.js';
import { inspect, findOnPath, environmentOf, realOf, searchPath, type Inspection } from './inspection.js';
import { type Change, writeErrorOf, textOf, writeAll } from './change.js';
import { requirePerson } from './confirm.js';
import { escape, say } from './output.js';
import { type Answer, ask, withGate, type OpenGate, CommandError, unexpectedAnswer } from './workspace.js';

const USAGE = `Usage: tollgate init [--host NAME]… [--scope workspace|user] [--yes] [--workspace DIR] [--home DIR] [--state DIR] [--json]
       tollgate init --undo [--yes]

  --host NAME   Set up this program; can be repeated [default: those in use]
  --scope       Which settings to write: the workspace's, which a team can commit, or the user's, which apply to every folder
  --undo        Undo what an earlier run changed in this workspace
  --yes         Confirm in advance; a terminal is still required`;

/** How often a new plan is requested because a file is not writable. */
const MAX_PLANS = 20;

const LEDGER = '.orchestration/agent_trace.jsonl';

/** The receipt for what was changed in a workspace, in its state folder. */
const RECEIPT = 'init.json';

interface Plan {
  programs: string[];
  changes: Change[];
  notes: string[];
  problems: { program: string | null; message: string }[];
  receipt: string | null;
}

interface UndoPlan {
  steps: { words: string; path: string; shown: string; change: Change | null }[];
  folders: string[];
  notes: string[];
}

interface InitOptions {
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
  return withGate(
    args,
    OPTIONS,
    USAGE,
    (opened, words, given) => {
      const values = given as unknown as InitOptions;
      if (words.length > 0) throw new CommandError(`invalid arguments\n${USAGE}`);
      if (values.undo !== true) return init(opened, values);
      if (values.host !== undefined || values.scope !== undefined)
        throw new CommandError('--undo takes neither --host nor --scope');
      return undo(opened, values);
    },
    { here: true },
  );
}

function init(opened: OpenGate, values: InitOptions): boolean {
  const person = requirePerson(opened, ['init'], values.yes === true);
  const receipts = new Receipts(opened.root, values);
  const command = hookCommand();
  const question = { op: 'wiring', place: environmentOf(opened, values.home), programs: values.host ?? [] };
  const seen = inspect(opened, question);
  const { own, others } = receipts;
  const scope = values.scope ?? null;
  // The script of this package cannot confine commands.
  const { program } = findConfiner(searchPath().split(path.delimiter), opened.root);
  const confiner = program === undefined ? null : withSlashes(program);
  const plan = planOf(opened, { ...question, do: 'plan', scope, run_as: command, confiner, receipt: own ?? null, others }, seen);
  for (const { message } of plan.problems) say(message);
  if (command !== 'tollgate') {
    say('`tollgate` is not on the search path, or another program has that name, so the hooks use the full path of this program');
    if (/[\\/]_npx[\\/]/.test(command))
      say('npm may remove that path; run `npm install --global tollgate` and `tollgate init` again to keep it');
  }
  if (plan.changes.length > 0) {
    for (const change of plan.changes) show(opened, change);
    const these = plan.changes.length === 1 ? 'this file' : `these ${plan.changes.length} files`;
    if (!person.agrees(`write ${these}?`)) return false;
  }
  receipts.keep(plan.receipt, plan.changes);
  // A new gate, because this one has not seen the folder that makes the workspace governed.
  if (plan.changes.length > 0)
    person.record(
      plan.changes.map(({ shown }) => shown),
      opened.reopen(),
    );
  reportResult(opened, plan);
  if (plan.problems.length > 0)
    throw new CommandError(`not everything was set up: ${plan.problems.map(({ message }) => message).join('; ')}`);
  return true;
}

/** Requests a plan that leaves out files that cannot be written. */
function planOf({ gate }: OpenGate, question: Answer, seen: Inspection): Plan {
  const files = { ...seen.files };
  for (let round = 0; round < MAX_PLANS; round++) {
    const plan = ask(gate, { ...question, seen: { ...seen, files } }) as unknown as Plan;
    const faults = plan.changes.flatMap((change) => {
      const why = writeErrorOf(change);
      return why === undefined ? [] : [[change.path, why] as const];
    });
    if (faults.length === 0) return plan;
    for (const [file, why] of faults) {
      const names = Object.keys(files).filter((name) => name === file || seen.links[name] === file);
      for (const name of [...names, file]) files[name] = { fault: `it cannot be written: ${why}` };
    }
  }
  throw unexpectedAnswer(question);
}

/** The command for hooks: `tollgate` if the shell finds this program under that name, otherwise its path. */
function hookCommand(): string {
  const own = realOf(process.argv[1] ?? '');
  const found = findOnPath('tollgate');
  return found !== undefined && realOf(found) === own ? 'tollgate' : own;
}

function show({ json, output }: OpenGate, { before, shown, diff }: Change): void {
  const print = json ? (line: string) => void process.stderr.write(`${line}\n`) : output.line;
  print(output.paint('bold', `${escape(shown)} (${before === null ? 'new file' : 'change'})`));
  for (const line of diff ?? []) {
    const style = line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : 'dim';
    print(`  ${output.paint(style, escape(line).trimEnd())}`);
  }
}

function reportResult({ json, output }: OpenGate, { programs, changes, notes, problems }: Plan): void {
  if (json) {
    const files = changes.map(({ program, shown, before }) => ({ host: program, path: shown, made: before === null }));
    return output.line(JSON.stringify({ hosts: programs, files, notes, problems }));
  }
  for (const note of notes) output.line(escape(note));
  if (changes.length > 0) output.line('done; check it with `tollgate doctor`, undo it with `tollgate init --undo`');
  else output.line(problems.length === 0 ? 'everything is set up already' : 'nothing else to do');
}

function undo(opened: OpenGate, values: InitOptions): boolean {
  const person = requirePerson(opened, ['init', '--undo'], values.yes === true);
  const receipts = new Receipts(opened.root, values);
  if (receipts.own === undefined) {
    say('there is nothing to undo: `tollgate init` has not been run here');
    return true;
  }
  const place = environmentOf(opened, values.home);
  const question = { op: 'wiring', do: 'undo', place, receipt: receipts.own, others: receipts.others };
  const { steps, folders, notes } = ask(opened.gate, { ...question, seen: inspect(opened, question) }) as unknown as UndoPlan;
  for (const { words, shown } of steps) {
    const line = `${words}: ${escape(shown)}`;
    if (opened.json) process.stderr.write(`${line}\n`);
    else opened.output.line(line);
  }
  if (!person.agrees('undo this?')) return false;
  writeAll(steps.flatMap(({ change }) => (change === null ? [] : [change])));
  person.record(steps.map(({ shown }) => shown));
  receipts.forget();
  // Only empty folders are removed.
  for (const folder of folders) {
    try {
      fs.rmdirSync(folder);
    } catch {
      // The folder is not empty or does not exist.
    }
  }
  notes.forEach(say);
  const files = steps.map(({ words, shown }) => ({ path: shown, what: words }));
  opened.output.line(opened.json ? JSON.stringify({ files, notes }) : undoneMessage(opened.root));
  return true;
}

/** The last message: the ledger records both commands, so it is kept. */
function undoneMessage(root: string): string {
  return fs.existsSync(path.join(root, LEDGER)) ? `undone; the ledger is kept: ${LEDGER}` : 'undone';
}

/** The receipts of this and other workspaces. */
class Receipts {
  readonly #folder: string;
  readonly #workspace: string;

  constructor(workspace: string, { home, state }: InitOptions) {
    this.#workspace = workspace;
    this.#folder = stateOf(workspace, stateFolder(home, state));
  }

  /** The receipt of this workspace, if there is one. */
  get own(): string | undefined {
    return textOf(`${this.#folder}/${RECEIPT}`) ?? undefined;
  }

  /** The receipts of other workspaces. */
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

  /** Applies changes and writes the receipt for them. */
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
