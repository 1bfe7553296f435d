// Runs every file of fixtures/hosts/ through `tollgate hook`, as agent programs do: `node test/hosts.mjs`, with Node 20, 22, 24
// and Bun, or those whose name contains the argument. `fixtures/hosts/README.md` describes the lines; the Rust command gives the
// same answers, byte for byte.
import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTollgate } from '../dist/index.js';
import { executeStep } from './fixture_steps.mjs';
import { reportSkip } from './skip.mjs';

const top = fileURLToPath(new URL('../../fixtures/', import.meta.url));
const command = fileURLToPath(new URL('../bin/tollgate.js', import.meta.url));
const base = JSON.parse(fs.readFileSync(path.join(top, 'base.json'), 'utf8'));
// The native program, which confines commands. Without it, or without kernel support, the cases that need it are skipped.
const native = path.resolve(top, '..', process.env.CARGO_TARGET_DIR ?? 'target', 'release/tollgate');
const confines = spawnSync(native, ['confine', '--check']).status === 0;
const NO_CONFINEMENT = `\`${native} confine --check\` says that commands cannot be confined here, or is not built`;
const only = process.argv[2] ?? '';
const cases = fs
  .readdirSync(path.join(top, 'hosts'))
  .filter((program) => fs.statSync(path.join(top, 'hosts', program)).isDirectory())
  .flatMap((program) => fs.readdirSync(path.join(top, 'hosts', program)).map((file) => [program, file]))
  .filter(([program, file]) => `${program}/${file}`.includes(only));

const faults = [];
let [compared, leftOut] = [0, 0];
const left = [...cases];
// Each case starts one process per line, one after the other.
await Promise.all(Array.from({ length: os.availableParallelism() }, runCases));
for (const fault of faults) console.error(fault);
console.log(`${compared} cases compared, ${leftOut} left out, ${faults.length} faults`);
process.exitCode = faults.length > 0 || (only === '' ? compared < 70 : cases.length === 0) ? 1 : 0;

async function runCases() {
  for (let next = left.shift(); next !== undefined; next = left.shift()) await runCase(...next);
}

async function runCase(program, file) {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'tollgate-hosts-')));
  try {
    const root = path.join(folder, 'repo');
    fs.mkdirSync(root);
    for (const step of base) executeStep(root, step);
    const lines = fs
      .readFileSync(path.join(top, 'hosts', program, file), 'utf8')
      .trimEnd()
      .split('\n');
    if (!confines && lines.some((line) => JSON.parse(line).confines !== undefined)) {
      if (process.env.TOLLGATE_CONFINE !== undefined)
        faults.push(`${program}/${file}: TOLLGATE_CONFINE is set, and ${NO_CONFINEMENT}`);
      else reportSkip(`npm package: ${NO_CONFINEMENT}`);
      leftOut += 1;
      return;
    }
    const bin = path.join(folder, 'bin');
    fs.mkdirSync(bin);
    fs.symlinkSync(native, path.join(bin, 'tollgate'));
    const answers = [];
    for (const [at, line] of lines.entries()) {
      const expected = JSON.parse(line);
      if (expected.do !== undefined) expected.do = JSON.parse(JSON.stringify(expected.do).replaceAll('{bin}', bin));
      const found = await runLine(program, expected, folder, root, answers);
      for (const name of Object.keys(found)) {
        if (JSON.stringify(found[name]) === JSON.stringify(expected[name])) continue;
        faults.push(
          `${program}/${file}:${at + 1}\n  expected ${JSON.stringify(expected[name])}\n  came     ${JSON.stringify(found[name])}`,
        );
      }
    }
    compared += 1;
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** Executes a line and returns its result. */
async function runLine(program, line, folder, root, answers) {
  const home = path.join(folder, 'home');
  if (line.do !== undefined) executeStep(root, line.do);
  else if (line.select !== undefined) createTollgate({ workspace: root, home }).selectIntent(line.session, line.select);
  else if (line.ledger !== undefined) return { ledger: ledgerOf(root) };
  else if (line.untouched !== undefined) return { untouched: !fs.existsSync(path.join(root, '.tollgate')) };
  else if (line.within !== undefined) return { within: answers.every(isWithin) };
  else {
    const payload = (line.raw ?? JSON.stringify(line.payload))
      .replaceAll('{root}', root)
      .replaceAll('{bin}', path.join(folder, 'bin'));
    const words = ['hook', line.host ?? program, ...(line.event === undefined ? [] : ['--event', line.event])];
    const { code, stdout, stderr } = await run(
      words,
      payload,
      root,
      home,
      line.confines === undefined ? {} : { PATH: path.join(folder, 'bin') },
    );
    answers.push(stdout);
    return code === 0
      ? { answer: comparableAnswer(stdout, root, path.join(folder, 'bin')) }
      : { answer: `exit code ${code}: ${stderr}` };
  }
  return {};
}

function run(words, input, cwd, home, more) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [command, ...words], { cwd, env: { HOME: home, ...more } });
    const [out, err] = [[], []];
    child.stdout.on('data', (piece) => out.push(piece));
    child.stderr.on('data', (piece) => err.push(piece));
    child.on('close', (code) => resolve({ code, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() }));
    // The program may exit without reading all of its input.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

/** An answer in the form in which it is compared: without the workspace's path, times and entry ids. */
function comparableAnswer(answer, root, bin) {
  const time = /^20.{21}Z$/;
  return answer
    .replaceAll(root, '{root}')
    .replaceAll(bin, '{bin}')
    .replace(/trace revert [0-9a-fA-F-]+/, 'trace revert {entry}')
    .split(' ')
    .map((word) => (time.test(word) ? '{time}' : word))
    .join(' ');
}

/** The ledger's entries, abbreviated and in order. */
function ledgerOf(root) {
  const file = path.join(root, '.orchestration/agent_trace.jsonl');
  const text = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim() : '';
  const short = (line) => {
    const { file, scope_validation: scope, success, agent } = JSON.parse(line);
    return `${file?.relative_path ?? '-'} ${scope ?? '-'} ${success}${agent === undefined ? '' : ` ${agent}`}`;
  };
  return text === '' ? [] : text.split('\n').map(short).sort();
}

/** Whether the text for the model is short enough for every program. */
function isWithin(answer) {
  let said = {};
  try {
    said = JSON.parse(answer);
  } catch {
    // No output at all.
  }
  const told = said.hookSpecificOutput?.additionalContext ?? said.additional_context ?? '';
  return told.length <= 10_000 && (told === '' || Buffer.byteLength(told) > 7_000);
}
