// The `tollgate` command as people and programs start it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createTollgate, digest, version } from 'tollgate';
import { createGovernedWorkspace, writeFiles } from './workspace_folder.js';

const command = fileURLToPath(new URL('../bin/tollgate.js', import.meta.url));
const { workspace, home, discard } = createGovernedWorkspace();
after(discard);

function run(args, { input = '', cwd = workspace, env = { HOME: home, PATH: process.env.PATH }, stdio } = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...args], {
    input,
    cwd,
    env,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    stdio,
  });
  return { status, stdout, stderr };
}

const write = (file, more = {}) =>
  JSON.stringify({
    session_id: 's1',
    cwd: workspace,
    hook_event_name: 'PreToolUse',
    tool_name: 'Write',
    tool_input: { file_path: file, content: 'x' },
    tool_use_id: 'c1',
    ...more,
  });

for (const [what, args, status, stdout, stderr] of [
  ['--version', ['--version'], 0, `tollgate ${version} (component ${digest})\n`, /^$/],
  ['--help', ['--help'], 0, undefined, /^$/],
  ['no command', [], 2, '', /^Usage: tollgate COMMAND/],
  ['an unknown command', ['fly'], 2, '', /^tollgate: the npm package has no command `fly`; the native `tollgate` /],
  ['a hook of nobody', ['hook'], 2, '', /^tollgate: usage: tollgate hook PROGRAM/],
  [
    'a hook of an unknown program',
    ['hook', 'emacs'],
    2,
    '',
    /`emacs` is not a program .*claude-code, codex, gemini, cursor, copilot, opencode, roo/,
  ],
  ['an unknown option', ['hook', 'claude-code', '--evnt', 'x'], 2, '', /^tollgate: usage: /],
  ['intents of an unknown kind', ['intents', 'fly'], 2, '', /^tollgate: invalid arguments\nUsage: tollgate intents/],
  ['an option of another command', ['trace', 'map', '--limit', '3'], 2, '', /`tollgate trace map` takes no --limit/],
  ['a hash that is none', ['trace', 'verify', '--expect', 'abc'], 2, '', /cannot be `abc`: expected `sha256:`/],
]) {
  test(`${what}: exit ${status}`, () => {
    const ran = run(args);
    assert.equal(ran.status, status, ran.stderr);
    if (stdout !== undefined) assert.equal(ran.stdout, stdout);
    assert.match(ran.stderr, stderr);
  });
}

test('a payload that is too long, too deep or cut short is denied in the words of the program', { timeout: 120_000 }, () => {
  const whole = write(`${workspace}/src/auth/a.ts`);
  for (const payload of [
    `${whole.slice(0, -2)}${' '.repeat(49 << 20)}}}`,
    whole.replace('"x"', `${'['.repeat(10_000)}${']'.repeat(10_000)}`),
    whole.slice(0, 120),
    '',
  ]) {
    const { status, stdout, stderr } = run(['hook', 'claude-code'], { input: payload });
    assert.equal(status, 0, stderr);
    assert.match(JSON.parse(stdout).hookSpecificOutput.permissionDecisionReason, /\(invalid_input\)$/);
    assert.match(stderr, /^tollgate: error: /);
  }
});

test('a refusal that nobody can read keeps the tool from running', () => {
  const input = write(`${workspace}/README.md`);
  const full = fs.openSync('/dev/full', 'w');
  const { status, stderr } = run(['hook', 'claude-code'], { input, stdio: ['pipe', full, 'pipe'] });
  fs.closeSync(full);
  assert.equal(status, 2);
  assert.match(stderr, /the answer could not be written\n.*no_active_intent/s);
});

test('what is not governed is answered with silence', () => {
  for (const [program, silence] of [
    ['claude-code', ''],
    ['cursor', '{}\n'],
    ['generic', '{"verdict":"allow","reason":""}\n'],
  ]) {
    assert.deepEqual(run(['hook', program], { input: '{', cwd: home }), { status: 0, stdout: silence, stderr: '' });
  }
});

test('intents are listed and checked', () => {
  const listed = run(['intents', 'list']);
  assert.deepEqual(listed, {
    status: 0,
    stdout: 'ID       STATUS       NAME             SCOPE\nINT-001  IN_PROGRESS  Login hardening  src/auth/**\n',
    stderr: '',
  });
  assert.deepEqual(run(['intents', 'check', '--workspace', workspace]).stdout, '1 intent, 0 errors, 0 warnings\n');
  assert.equal(JSON.parse(run(['intents', 'list', '--json']).stdout).intents[0].id, 'INT-001');
});

