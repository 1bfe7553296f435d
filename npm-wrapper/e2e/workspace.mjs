// A new workspace with its own home folder, and what the command reports about it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { atTerminal } from '../test/terminal.js';

export const INTENTS = `active_intents:
  - id: INT-001
    name: Login hardening
    status: IN_PROGRESS
    owned_scope: ["src/auth/**"]
`;

export const NOTE = 'Five attempts a minute per account.';

/** A governed workspace with one intent, a concept, files in and out of scope, and a script that writes out of scope. */
export const FILES = {
  '.orchestration/active_intents.yaml': INTENTS,
  '.tollgate/concepts/rate-limits.md': `${NOTE}\n`,
  'src/auth/login.ts': 'one\ntwo\n',
  'src/billing/pay.ts': 'pay\n',
  'build.sh': 'echo made > src/billing/made.ts\n',
};

/** Ordinary work in scope whose writes cannot be determined from the command: it runs confined and succeeds. */
export const WORKING =
  'f=$(mktemp) && sed s/one/ONE/ src/auth/login.ts > "$f" && cp "$f" src/auth/copy.ts && cat src/auth/copy.ts';

/** A write out of scope that cannot be seen in the command: the kernel stops it. */
export const ESCAPING = `eval "$(printf 'echo x > src/b\\151lling/hidden.ts')"`;

/** The output of a program that the kernel has stopped. */
export const STOPPED = /Permission denied/;

/** Turns confinement off: the person is then asked about unclear commands, and changes are found afterwards. */
export function disableConfinement({ home }) {
  writeFiles(home, { '.tollgate/config.json': '{ "confine": "off" }\n' });
}

/**
 * Creates the folders; `discard` removes them. Programs that run in the workspace get `env`. `tollgate` runs the command,
 * `person` runs it as a person at a terminal does.
 */
export function makeWorkspace(name, files) {
  const top = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), `tollgate-${name}-`));
  const [workspace, home, tmp] = ['workspace', 'home', 'tmp'].map((folder) => path.join(top, folder));
  for (const folder of [workspace, home, tmp]) fs.mkdirSync(folder);
  writeFiles(workspace, files);
  const search = [path.dirname(process.env.TOLLGATE), process.env.PATH].join(path.delimiter);
  const env = { PATH: search, HOME: home, TMPDIR: tmp, TERM: 'dumb' };
  const tollgate = (...words) => execFileSync(process.env.TOLLGATE, words, { cwd: workspace, env, encoding: 'utf8' });
  const person = (...words) => {
    const { status, stdout, stderr } = atTerminal([process.env.TOLLGATE, ...words], { cwd: workspace, env });
    assert.equal(status, 0, `${words.join(' ')}: ${stdout}${stderr}`);
    return stdout;
  };
  const discard = () => fs.rmSync(top, { recursive: true, force: true, maxRetries: 5 });
  return { top, workspace, home, tmp, env: { ...env }, tollgate, person, discard };
}

/** Removes the command from the search path of the programs that run in a workspace, as if it were not installed. */
export function removeCommandFromPath({ env }) {
  const folders = env.PATH.split(path.delimiter).filter((folder) => !fs.existsSync(path.join(folder, 'tollgate')));
  env.PATH = folders.join(path.delimiter);
}

/** Writes files, by name, below a folder. */
export function writeFiles(folder, files) {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(folder, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, content);
  }
}

/** The changes that agents made: entries of the ledger, after the command has verified it. */
export function readVerifiedLedger({ workspace, tollgate }) {
  assert.match(tollgate('trace', 'verify'), /^ok: /);
  return entriesOf(workspace).filter(({ person }) => person === undefined);
}

/** Every entry of the ledger. */
export function entriesOf(workspace) {
  const lines = fs.readFileSync(path.join(workspace, '.orchestration/agent_trace.jsonl'), 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line));
}

/** An entry in one line: `tool path success scope`. */
export function summarizeEntry({ tool_name, file, success, scope_validation }) {
  return `${tool_name} ${file.relative_path} ${success} ${scope_validation}`;
}

/** Asserts the contents of files; null means that the file does not exist. */
export function assertFiles(workspace, expected) {
  for (const [name, text] of Object.entries(expected)) {
    const file = path.join(workspace, name);
    assert.equal(fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : null, text, name);
  }
}

/** Asserts that `doctor` finds exactly this host, in which every tool is checked and commands run confined. */
export function assertLive(tollgate, expected) {
  const { ok, hosts } = JSON.parse(tollgate('doctor', '--json'));
  assert.equal(ok, true);
  assert.deepEqual(
    hosts.map(({ host, state, tools, commands }) => [host, state, tools, commands]),
    [[expected, 'live', 'every tool', 'confined']],
  );
}

/** Asserts that all entries belong to one session, and that the sub-agent changed only its own file. */
export function assertOneSession(entries, session) {
  assert.deepEqual(new Set(entries.map(({ session_id }) => session_id)), new Set([session]));
  assert.deepEqual(
    entries.filter(({ agent }) => agent).map(({ file }) => file.relative_path),
    ['src/auth/child.ts'],
  );
}

/** The JSON objects among the lines of a program's output. */
export function parseLines(output) {
  const lines = output.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line));
}

/** Runs a session with a scripted model, which is stopped afterwards. If it fails, the workspace is removed. */
export async function withModel(made, scripted, run) {
  try {
    return { ...made, requests: scripted.requests, ...(await run()) };
  } catch (error) {
    made.discard();
    throw error;
  } finally {
    scripted.close();
  }
}
