// Commands reserved for a person: someone at a terminal can run them and an agent cannot, however it disguises itself.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { atTerminal, withoutTerminal } from './terminal.js';
import { createGovernedWorkspace } from './workspace_folder.js';

const command = [process.execPath, fileURLToPath(new URL('../bin/tollgate.js', import.meta.url))];

const SELECT = ['intents', 'select', 'INT-001'];
const OF_SESSION = [...SELECT, '--session', 's1'];

/** A governed workspace, and functions that run commands in it. */
function createWorkspace(t) {
  const { workspace, home, discard } = createGovernedWorkspace();
  t.after(discard);
  const given = { cwd: workspace, env: { HOME: home, PATH: '/usr/bin:/bin' } };
  const ledger = path.join(workspace, '.orchestration/agent_trace.jsonl');
  const entries = () =>
    fs.existsSync(ledger)
      ? fs
          .readFileSync(ledger, 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
      : [];
  /** A program that runs under an agent program's name. */
  const agent = (name, program) => {
    const copy = path.join(home, name);
    if (!fs.existsSync(copy)) fs.copyFileSync(program, copy);
    return copy;
  };
  return { workspace, given, entries, agent };
}

test('a person at a terminal selects an intent, and it is entered', { skip: process.platform !== 'linux' }, (t) => {
  const { given, entries } = createWorkspace(t);
  for (const [words, typed, status, said] of [
    [SELECT, 'y\n', 0, 'every new session now works for INT-001 (Login hardening)\n'],
    [OF_SESSION, 'yes\n', 0, 'session s1 now works for INT-001 (Login hardening)\n'],
    [[...SELECT, '--yes'], 'n\n', 0, 'every new session now works for INT-001 (Login hardening)\n'],
    [['intents', 'select', '--none'], 'y\n', 0, 'every new session now has no intent\n'],
    [['intents', 'select', '--none', '--session', 's1'], 'y\n', 0, 'session s1 now has no intent\n'],
    [SELECT, 'n\n', 1, ''],
    [SELECT, '\n', 1, ''],
    [SELECT, 'yesterday\n', 1, ''],
  ]) {
    const before = entries().length;
    const { status: ended, stdout, stderr } = atTerminal([...command, ...words], { ...given, typed });
    assert.deepEqual([ended, stdout, stderr], [status, said, status === 0 ? '' : 'tollgate: nothing was changed\n']);
    assert.equal(entries().length, before + (status === 0 ? 1 : 0));
    if (status !== 0) continue;
    const { tool_name, scope_validation, person } = entries().at(-1);
    assert.deepEqual([tool_name, scope_validation], ['intents select', 'EXEMPT']);
    assert.deepEqual(
      person.command,
      words.filter((word) => word !== '--yes'),
    );
    assert.notEqual(person.user, '');
  }
  assert.match(withoutTerminal([...command, 'trace'], given).stdout, /by \S+: intents select INT-001\n/);
  assert.match(withoutTerminal([...command, 'trace', 'verify'], given).stdout, /^ok: 1 file, 5 lines/);
});

test('nobody else does', { skip: process.platform !== 'linux' }, (t) => {
  const { workspace, given, entries, agent } = createWorkspace(t);
  const shell = [agent('claude', '/bin/sh'), '-c', '"$@"; exit $?', 'sh'];
  const set = (name) => ({ ...given, env: { ...given.env, [name]: '1' } });
  for (const words of [SELECT, OF_SESSION]) {
    const plain = [...command, ...words, '--yes'];
    for (const [{ status, stdout, stderr }, why] of [
      [withoutTerminal(plain, given), /there is no terminal/],
      [atTerminal([...shell, ...plain], given), /was started by Claude Code \(process \d+\)/],
      [atTerminal([...shell, 'env', '-i', ...plain], given), /was started by Claude Code/],
      [withoutTerminal([...shell, ...plain], given), /was started by Claude Code/],
      [atTerminal(plain, { ...given, terminal: agent('gemini', '/usr/bin/script') }), /was started by Gemini CLI/],
      [atTerminal(plain, set('CLAUDECODE')), /the variable `CLAUDECODE` is set/],
      [atTerminal(plain, set('CODEX_THREAD_ID')), /was started by Codex/],
    ]) {
      assert.deepEqual([status, stdout], [2, ''], stderr);
      assert.match(stderr, why);
      assert.match(stderr, /^tollgate: `tollgate intents select` may only be run by a person/);
    }
  }
  const { stdout } = withoutTerminal([...command, ...SELECT, '--json'], given);
  assert.equal(JSON.parse(stdout).error.code, 'needs_person');
  // The caller of a command controls its environment, its options and the workspace's files.
  fs.mkdirSync(path.join(given.env.HOME, '.tollgate'));
  for (const folder of [given.env.HOME, workspace]) {
    fs.mkdirSync(path.join(folder, '.tollgate'), { recursive: true });
    fs.writeFileSync(path.join(folder, '.tollgate/config.json'), '{"unattended": true}');
  }
  assert.equal(withoutTerminal([...command, ...SELECT, '--yes'], given).status, 2);
  assert.deepEqual(entries(), []);
  for (const words of [['intents', 'list'], ['intents', 'check'], ['intents', 'sessions'], ['trace'], ['trace', 'verify']]) {
    assert.equal(withoutTerminal([...shell, ...command, ...words], set('CLAUDECODE')).status, 0, words.join(' '));
  }
});

test('eval below an agent program refuses what only a person may send', { skip: process.platform !== 'linux' }, (t) => {
  const { workspace, given, agent } = createWorkspace(t);
  const lines = [
    // Whoever sends the lines cannot say that no agent program started it.
    { op: 'person', step: 'look', above: [], variables: [] },
    { op: 'hooks', do: 'approve', id: 'x' },
    { op: 'archive', step: 'plan' },
    { op: 'select-default', intent: 'INT-001' },
    { op: 'select-intent', session: 's1', intent: 'INT-001' },
  ];
  const input = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  const words = ['-c', '"$@"; exit $?', 'sh', ...command, 'eval', '--workspace', workspace];
  const { stdout, stderr } = spawnSync(agent('opencode', '/bin/sh'), words, { ...given, input, encoding: 'utf8' });
  const codes = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).error?.code);
  assert.deepEqual(codes, [undefined, 'needs_person', 'needs_person', 'needs_person', undefined], stderr);
});
