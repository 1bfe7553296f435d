// The command hook inside the real Copilot command line. `cargo xtask test` runs this; a run takes seconds, so one plays many turns.
import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';
import { resultsIn, systemOf } from '../chat.mjs';
import { assertRecorded, record } from '../recorder.mjs';
import { assertListed } from '../tools.mjs';
import { assertTold, spoken } from '../turns.mjs';
import { ESCAPING, FILES, NOTE, STOPPED, WORKING, assertFiles, brief, ledger, withoutCommand } from '../workspace.mjs';
import { play } from './session.mjs';

const OUT = /Tollgate: `src\/billing\/\S+` is not in the scope of INT-001 .*select the intent that owns it \(out_of_scope\)/;

const SELECT = 'tollgate-select_active_intent';

const shell = (command) => ['bash', { command, description: 'Runs it' }];

/** What the model does in the session, with what it has to be told of each call. */
function work(root) {
  const save = (name, text) => ['create', { path: path.join(root, name), file_text: text }];
  return [
    [[...save('src/auth/new.ts', 'new\n'), /Tollgate: no intent is active; call select_active_intent first/]],
    [[SELECT, { intent_id: 'INT-9' }, /Tollgate: there is no intent `INT-9`; choose one of: INT-001/]],
    [[SELECT, { intent_id: 'INT-001' }, /The active intent is INT-001 [^]*<active_intent>/]],
    [[...save('src/auth/new.ts', 'new\n'), /^Created file/]],
    [
      [...save('src/billing/new.ts', 'x'), OUT],
      [...save('.orchestration/constraints.yaml', 'x'), /Tollgate: .*governs the gate itself/],
    ],
    [
      [...shell('echo x > src/billing/pay.ts'), OUT],
      [...shell('cd src && echo x | tee auth/ok.ts billing/pay.ts'), OUT],
      [...shell(ESCAPING), STOPPED],
    ],
    [['view', { path: path.join(root, 'src/billing/pay.ts') }, /pay/]],
    [['edit', { path: path.join(root, 'src/auth/login.ts'), old_str: 'two', new_str: 'TWO' }, /updated with changes/]],
    [[...shell('echo half > src/auth/half.txt; exit 3'), /completed with exit code 3/]],
    [[...save('src/auth/limits.ts', '// [[rate-limits]]\n'), /^Created file [^]*Five attempts a minute/]],
    [[...shell(WORKING), /ONE\ntwo/]],
    [[...shell('sh build.sh'), STOPPED]],
    'All done.',
    [[...save('src/auth/late.ts', 'late\n'), /^Created file/]],
    'Done again.',
  ];
}

test('a session in Copilot, and its continuation', async (t) => {
  const played = await play({
    files: FILES,
    prompts: ['Please do the work', 'Please go on'],
    prepare: record,
    scripts: (root) => [{ when: 'Please do the work', turns: spoken(work(root)) }],
  });
  t.after(played.discard);
  const { workspace, requests, outputs, tollgate } = played;
  assertListed(
    'copilot',
    requests[0].tools.map((tool) => tool.function.name).filter((name) => !name.startsWith('tollgate-')),
  );
  assertTold(resultsIn(requests.at(-1)), work(workspace));
  assert.deepEqual(
    outputs.map((output) => /^(All done|Done again)\.$/m.test(output)),
    [true, true],
  );
  assert.ok(!systemOf(requests[0]).includes(NOTE));

  assertFiles(workspace, {
    'src/auth/limits.ts': '// [[rate-limits]]\n',
    'src/auth/login.ts': 'one\nTWO\n',
    'src/billing/pay.ts': 'pay\n',
    'src/billing/new.ts': null,
    'src/auth/ok.ts': null,
    '.orchestration/constraints.yaml': null,
    // The kernel stopped these, and let the other be.
    'src/billing/hidden.ts': null,
    'src/billing/made.ts': null,
    'src/auth/copy.ts': 'ONE\ntwo\n',
  });
  assertRecorded(played, {
    program: 'copilot',
    prompt: 'Please do the work',
    tool: 'create',
    argument: 'path',
    file: 'src/auth/new.ts',
    also: ['session_end'],
  });
  const entries = ledger(played);
  assert.deepEqual(entries.map(brief), [
    'create src/auth/new.ts true PASS',
    'edit src/auth/login.ts true PASS',
    // Copilot does not say that a command failed.
    'bash src/auth/half.txt true PASS',
    'create src/auth/limits.ts true PASS',
    'bash src/auth/copy.ts true PASS',
    'create src/auth/late.ts true PASS',
  ]);
  assert.equal(new Set(entries.map(({ session_id }) => session_id)).size, 1);

  const { ok, hosts } = JSON.parse(tollgate('doctor', '--json'));
  assert.equal(ok, true);
  assert.deepEqual(
    hosts.map(({ host, state, tools, commands }) => [host, state, tools, commands]),
    [['copilot', 'live', 'every tool', 'confined']],
  );
});

test('where the command is missing, Copilot denies every call', async (t) => {
  const turns = [[[...shell('echo x > src/auth/x.ts'), /^Denied by preToolUse hook .*\(hook errored\)/]], 'Done.'];
  const played = await play({
    files: FILES,
    prompts: ['Go'],
    scripts: () => [{ when: 'Go', turns: spoken(turns) }],
    prepare: withoutCommand,
  });
  t.after(played.discard);
  assertTold(resultsIn(played.requests.at(-1)), turns);
  assertFiles(played.workspace, { 'src/auth/x.ts': null });
});
