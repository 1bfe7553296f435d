// `tollgate doctor`: whether the gate is really asked.
//
// A hook that is written down is not a hook that works, so each program's hook is run as the program would run it, with a call
// that must be denied. The gate says what to run and what the answers mean.
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { digest, version } from '../api/index.js';
import { slashed, windows } from '../files/path.js';
import { stateFolder, stateOf } from '../files/state.js';
import { codeOf, look, placeOf, realOf, searchPath } from './inspection.js';
import { type Cell, count, plain, type Style } from './output.js';
import { type Answer, ask, onGate, type Opened, Stop } from './workspace.js';

const USAGE = 'Usage: tollgate doctor [--workspace DIR] [--home DIR] [--state DIR] [--json]';

/** How long a trial may take. A program would wait longer; a person should not. */
const PATIENCE_MS = 10_000;

interface Trial {
  id: string;
  shell: string | null;
  words: string[];
  stdin: string;
  folder: string;
  file: { path: string; text: string } | null;
  variables: Record<string, string>;
}

interface Judged {
  ok: boolean;
  workspace: { governed: boolean; open_intents: number };
  faults: string[];
  notes: string[];
  hosts: { host: string; title: string; state: string; tools: string; settings: string | null; remarks: string[] }[];
}

export function main(args: string[]): Promise<number> {
  return onGate(
    args,
    {},
    USAGE,
    (opened, words, given) => {
      if (words.length > 0) throw new Stop(`that cannot be understood\n${USAGE}`);
      return examine(opened, (given as { home?: string }).home);
    },
    true,
  );
}

async function examine(opened: Opened, home: string | undefined): Promise<boolean> {
  const question = { op: 'wiring', do: 'examine', place: placeOf(opened, home) };
  const seen = look(opened, question);
  const outcomes = inTrialFolder(home, (folder) => {
    const { files, trials } = ask(opened.gate, { ...question, seen, trial_folder: folder }) as unknown as {
      files: Trial['file'][];
      trials: Trial[];
    };
    for (const file of [...files, ...trials.map((trial) => trial.file)]) {
      if (file === null) continue;
      if (!file.path.startsWith(`${folder}/`)) throw new Stop(`\`${file.path}\` is not in the folder for trials`);
      fs.mkdirSync(path.dirname(file.path), { recursive: true });
      fs.writeFileSync(file.path, file.text);
    }
    return trials.map(run);
  });
  // Whether hooks may run depends on the machine, which is told to the gate where hooks are.
  const line = JSON.stringify({ ...question, do: 'judge', seen, outcomes, digest });
  const answer = JSON.parse(await opened.gate.hooks.perform(line)) as Answer;
  if (answer.error !== undefined) throw new Stop((answer.error as { message: string }).message, answer);
  const judged = answer as unknown as Judged;
  if (opened.json) opened.screen.line(JSON.stringify({ ...judged, version, digest }));
  else print(opened, judged);
  return judged.ok;
}

/** A folder that is taken away again, with what the gate remembers of it. */
function inTrialFolder<T>(home: string | undefined, use: (folder: string) => T): T {
  const folder = slashed(fs.mkdtempSync(path.join(realOf(os.tmpdir()), 'tollgate-doctor-')));
  try {
    return use(folder);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
    // The hooks are run as a program would, and so with the user's own state folder.
    fs.rmSync(stateOf(folder, stateFolder(home, undefined)), { recursive: true, force: true });
  }
}

function run({ id, shell, words, stdin, folder, variables }: Trial): Answer {
  const [program, ...args] = shell === null ? words : windows ? ['cmd', '/C', shell] : ['sh', '-c', shell];
  const env = { ...process.env, PATH: searchPath(), ...variables };
  const ran = spawnSync(program ?? '', args, {
    cwd: folder,
    env,
    input: stdin,
    encoding: 'utf8',
    timeout: PATIENCE_MS,
    maxBuffer: 1 << 20,
  });
  const fault = ran.error === undefined ? undefined : codeOf(ran.error);
  // A command that reads nothing closes its end.
  if (ran.error === undefined || fault === 'EPIPE') return { id, stdout: ran.stdout, stderr: ran.stderr, code: ran.status };
  return {
    id,
    fault:
      fault === 'ETIMEDOUT'
        ? `the command did not answer within ${PATIENCE_MS / 1000} seconds`
        : `the command cannot be run: ${ran.error.message}`,
  };
}

function print({ screen }: Opened, { workspace, faults, notes, hosts }: Judged): void {
  const styles: Record<string, Style> = { live: 'green', 'live in part': 'yellow', 'installed, not proven': 'yellow' };
  const titles = ['HOST', 'STATE', 'TOOLS', 'SETTINGS'].map((title): Cell => [title, 'bold']);
  const rows = hosts.map(({ title, state, tools, settings }): Cell[] => [
    [title],
    [state, styles[state] ?? 'red'],
    [tools],
    [settings ?? '-'],
  ]);
  if (hosts.length === 0) screen.line('no agent program is in use here; `tollgate init --host NAME` wires one');
  else screen.rows([titles, ...rows]).forEach(screen.line);
  for (const { title, remarks } of hosts) for (const remark of remarks) screen.line(`${title}: ${plain(remark)}`);
  const { governed, open_intents: open } = workspace;
  screen.line(`workspace: ${governed ? `governed, ${count(open, 'open intent', 'open intents')}` : 'not governed'}`);
  for (const fault of faults) screen.line(`workspace: ${screen.paint('red', plain(fault))}`);
  for (const note of notes) screen.line(`workspace: ${screen.paint('yellow', plain(note))}`);
  screen.line(`version: ${version}, component ${digest}`);
}
