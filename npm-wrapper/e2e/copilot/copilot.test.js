// The command hook in the real Copilot command line. `cargo xtask test` runs this. A run takes seconds, so one run plays many
// turns.
import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';
import { resultsIn, systemOf } from '../chat.mjs';
import { installRecorder } from '../recorder.mjs';
import { assertListed } from '../tools.mjs';
import { assertResults, modelTurns } from '../turns.mjs';
import { OUT_OF_SCOPE, assertWork } from '../work.mjs';
import { ESCAPING, FILES, NOTE, STOPPED, WORKING, assertFiles, removeCommandFromPath } from '../workspace.mjs';
import { play } from './session.mjs';

const SELECT = 'tollgate-select_active_intent';

const shell = (command) => ['bash', { command, description: 'Runs it' }];

/** What the model does in the session, with the expected result of each call. */
function work(root) {
  const save = (name, text) => ['create', { path: path.join(root, name), file_text: text }];
  return [
    [[...save('src/auth/new.ts', 'new\n'), /Tollgate: no intent is active; call select_active_intent first/]],
    [[SELECT, { intent_id: 'INT-9' }, /Tollgate: there is no intent `INT-9`; choose one of: INT-001/]],
    [[SELECT, { intent_id: 'INT-001' }, /The active intent is INT-001 [^]*<active_intent>/]],
    [[...save('src/auth/new.ts', 'new\n'), /^Created file/]],
    [
      [...save('src/billing/new.ts', 'x'), OUT_OF_SCOPE],
      [...save('.orchestration/constraints.yaml', 'x'), /Tollgate: .*governs the gate itself/],
    ],
    [
      [...shell('echo x > src/billing/pay.ts'), OUT_OF_SCOPE],
      [...shell('cd src && echo x | tee auth/ok.ts billing/pay.ts'), OUT_OF_SCOPE],
      [...shell(ESCAPING), STOPPED],
    ],
    [['view', { path: path.join(root, 'src/billing/pay.ts') }, /pay/]],
    [['edit', { path: path.join(root, 'src/auth/login.ts'), old_str: 'two', new_str: 'TWO' }, /updated with changes/]],
    [[...shell('echo half > src/auth/half.txt; exit 3'), /completed with exit code 3/]],
    [[...save('src/auth/limits.ts', '// [[rate-limits]]\n'), /^Created file [^]*Five attempts a minute/]],
    [[...shell(WORKING), /ONE\nTWO/]],
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
    prepare: installRecorder,
    scripts: (root) => [{ when: 'Please do the work', turns: modelTurns(work(root)) }],
  });
  t.after(played.discard);
  const { workspace, requests, outputs } = played;
  assertListed(
    'copilot',
    requests[0].tools.map((tool) => tool.function.name).filter((name) => !name.startsWith('tollgate-')),
  );
  assertResults(resultsIn(requests.at(-1)), work(workspace));
  assert.deepEqual(
    outputs.map((output) => /^(All done|Done again)\.$/m.test(output)),
    [true, true],
  );
  assert.ok(!systemOf(requests[0]).includes(NOTE));

  const entries = assertWork(played, {
    program: 'copilot',
    create: 'create',
    edit: 'edit',
    shell: 'bash',
    argument: 'path',
    hasHelp: false,
  });
  assert.equal(new Set(entries.map(({ session_id }) => session_id)).size, 1);
});

test('where the command is missing, Copilot denies every call', async (t) => {
  const turns = [[[...shell('echo x > src/auth/x.ts'), /^Denied by preToolUse hook .*\(hook errored\)/]], 'Done.'];
  const played = await play({
    files: FILES,
    prompts: ['Go'],
    scripts: () => [{ when: 'Go', turns: modelTurns(turns) }],
    prepare: removeCommandFromPath,
  });
  t.after(played.discard);
  assertResults(resultsIn(played.requests.at(-1)), turns);
  assertFiles(played.workspace, { 'src/auth/x.ts': null });
});