test('a command is for the nearest workspace above its folder', () => {
  const place = createGovernedWorkspace();
  after(place.discard);
  const env = { HOME: place.home, PATH: process.env.PATH };
  writeFiles(place.home, { '.tollgate/config.json': '{}', 'plain/x': '', 'tree/.git': 'gitdir: elsewhere', 'tree/deep/x': '' });
  const list = (cwd) => run(['intents', 'list'], { cwd, env });
  assert.match(list(path.join(place.workspace, 'src/auth')).stdout, /\nINT-001 /);
  assert.match(list(path.join(place.home, 'tree/deep')).stderr, /^tollgate: there is no \.orchestration\/ in the workspace/);
  // In the home folder, .tollgate/ holds the settings of the user.
  const plain = path.join(place.home, 'plain');
  const marks = '.orchestration/, .tollgate/ or .git';
  assert.deepEqual(list(plain), {
    status: 2,
    stdout: '',
    stderr: `tollgate: neither \`${plain}\` nor a folder above it has ${marks}; name the workspace with --workspace DIR\n`,
  });
});

test('sessions are listed with what they did last', () => {
  const place = createGovernedWorkspace();
  after(place.discard);
  const at = { cwd: place.workspace, env: { HOME: place.home, PATH: process.env.PATH } };
  assert.match(run(['intents', 'sessions'], at).stderr, /^tollgate: no session has selected an intent or changed anything yet/);
  const gate = createTollgate({
    workspace: place.workspace,
    state: path.join(place.home, '.local/state/tollgate'),
    home: place.home,
  });
  gate.selectIntent('s1', 'INT-001');
  gate.preTool({ session: 's2', call: 'c1', tool: 'write', args: { path: 'README.md', content: 'x' }, host: 'opencode' });
  const table =
    /^SESSION  INTENT   PROGRAM   LAST ACTIVE {15}LAST CALL\ns2 {7}- {8}opencode  \S+Z  write, denied\ns1 {7}INT-001  - {9}\S+Z  -\n$/;
  assert.match(run(['intents', 'sessions'], at).stdout, table);
  assert.equal(JSON.parse(run(['intents', 'sessions', '--json'], at).stdout).default, null);
});

test('what was changed is listed, verified, exported and mapped', () => {
  const place = createGovernedWorkspace();
  after(place.discard);
  const at = { cwd: place.workspace, env: { HOME: place.home, PATH: process.env.PATH } };
  assert.match(run(['trace'], at).stderr, /the ledger is empty/);
  const gate = createTollgate({
    workspace: place.workspace,
    state: path.join(place.home, '.local/state/tollgate'),
    home: place.home,
  });
  gate.selectIntent('s1', 'INT-001');
  for (const number of [1, 2, 3]) {
    const call = { session: 's1', call: `c${number}`, tool: 'write', args: { path: `src/auth/${number}.ts`, content: 'x' } };
    gate.preTool(call);
    writeFiles(place.workspace, { [`src/auth/${number}.ts`]: 'x' });
    gate.postTool(call, number === 2 ? { status: 'failed', error: 'no\u001b[2J room\nat all' } : { status: 'done' });
  }
  const { status, stdout } = run(['trace', 'list'], at);
  assert.equal(status, 0);
  assert.match(stdout, /^[0-9a-f]{8}  \S+Z  INT-001  s1  write  FILE_CREATION  src\/auth\/1.ts:1  -→[0-9a-f]{8}\n/);
  assert.match(stdout, /failed\n    no\\u\{1b\}\[2J room …\n/);
  assert.equal(run(['trace', '--limit', '2'], at).stdout.match(/^[0-9a-f]{8}  /gm).length, 2);
  assert.equal(run(['trace', '--file', './src/auth/3.ts'], at).stdout.split('\n').length, 2);
  assert.match(run(['trace', '--file', '/etc/hosts'], at).stderr, /`\/etc\/hosts` is not in the workspace/);
  assert.match(
    run(['trace', 'verify'], at).stdout,
    /^ok: 1 file, 3 lines, 3 entries\nkeep this to prove later that nothing was cut off: sha256:/,
  );
  assert.equal(run(['trace', 'export'], at).stdout.trim().split('\n').length, 3);
  const output = path.join(place.home, 'out.jsonl');
  assert.match(run(['trace', 'export', '-o', output], at).stderr, /^tollgate: wrote 3 records to `/);
  assert.deepEqual(
    fs.readdirSync(place.home).filter((name) => name.endsWith('.tmp')),
    [],
  );
  assert.equal(run(['trace', 'map'], at).stdout, 'wrote .orchestration/intent_map.md: 1 intent, 2 files\n');
  const ledger = path.join(place.workspace, '.orchestration/agent_trace.jsonl');
  fs.writeFileSync(ledger, fs.readFileSync(ledger, 'utf8').replace('"success":true', '"success":false'));
  const broken = run(['trace', 'verify'], at);
  assert.equal(broken.status, 1);
  assert.match(broken.stdout, /not ok: /);
});
