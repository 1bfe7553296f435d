// Every fixture, through the npm package, on real files. Run by Node 20, 22, 24 and Bun alike: `node test/fixtures.mjs`.
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTollgate } from '../dist/index.js';

const top = fileURLToPath(new URL('../../fixtures/', import.meta.url));
const names = fs.readdirSync(top, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map((entry) => entry.name);
let failed = 0;
for (const name of names.sort()) {
  const faults = run(name);
  if (faults.length > 0) failed += 1;
  for (const fault of faults) console.error(fault);
}
console.log(`${names.length - failed} passed, ${failed} failed`);
process.exitCode = failed > 0 || names.length === 0 ? 1 : 0;

function run(name) {
  const place = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'tollgate-fixture-')));
  try {
    const [root, home] = [path.join(place, 'repo'), path.join(place, 'home')];
    fs.mkdirSync(root);
    fs.mkdirSync(home);
    return compareRun(name, root, home);
  } finally {
    fs.rmSync(place, { recursive: true, force: true });
  }
}

function compareRun(name, root, home) {
  const read = (...file) => {
    const at = path.join(top, ...file);
    return fs.existsSync(at) ? fs.readFileSync(at) : Buffer.alloc(0);
  };
  // Latin-1 keeps every byte, so that lines which are no UTF-8 reach the gate as they are.
  const filled = (bytes) => bytes.toString('latin1').replaceAll('{root}', root);
  const steps = (bytes) => (bytes.length > 0 ? JSON.parse(Buffer.from(filled(bytes), 'latin1').toString()) : []);
  for (const step of [...steps(read('base.json')), ...steps(read(name, 'setup.json'))]) carryOut(root, step);

  let [ticks, drawn] = [0, 0];
  const gate = createTollgate({
    workspace: root,
    home,
    clock: () => 1_767_225_600_000 + 1000 * ticks++,
    random: (length) => Uint8Array.from({ length }, () => Math.floor(drawn++ / 16)),
  });
  let answers = '';
  for (const text of filled(read(name, 'calls.jsonl')).split('\n').filter((line) => line !== '')) {
    const line = Buffer.from(text, 'latin1');
    const step = stepOf(line);
    if (step) carryOut(root, step);
    else answers += `${textOf(gate.perform(line))}\n`;
  }
  const ledger = path.join(root, '.orchestration/agent_trace.jsonl');
  const entered = fs.existsSync(ledger) ? fs.readFileSync(ledger, 'utf8') : '';
  return [
    ...compare(name, 'answers.jsonl', read(name, 'answers.jsonl').toString(), answers.replaceAll(root, '{root}')),
    ...compare(name, 'ledger.jsonl', read(name, 'ledger.jsonl').toString(), entered.replaceAll(root, '{root}')),
  ];
}

function stepOf(line) {
  try {
    return JSON.parse(line.toString()).do;
  } catch {
    return undefined;
  }
}

function textOf(answer) {
  return typeof answer === 'string' ? answer : Buffer.from(answer).toString();
}

function carryOut(root, step) {
  const [[kind, value]] = Object.entries(step);
  const at = (name) => {
    const file = path.join(root, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    return file;
  };
  if (kind === 'write') fs.writeFileSync(at(value[0]), value[1]);
  else if (kind === 'mkdir') fs.mkdirSync(at(value), { recursive: true });
  else if (kind === 'symlink') fs.symlinkSync(value[0], at(value[1]));
  else if (kind === 'hardlink') fs.linkSync(at(value[0]), at(value[1]));
  else if (kind === 'remove') fs.rmSync(at(value), { recursive: true });
  else throw new Error(`unknown step ${kind}`);
}

function compare(name, what, expected, found) {
  const [left, right] = [expected.split('\n'), found.split('\n')];
  const at = left.findIndex((line, number) => line !== right[number]);
  const line = at < 0 && right.length > left.length ? left.length : at;
  if (line < 0) return [];
  return [`${name}, ${what} line ${line + 1}\n  expected ${left[line] ?? '(nothing)'}\n  found    ${right[line] ?? '(nothing)'}`];
}
