// `tollgate eval` as other programs start it.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { digest, version } from 'tollgate';
import { createGovernedWorkspace } from './workspace_folder.js';

const command = fileURLToPath(new URL('../dist/eval.js', import.meta.url));
const { workspace, home, discard } = createGovernedWorkspace();
after(discard);

function run(args, input = '') {
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...args], {
    input,
    encoding: 'utf8',
    maxBuffer: 1 << 30,
  });
  return { status, stdout, stderr };
}

const evaluate = (input) => run(['--workspace', workspace, '--home', home], input);
const context = '{"op":"context","session":"s9"}';

test('every line is answered in order, blank ones are not', () => {
  const select = '{"op":"select-intent","session":"s1","intent":"INT-001"}';
  const { status, stdout, stderr } = evaluate(`${select}\n\n \t\f\r\n${context}\r\nno json\n${context}`);
  const answers = stdout.split('\n');
  assert.equal(answers.pop(), '');
  assert.deepEqual([status, stderr, answers.length], [0, '', 4]);
  assert.equal(JSON.parse(answers[0]).intent.id, 'INT-001');
  assert.deepEqual([answers[1], answers[3]], ['{"text":""}', '{"text":""}']);
  assert.equal(JSON.parse(answers[2]).error.code, 'invalid_json');
});

test('no input, no answer', () => {
  assert.deepEqual(evaluate(''), { status: 0, stdout: '', stderr: '' });
});

test('bytes that are not UTF-8 are an error of their line alone', () => {
  const { stdout } = evaluate(Buffer.concat([Buffer.from([0x22, 0xff, 0x22, 0x0a]), Buffer.from(`${context}\n`)]));
  const [first, second] = stdout.split('\n');
  assert.equal(JSON.parse(first).error.code, 'invalid_json');
  assert.equal(second, '{"text":""}');
});

test('a line that is too long is an error of its own alone', () => {
  const { status, stdout } = evaluate(`{"op":"${'x'.repeat(40 << 20)}"}\n${context}\n`);
  const [first, second] = stdout.split('\n');
  assert.deepEqual([status, JSON.parse(first).error.code, second], [0, 'too_long', '{"text":""}']);
});

test('a line that takes much memory is answered or survived, and the next one works', { timeout: 60_000 }, () => {
  const call = '"session":"s1","call":"c1","tool":"read_file"';
  const { status, stdout } = evaluate(`{"op":"pre-tool",${call},"args":{"x":[${'0,'.repeat(31 << 19)}0]}}\n${context}\n`);
  const [first, second] = stdout.split('\n');
  const { error, verdict } = JSON.parse(first);
  assert.ok(error?.code === 'guest_trap' || verdict !== undefined, first.slice(0, 200));
  assert.deepEqual([status, second], [0, '{"text":""}']);
});

test('an interactive peer has each answer before it sends the next line', async () => {
  const child = spawn(process.execPath, [command, '--workspace', workspace, '--home', home]);
  const ended = new Promise((resolve) => child.on('close', resolve));
  for (let turn = 0; turn < 3; turn += 1) {
    const heard = new Promise((resolve) => child.stdout.once('data', resolve));
    child.stdin.write(`${context}\n`);
    assert.equal(String(await heard), '{"text":""}\n');
  }
  child.stdin.end();
  assert.equal(await ended, 0);
});

test('a peer that stops listening ends the command without a stack trace', async () => {
  const child = spawn(process.execPath, [command, '--workspace', workspace, '--home', home]);
  const ended = new Promise((resolve) => child.on('close', resolve));
  let said = '';
  child.stderr.on('data', (bytes) => (said += bytes));
  child.stdin.on('error', () => {});
  child.stdout.destroy();
  child.stdin.end(`${context}\n`.repeat(20_000));
  assert.equal(await ended, 0);
  assert.equal(said, '');
});

test('warnings go to the error stream, one line each', () => {
  const folder = path.join(home, 'odd');
  fs.mkdirSync(path.join(folder, '.orchestration'), { recursive: true });
  fs.writeFileSync(path.join(folder, '.orchestration/active_intents.yaml'), 'active_intents: [');
  const line = '{"op":"pre-tool","session":"s1","call":"c1","tool":"read_file","args":{"path":"a"}}\n';
  const { status, stderr } = run(['--workspace', folder, '--home', home], line);
  assert.equal(status, 0);
  assert.match(stderr, /^tollgate: warn: .*active_intents\.yaml.*\n$/);
});

for (const [what, args, status, stdout, stderr] of [
  ['--version', ['--version'], 0, `tollgate ${version} (component ${digest})\n`, /^$/],
  ['no workspace', [], 2, '', /^tollgate: `--workspace DIR` is missing\nusage: /],
  ['an unknown option', ['--workspac', workspace], 2, '', /^tollgate: .*--workspac/],
  ['a stray word', ['--workspace', workspace, 'word'], 2, '', /^tollgate: .*word/],
  [
    'a workspace that is not there',
    ['--workspace', 'no such'],
    2,
    '',
    /^tollgate: cannot open the workspace `no such`: it does not exist; name /,
  ],
  [
    'a workspace that is no folder',
    [`--workspace=${command}`],
    2,
    '',
    /: it is not a folder; name an existing folder with --workspace\n$/,
  ],
  ['an empty workspace name', ['--workspace', ''], 2, '', /^tollgate: cannot open the workspace ``: /],
]) {
  test(`${what}: exit ${status}`, () => {
    const ran = run(args);
    assert.deepEqual([ran.status, ran.stdout], [status, stdout]);
    assert.match(ran.stderr, stderr);
  });
}
