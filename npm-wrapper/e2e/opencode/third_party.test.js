// A third-party hook, written in JavaScript, in the real OpenCode: it runs in a process of its own beside the plugin.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { resultsIn } from '../chat.mjs';
import { filesWithSample, whyMissing } from '../samples.mjs';
import { assertResults, modelTurns } from '../turns.mjs';
import { FILES } from '../workspace.mjs';
import { play, wrapper } from './session.mjs';

const bash = (command) => ['bash', { command, description: 'Runs it' }];

const WORK = [
  [['select_active_intent', { intent_id: 'INT-001' }, /^The active intent is INT-001/]],
  [[...bash('git add src/auth && git commit -m stuff'), /^Tollgate: hook guard: .*\(guard\/commit_message\)$/]],
  [[...bash('git push origin HEAD:main'), /^Tollgate: hook guard: .*\(guard\/protected_branch\)$/]],
  [[...bash('echo fine'), /fine/]],
  'All done.',
];

test('a third-party hook objects to calls that the gate lets pass', { skip: whyMissing('commit-rules') }, async (t) => {
  const played = await play({
    files: {
      ...FILES,
      ...filesWithSample('commit-rules'),
      '.opencode/plugin/tollgate.js': fs.readFileSync(path.join(wrapper, 'dist/opencode.bundle.js')),
    },
    prepare: ({ person }) => assert.match(person('hooks', 'approve', 'guard', '--yes'), /commit-rules/),
    scripts: () => [{ when: 'Please do the work', turns: modelTurns(WORK) }],
  });
  t.after(played.discard);
  const last = played.requests.filter(({ tools }) => (tools ?? []).length > 0).at(-1);
  assertResults(resultsIn(last), WORK);
});
