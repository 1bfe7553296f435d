// The command hook in the real Gemini CLI. `cargo xtask test` runs this. A run takes seconds, so one run plays many turns.
import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';
import { installRecorder } from '../recorder.mjs';
import { assertListed } from '../tools.mjs';
import { assertResults, modelTurns } from '../turns.mjs';
import { OUT_OF_SCOPE, assertWork, workWithHelp } from '../work.mjs';
import {
  ESCAPING,
  FILES,
  NOTE,
  STOPPED,
  WORKING,
  assertFiles,
  summarizeEntry,
  readVerifiedLedger,
  disableConfinement,
  removeCommandFromPath,
} from '../workspace.mjs';
import { resultsIn, textsIn } from './contents.mjs';
import { play } from './session.mjs';

const SELECT = 'mcp_tollgate_select_active_intent';

const shell = (command) => ['run_shell_command', { command, description: 'Runs it' }];

/** What the model does in the session, with the expected result of each call. */
function work(root) {
  const at = (name) => path.join(root, name);
  const save = (name, content) => ['write_file', { file_path: name, content }];
  const edit = { instruction: 'Change it', old_string: 'two', new_string: 'TWO' };
  return [
    [[...save(at('src/auth/new.ts'), 'new\n'), /Tollgate: no intent is active; call select_active_intent first/]],
    [[SELECT, { intent_id: 'INT-9' }, /Tollgate: there is no intent `INT-9`; choose one of: INT-001/]],
    [[SELECT, { intent_id: 'INT-001' }, /The active intent is INT-001 [^]*<active_intent>/]],
    [[...save(at('src/auth/new.ts'), 'new\n'), /^Successfully created/]],
    [
      [...save(at('src/billing/new.ts'), 'x'), OUT_OF_SCOPE],
      [...save('src/auth/../billing/new.ts', 'x'), OUT_OF_SCOPE],
      [...save(at('.orchestration/constraints.yaml'), 'x'), /Tollgate: .*governs the gate itself/],
    ],
    [
      [...shell('echo x > src/billing/pay.ts'), OUT_OF_SCOPE],
      [...shell('cd src && echo x | tee auth/ok.ts billing/pay.ts'), OUT_OF_SCOPE],
      [...shell(ESCAPING), STOPPED],
    ],
    [
      ['read_file', { file_path: at('src/billing/pay.ts') }, /^pay\n/],
      ['glob', { pattern: '**/pay.ts' }, /src\/billing\/pay\.ts/],
    ],
    [['replace', { file_path: at('src/auth/login.ts'), ...edit }, /^Successfully modified/]],
    [[...shell('echo half > src/auth/half.txt; exit 3'), /Exit Code: 3/]],
    [[...save(at('src/auth/limits.ts'), '// [[rate-limits]]\n'), /^Successfully created [^]*Five attempts a minute/]],
    [[...shell(WORKING), /ONE\nTWO/]],
    [[...shell('sh build.sh'), STOPPED]],
    [['update_topic', { title: 'Login', summary: 'Hardening', strategic_intent: 'None' }, /^Current topic: "Login"/]],
    [
      [
        'invoke_agent',
        { agent_name: 'generalist', prompt: 'SUBTASK' },
        /^Subagent 'generalist' finished\.\nTermination Reason: GOAL/,
      ],
    ],
    'All done.',
    [[...save(at('src/auth/late.ts'), 'late\n'), /^Successfully created/]],
    'Done again.',
  ];
}

/** The same for the sub-agent. */
function help(root) {
  const save = (name) => ['write_file', { file_path: path.join(root, name), content: 'child\n' }];
  return [
    [[...save('src/auth/child.ts'), /^Successfully created/]],
    [[...save('src/billing/child.ts'), OUT_OF_SCOPE]],
    [['complete_task', { result: { response: 'The sub-agent is done.' } }]],
  ];
}

test('a session in Gemini CLI, and its continuation', async (t) => {
  const played = await play({ files: FILES, prepare: installRecorder, ...workWithHelp(work, help) });
  t.after(played.discard);
  const { workspace, requests, events } = played;
  assertListed(
    'gemini',
    requests[0].tools.flatMap(({ functionDeclarations }) => functionDeclarations.map(({ name }) => name)),
  );
  // The sub-agent has its own conversation. It does not receive the result of the call that ends it.
  const isChilds = (request) => textsIn(request).includes('SUBTASK');
  const [last, child] = [requests.findLast((request) => !isChilds(request)), requests.findLast(isChilds)];
  assertResults(resultsIn(last), work(workspace));
  assertResults(resultsIn(child), help(workspace).slice(0, -1));
  const said = events.filter(({ role }) => role === 'assistant').map(({ content }) => content);
  assert.deepEqual(said, ['All done.', 'Done again.']);

  // The active intent is reported as soon as there is one. Gemini CLI escapes the output of hooks.
  assert.doesNotMatch(textsIn(requests[0]), /active_intent&gt;/);
  assert.match(textsIn(last), /&lt;active_intent&gt;\nIntent: INT-001 [^]*write_file src\/auth\/new\.ts 1-1\n/);
  assert.ok(!textsIn(requests[0]).includes(NOTE));

  const entries = assertWork(played, {
    program: 'gemini',
    create: 'write_file',
    edit: 'replace',
    shell: 'run_shell_command',
    argument: 'file_path',
  });
  const sessions = events.filter(({ type }) => type === 'init').map(({ session_id }) => session_id);
  assert.deepEqual(new Set(entries.map(({ session_id }) => session_id)), new Set(sessions));
});

test('where commands run unconfined, Gemini CLI is told what the reader says', async (t) => {
  const turns = [
    [[SELECT, { intent_id: 'INT-001' }, /The active intent is INT-001/]],
    [[...shell(ESCAPING), /Tollgate: .*a person has to decide/]],
    [[...shell('sh build.sh'), /files outside the scope of INT-001 changed .*`src\/billing\/made\.ts`/]],
    'All done.',
  ];
  const scripts = () => [{ when: 'Go', turns: modelTurns(turns) }];
  const played = await play({ files: FILES, prompts: ['Go'], scripts, prepare: disableConfinement });
  t.after(played.discard);
  assertResults(resultsIn(played.requests.at(-1)), turns);
  assertFiles(played.workspace, { 'src/billing/hidden.ts': null, 'src/billing/made.ts': 'made\n' });
  assert.deepEqual(readVerifiedLedger(played).map(summarizeEntry), ['run_shell_command src/billing/made.ts true FAIL']);
  const { ok, hosts } = JSON.parse(played.tollgate('doctor', '--json'));
  assert.deepEqual([ok, hosts[0].commands], [true, 'unconfined']);
});

test('where the command is missing, Gemini CLI runs nothing', async (t) => {
  const scripts = (root) => [{ when: 'Go', turns: [work(root)[3].map(([tool, args]) => [tool, args]), 'Done.'] }];
  const played = await play({ files: FILES, prompts: ['Go'], scripts, prepare: removeCommandFromPath });
  t.after(played.discard);
  const errors = played.events.filter(({ type }) => type === 'error').map(({ message }) => message);
  assert.match(errors.join('\n'), /Agent execution blocked: .*tollgate/);
  assert.deepEqual(played.requests, []);
  assertFiles(played.workspace, { 'src/auth/new.ts': null });
});
