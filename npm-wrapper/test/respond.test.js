// Events of agent programs, answered by a gate that stays open.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { createTollgate, locate } from 'tollgate';
import { createTemporaryFolder, createGovernedWorkspace, writeFiles } from './workspace_folder.js';

const discards = [];
after(() => discards.forEach((discard) => discard()));

function gateWith({ user = [], ...options } = {}) {
  const { workspace, home, discard } = createGovernedWorkspace();
  discards.push(discard);
  writeFiles(home, { '.tollgate/hooks.json': JSON.stringify({ hooks: user }) });
  const gate = createTollgate({ workspace, home, ...options });
  gate.selectIntent('s1', 'INT-001');
  return { gate, workspace, home };
}

const write = (file, more = {}) => ({
  session_id: 's1',
  hook_event_name: 'PreToolUse',
  tool_name: 'Write',
  tool_input: { file_path: file, content: 'x' },
  tool_use_id: 'c1',
  ...more,
});

test('a call is answered in the words of its program, whatever form its payload has', async () => {
  const { gate } = gateWith();
  const payload = write('README.md');
  for (const form of [payload, JSON.stringify(payload), Buffer.from(JSON.stringify(payload))]) {
    const { text, refused } = await gate.respond('claude-code', undefined, form);
    const { permissionDecision, permissionDecisionReason } = JSON.parse(text).hookSpecificOutput;
    assert.deepEqual([permissionDecision, permissionDecisionReason], ['deny', refused]);
    assert.match(refused, /^Tollgate: `README.md` is not in the scope .* \(out_of_scope\)$/);
  }
  assert.deepEqual(await gate.respond('claude-code', undefined, write('src/auth/a.ts')), { text: '', refused: undefined });
});

test('hooks are waited for, each answer for itself', async () => {
  const script = 'cat > /dev/null; sleep 0.2; echo \'{"continue": false, "systemMessage": "Not today."}\'';
  const { gate } = gateWith({ user: [{ id: 'a', trigger: 'before_tool', command: ['sh', '-c', script] }] });
  const answers = await Promise.all(
    ['c1', 'c2', 'c3'].map((id) => gate.respond('claude-code', undefined, write('src/auth/a.ts', { tool_use_id: id }))),
  );
  assert.deepEqual(
    answers.map(({ refused }) => refused),
    Array(3).fill('Tollgate: Not today. (hook)'),
  );
  await gate.close();
});

for (const [mode, decision] of [
  ['default', 'ask'],
  ['bypassPermissions', 'deny'],
]) {
  test(`an instance that fails answers by the next one: ${mode}`, async () => {
    let broken = false;
    const log = [];
    const clock = () => {
      if (broken) {
        broken = false;
        throw new Error('broken');
      }
      return Date.now();
    };
    const { gate } = gateWith({ clock, log: (level, message) => log.push([level, message]) });
    await gate.respond('claude-code', undefined, write('src/auth/a.ts'));
    broken = true;
    const { text, refused } = await gate.respond('claude-code', undefined, write('src/auth/a.ts', { permission_mode: mode }));
    assert.equal(JSON.parse(text).hookSpecificOutput.permissionDecision, decision);
    assert.match(refused, /\(gate_fault\)$/);
    assert.ok(log.some(([level]) => level === 'error'));
    assert.deepEqual(await gate.respond('claude-code', undefined, write('src/auth/b.ts', { tool_use_id: 'c2' })), {
      text: '',
      refused: undefined,
    });
  });
}

test('where there is not even that, the promise says that the call must not run', async () => {
  let broken = false;
  const { gate } = gateWith({
    log: () => {
      if (broken) throw new Error('broken');
    },
    clock: () => {
      if (broken) throw new Error('broken');
      return Date.now();
    },
  });
  broken = true;
  await assert.rejects(gate.respond('claude-code', undefined, write('src/auth/a.ts')), {
    code: 'no_answer',
    message: /must not run/,
  });
});

test('a program that is not known is refused', async () => {
  const { gate } = gateWith();
  const { text, refused } = await gate.respond('emacs', undefined, {});
  assert.equal(text, '');
  assert.match(refused, /`emacs` is not a program/);
});

test('the nearest governed folder is found, whatever lies between', () => {
  const { folder, discard } = createTemporaryFolder();
  discards.push(discard);
  writeFiles(folder, { 'w/.orchestration/active_intents.yaml': '', 'w/sub/.git/HEAD': '', 'w/sub/deep/x': '', 'other/x': '' });
  const home = path.join(folder, 'home');
  const from = (cwd, payload = {}) =>
    locate('claude-code', undefined, payload, { cwd: path.join(folder, cwd), home, variables: {} });
  const found = path.join(folder, 'w');
  assert.equal(from('w'), found);
  assert.equal(from('w/sub/deep'), found);
  assert.equal(from('other'), undefined);
  assert.equal(from('other', { cwd: path.join(folder, 'w/sub') }), found);
  fs.symlinkSync(path.join(folder, 'w/sub'), path.join(folder, 'other/link'));
  assert.equal(from('other/link'), found);
  const variables = { CLAUDE_PROJECT_DIR: found };
  assert.equal(locate('claude-code', undefined, {}, { cwd: path.join(folder, 'other'), home, variables }), found);
});

test('a gate that is closed leaves nothing behind, and can be used again', async () => {
  const { gate, workspace } = gateWith({ user: [{ id: 'a', trigger: 'saved', command: ['sh', '-c', 'sleep 0.1; touch ran'] }] });
  gate.hooks.notify('saved', {});
  await new Promise((resolve) => setTimeout(resolve, 20));
  await gate[Symbol.asyncDispose]();
  assert.ok(fs.existsSync(path.join(workspace, 'ran')));
  assert.equal(gate.preTool({ session: 's1', call: 'c', tool: 'write', args: { path: 'src/auth/a.ts' } }).code, 'in_scope');
});
