// The rows of `cargo xtask bench` that are measured in Node and in Bun: the gate beside the plain algorithm, and beside
// `git status`.

import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTollgate } from '../dist/index.js';
import { Plain } from './plain.mjs';
import { race, raced, row } from './race.mjs';

const PATTERNS = 10_000;

/** A workspace whose first intent owns these patterns, and a home folder beside it. */
function createWorkspace(patterns = ['src/auth/**']) {
  const top = fs.mkdtempSync(path.join(os.tmpdir(), 'bench-'));
  const at = (...names) => path.join(top, ...names);
  for (const folder of ['workspace/.orchestration', 'workspace/src/auth', 'workspace/src/billing', 'home'])
    fs.mkdirSync(at(folder), { recursive: true });
  const owned = (number) => (number === 0 ? patterns : [`src/part${number}/**`]).map((pattern) => `    - ${pattern}\n`).join('');
  const intent = (number) =>
    `  - id: INT-${number}\n    name: Number ${number}\n    status: IN_PROGRESS\n    owned_scope:\n${owned(number)}`;
  const intents = Array.from({ length: 10 }, (_, number) => intent(number)).join('');
  fs.writeFileSync(at('workspace/.orchestration/active_intents.yaml'), `active_intents:\n${intents}`);
  fs.writeFileSync(at('workspace/src/auth/login.ts'), 'export const login = () => 1;\n');
  fs.writeFileSync(at('workspace/src/billing/pay.ts'), 'export const pay = () => 2;\n');
  const workspace = at('workspace');
  return { top, workspace, home: at('home') };
}

function both(patterns) {
  const { top, workspace, home } = createWorkspace(patterns);
  const gate = createTollgate({ workspace, home });
  gate.selectIntent('s', 'INT-0');
  const plain = new Plain(workspace);
  plain.setActiveIntent('INT-0');
  return { top, gate, plain, workspace };
}

/** Fails if the two sides do not answer as expected. */
function expect(what, verdict, { gate, plain }, tool, args) {
  const ruled = gate.preTool({ session: 's', call: 'c', tool, args }).verdict;
  const { allowed } = plain.preToolUse(tool, args);
  if (ruled !== verdict || allowed !== (verdict === 'allow')) throw new Error(`${what}: ${ruled}, ${allowed}`);
}

function checks() {
  for (const [what, tool, args, verdict, patterns] of [
    ['in-scope', 'write', { filePath: 'src/auth/login.ts', content: 'x' }, 'allow'],
    ['out-of-scope', 'write', { filePath: 'src/billing/pay.ts', content: 'x' }, 'deny'],
    ['shell', 'bash', { command: 'sed -i s/2/3/ src/billing/pay.ts' }, 'deny'],
    [
      'patterns',
      'write',
      { filePath: 'src/billing/pay.ts', content: 'x' },
      'deny',
      Array.from({ length: PATTERNS }, (_, number) => `src/folder${number}/**/*.ts`),
    ],
  ]) {
    const sides = both(patterns);
    const { top, gate, plain } = sides;
    expect(what, verdict, sides, tool, args);
    let count = 0;
    const call = () => ({ session: 's', call: `c${count}`, tool, args });
    // A write in scope is settled outside of the measurement, so that no call waits for another.
    const settle = () => {
      if (verdict === 'allow') gate.postTool(call(), { status: 'done' });
      count += 1;
    };
    settle();
    const rounds = what === 'patterns' ? 40 : 1_500;
    raced(
      `check/${what}`,
      race(
        rounds,
        () => plain.preToolUse(tool, args),
        () => gate.preTool(call()),
        settle,
      ),
    );
    fs.rmSync(top, { recursive: true, force: true });
  }
}

function settling() {
  const { top, gate, plain } = both();
  const args = { filePath: 'src/auth/login.ts', content: 'x' };
  const plainly = () => plain.postToolUse('write', args, plain.preToolUse('write', args).preHash);
  const gated = (round) => {
    const call = { session: 's', call: `c${round}`, tool: 'write', args };
    gate.preTool(call);
    gate.postTool(call, { status: 'done' });
  };
  raced('check and settle of a write / plain JS', race(1_000, plainly, gated));
  fs.rmSync(top, { recursive: true, force: true });
}

/** The time of a program call, check and settle together, from the second one on, and of `git status`, in milliseconds. */
function program(files) {
  const { top, gate, workspace } = both();
  const at = (...names) => path.join(workspace, ...names);
  fs.writeFileSync(at('.gitignore'), '.orchestration/agent_trace.jsonl\n.orchestration/intent_map.md\n');
  for (let number = 0; number < files; number += 1) {
    const folder = at('src/auth', `${Math.floor(number / 1_000)}/${Math.floor(number / 50)}`);
    if (number % 50 === 0) fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, `file${number}.ts`), `export const number = ${number};\n`);
  }
  const git = (...words) =>
    execFileSync('git', ['-C', workspace, ...words], { stdio: 'ignore', env: { ...process.env, GIT_OPTIONAL_LOCKS: '0' } });
  git('init', '--quiet');
  git('add', '.');
  git('-c', 'user.name=bench', '-c', 'user.email=bench@example.org', 'commit', '--quiet', '--message', 'all');
  const call = { session: 's', call: 'c', tool: 'bash', args: { command: 'make' } };
  const gated = () => {
    gate.preTool(call);
    gate.postTool(call, { status: 'done' });
  };
  gated();
  const [status, ours] = race(15, () => git('status', '--porcelain'), gated);
  fs.rmSync(top, { recursive: true, force: true });
  return { ours, status };
}

function programs() {
  const small = program(15_000);
  const large = program(100_000);
  row('program/15000', small.ours, small.status, 'ms');
  row('a program call in 100,000 files / git status', large.ours, large.status, 'ms');
  row('program/growth', large.ours / small.ours, large.status / small.status, '×');
}

/** The time from the start of a process to its first ruling. */
function load() {
  const { top, workspace, home } = createWorkspace();
  const index = fileURLToPath(new URL('../dist/index.js', import.meta.url));
  const call = { session: 's', call: 'c', tool: 'write', args: { filePath: 'src/billing/pay.ts' } };
  const script = `import { createTollgate } from ${JSON.stringify(index)};
createTollgate(${JSON.stringify({ workspace, home })}).preTool(${JSON.stringify(call)});`;
  const [empty, first] = [path.join(top, 'empty.mjs'), path.join(top, 'first.mjs')];
  fs.writeFileSync(empty, '');
  fs.writeFileSync(first, script);
  const run = (file) => {
    if (spawnSync(process.execPath, [file]).status !== 0) throw new Error(`${file} failed`);
  };
  const [nothing, ours] = race(
    20,
    () => run(empty),
    () => run(first),
  );
  row('load', ours, nothing, 'ms');
  fs.rmSync(top, { recursive: true, force: true });
}

checks();
settling();
load();
programs();
