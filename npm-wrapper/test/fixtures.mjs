// Runs every fixture through the npm package, on real files: `node test/fixtures.mjs`, with Node 20, 22, 24 and Bun, or those whose
// name contains the argument: a folder, or a row such as `shell/none-write`.
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTollgate } from '../dist/index.js';
import { executeStep } from './fixture_steps.mjs';

const top = fileURLToPath(new URL('../../fixtures/', import.meta.url));
const only = process.argv[2] ?? '';
const names = fs.readdirSync(top).filter((name) => name.includes(only) && fs.existsSync(path.join(top, name, 'calls.jsonl')));
const rows = fs
  .readdirSync(path.join(top, 'rows'))
  .filter((name) => name.endsWith('.jsonl'))
  .flatMap(rowsOf)
  .filter(([name]) => name.includes(only));
let [passed, failed] = [0, 0];
for (const name of names.sort()) count(inPlace((root, home) => compareRun(name, root, home)));
for (const [name, row] of rows) count(inPlace((root, home) => faultsOf(name, row, root, home)));
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed < (only === '' ? 300 : 1) ? 1 : 0;

function count(faults) {
  if (faults.length > 0) failed += 1;
  else passed += 1;
  for (const fault of faults) console.error(fault);
}

function inPlace(run) {
  const place = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'tollgate-fixture-')));
  try {
    const [root, home] = [path.join(place, 'repo'), path.join(place, 'home')];
    fs.mkdirSync(root);
    fs.mkdirSync(home);
    return run(root, home);
  } finally {
    fs.rmSync(place, { recursive: true, force: true });
  }
}

function rowsOf(file) {
  const lines = fs
    .readFileSync(path.join(top, 'rows', file), 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line)).map((row) => [`${path.basename(file, '.jsonl')}/${row.id}`, row]);
}

/** What is wrong with the gate's answers to a row, which is asked twice. */
function faultsOf(name, row, root, home) {
  const filled = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value).replaceAll('{root}', root)));
  const base = JSON.parse(fs.readFileSync(path.join(top, 'rows/base.json'), 'utf8'));
  for (const step of [...base, ...(filled(row.setup) ?? [])]) executeStep(root, step);
  const gate = createTollgate({ workspace: root, home });
  const ask = (op) => JSON.parse(textOf(gate.perform(Buffer.from(JSON.stringify(op)))));
  const intent = row.intent === undefined ? 'LOGIN' : row.intent;
  if (intent !== null) ask({ op: 'select-intent', session: 's', intent });
  const { tool, args, host, cwd } = filled(row);
  const op = { op: 'pre-tool', session: 's', call: 'c', tool, args, host, cwd };
  const [answer, again] = [ask(op), ask(op)];
  const effects = answer.effects?.map((effect) => `${effect.operation} ${effect.path}`);
  const expected = [row.verdict, row.code, row.effects ? filled(row.effects) : effects];
  if (JSON.stringify(expected) === JSON.stringify([answer.verdict, answer.code, effects])) {
    return JSON.stringify(answer) === JSON.stringify(again)
      ? []
      : [`${name}: ${JSON.stringify(answer)} and then ${JSON.stringify(again)}`];
  }
  return [`${name}: expected ${JSON.stringify(expected)}, found ${JSON.stringify(answer)}`];
}

function compareRun(name, root, home) {
  const read = (...file) => {
    const at = path.join(top, ...file);
    return fs.existsSync(at) ? fs.readFileSync(at) : Buffer.alloc(0);
  };
  // Latin-1 preserves every byte, so lines that are not UTF-8 reach the gate unchanged.
  const filled = (bytes) => bytes.toString('latin1').replaceAll('{root}', root);
  const steps = (bytes) => (bytes.length > 0 ? JSON.parse(Buffer.from(filled(bytes), 'latin1').toString()) : []);
  for (const step of [...steps(read('base.json')), ...steps(read(name, 'setup.json'))]) executeStep(root, step);

  let [ticks, drawn] = [0, 0];
  const gate = createTollgate({
    workspace: root,
    home,
    variables: { TOLLGATE_FIXTURE: 'from the environment' },
    clock: () => 1_767_225_600_000 + 1000 * ticks++,
    random: (length) => Uint8Array.from({ length }, () => Math.floor(drawn++ / 16)),
  });
  let answers = '';
  for (const text of filled(read(name, 'calls.jsonl'))
    .split('\n')
    .filter((line) => line !== '')) {
    const line = Buffer.from(text, 'latin1');
    const { do: step, step: now, inputs } = parsed(line);
    if (typeof step === 'object') executeStep(root, step);
    else if (typeof now === 'number') answers += `${gate.perform(JSON.stringify({ op: 'step', now_ms: now, inputs }))}\n`;
    else answers += `${textOf(gate.perform(line))}\n`;
  }
  const ledger = path.join(root, '.orchestration/agent_trace.jsonl');
  const entered = fs.existsSync(ledger) ? fs.readFileSync(ledger, 'utf8') : '';
  return [
    ...compare(name, 'answers.jsonl', read(name, 'answers.jsonl').toString(), answers.replaceAll(root, '{root}')),
    ...compare(name, 'ledger.jsonl', read(name, 'ledger.jsonl').toString(), entered.replaceAll(root, '{root}')),
  ];
}

function parsed(line) {
  try {
    return JSON.parse(line.toString()) ?? {};
  } catch {
    return {};
  }
}

function textOf(answer) {
  return typeof answer === 'string' ? answer : Buffer.from(answer).toString();
}

function compare(name, what, expected, found) {
  const [left, right] = [expected.split('\n'), found.split('\n')];
  const at = left.findIndex((line, number) => line !== right[number]);
  const line = at < 0 && right.length > left.length ? left.length : at;
  if (line < 0) return [];
  return [`${name}, ${what} line ${line + 1}\n  expected ${left[line] ?? '(nothing)'}\n  found    ${right[line] ?? '(nothing)'}`];
}
