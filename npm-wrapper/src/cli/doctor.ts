// `tollgate doctor`: checks whether agent programs really ask the gate.
//
// A configured hook may not work, so each program's hook is run as the program would run it, with a call that must be denied, and with
// a command that must be confined, which is then run, too. The gate defines the tests and interprets the results.
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { digest, version } from '../api/index.js';
import { withSlashes, isWindows } from '../files/path.js';
import { stateFolder, stateOf } from '../files/state.js';
import { errorCodeOf, inspect, environmentOf, realOf, searchPath } from './inspection.js';
import { type Cell, count, escape, type Style } from './output.js';
import { findConfiner } from '../programs/confining.js';
import { type Answer, ask, withGate, type OpenGate, CommandError } from './workspace.js';

const USAGE = 'Usage: tollgate doctor [--workspace DIR] [--home DIR] [--state DIR] [--json]';

/** Time limit for a test. A program would wait longer, but a person should not have to. */
const TIME_LIMIT_MS = 10_000;

interface Trial {
  id: string;
  shell: string | null;
  words: string[];
  stdin: string;
  folder: string;
  file: { path: string; text: string } | null;
  variables: Record<string, string>;
  exist: string[];
}

interface DoctorReport {
  ok: boolean;
  workspace: { governed: boolean; open_intents: number };
  faults: string[];
  notes: string[];
  confinement: string;
  hosts: {
    host: string;
    title: string;
    state: string;
    tools: string;
    settings: string | null;
    remarks: string[];
    commands: string;
    confinement: string | null;
  }[];
}

export function main(args: string[]): Promise<number> {
  return withGate(
    args,
    {},
    USAGE,
    (opened, words, given) => {
      if (words.length > 0) throw new CommandError(`invalid arguments\n${USAGE}`);
      return examine(opened, (given as { home?: string }).home);
    },
    { here: true, quiet: true },
  );
}

async function examine(opened: OpenGate, home: string | undefined): Promise<boolean> {
  const examination = { op: 'wiring', do: 'examine', place: environmentOf(opened, home) };
  const { program: confiner = null, why = null } = findConfiner(searchPath().split(path.delimiter), opened.root);
  const question = { ...examination, confiner: confiner && withSlashes(confiner), why, seen: inspect(opened, examination) };
  const asked = inTrialFolder(home, (folder) => {
    // The next tests may depend on the results of earlier ones.
    const outcomes: Answer[] = [];
    for (;;) {
      const examined = ask(opened.gate, { ...question, trial_folder: folder, outcomes });
      const { files, trials } = examined as unknown as { files: Trial['file'][]; trials: Trial[] };
      if (trials.length === 0) return { trial_folder: folder, outcomes };
      for (const file of [...files, ...trials.map((trial) => trial.file)]) {
        if (file === null) continue;
        if (!file.path.startsWith(`${folder}/`)) throw new CommandError(`\`${file.path}\` is not in the test folder`);
        fs.mkdirSync(path.dirname(file.path), { recursive: true });
        fs.writeFileSync(file.path, file.text);
      }
      outcomes.push(...trials.map(runTrial));
    }
  });
  // Whether hooks can run depends on the machine, which is described to the gate when hooks are used.
  const line = JSON.stringify({ ...question, ...asked, do: 'judge', digest });
  const answer = JSON.parse(await opened.gate.hooks.perform(line)) as Answer;
  if (answer.error !== undefined) throw new CommandError((answer.error as { message: string }).message, answer);
  const judged = answer as unknown as DoctorReport;
  if (opened.json) opened.output.line(JSON.stringify({ ...judged, version, digest }));
  else printReport(opened, judged);
  return judged.ok;
}

/** Creates a temporary folder and removes it afterwards, together with the gate's state for it. */
function inTrialFolder<T>(home: string | undefined, use: (folder: string) => T): T {
  const folder = withSlashes(fs.mkdtempSync(path.join(realOf(os.tmpdir()), 'tollgate-doctor-')));
  try {
    return use(folder);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
    // Hooks run as an agent program would run them, and so use the user's state folder.
    fs.rmSync(stateOf(folder, stateFolder(home, undefined)), { recursive: true, force: true });
  }
}

function runTrial({ id, shell, words, stdin, folder, variables, exist }: Trial): Answer {
  const [program, ...args] = shell === null ? words : isWindows ? ['cmd', '/C', shell] : ['sh', '-c', shell];
  const env = { ...process.env, PATH: searchPath(), ...variables };
  const ran = spawnSync(program ?? '', args, {
    cwd: folder,
    env,
    input: stdin,
    encoding: 'utf8',
    timeout: TIME_LIMIT_MS,
    maxBuffer: 1 << 20,
  });
  const fault = ran.error === undefined ? undefined : errorCodeOf(ran.error);
  // A command that does not read its input closes the pipe.
  if (ran.error === undefined || fault === 'EPIPE') {
    return { id, stdout: ran.stdout, stderr: ran.stderr, code: ran.status, exist: exist.filter((file) => fs.existsSync(file)) };
  }
  return {
    id,
    fault:
      fault === 'ETIMEDOUT'
        ? `the command did not answer within ${TIME_LIMIT_MS / 1000} seconds`
        : `the command cannot be run: ${ran.error.message}`,
  };
}

function printReport({ output }: OpenGate, { workspace, faults, notes, confinement: confined, hosts }: DoctorReport): void {
  const styles: Record<string, Style> = { live: 'green', 'partly live': 'yellow', 'installed, not verified': 'yellow' };
  const held: Record<string, Style> = { confined: 'green', unconfined: 'yellow' };
  const titles = ['HOST', 'STATE', 'TOOLS', 'COMMANDS', 'SETTINGS'].map((title): Cell => [title, 'bold']);
  const rows = hosts.map(({ title, state, tools, commands, settings }): Cell[] => [
    [title],
    [state, styles[state] ?? 'red'],
    [tools],
    commands === '' ? ['-'] : [commands, held[commands] ?? 'red'],
    [settings ?? '-'],
  ]);
  if (hosts.length === 0) output.line('no agent program is in use here; set one up with `tollgate init --host NAME`');
  else output.rows([titles, ...rows]).forEach(output.line);
  for (const { title, remarks, confinement } of hosts) {
    for (const remark of confinement === null ? remarks : [...remarks, confinement]) output.line(`${title}: ${escape(remark)}`);
  }
  const { governed, open_intents: open } = workspace;
  output.line(`workspace: ${governed ? `governed, ${count(open, 'open intent', 'open intents')}` : 'not governed'}`);
  for (const fault of faults) output.line(`workspace: ${output.paint('red', escape(fault))}`);
  for (const note of notes) output.line(`workspace: ${output.paint('yellow', escape(note))}`);
  output.line(`confinement: ${escape(confined)}`);
  output.line(`version: ${version}, component ${digest}`);
}
