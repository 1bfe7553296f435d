// The command hook inside the real Gemini CLI. `cargo xtask test` runs this; a run takes seconds, so one plays many turns.
import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';
import { assertRecorded, record } from '../recorder.mjs';
import { assertListed } from '../tools.mjs';
import { assertTold, spoken } from '../turns.mjs';
import {
  ESCAPING,
  FILES,
  NOTE,
  STOPPED,
  WORKING,
  assertFiles,
  brief,
  ledger,
  unconfined,
  withoutCommand,
} from '../workspace.mjs';
import { resultsIn, textsIn } from './contents.mjs';
import { play } from './session.mjs';

const OUT = /Tollgate: `src\/billing\/\S+` is not in the scope of INT-001 .*select the intent that owns it \(out_of_scope\)/;

const SELECT = 'mcp_tollgate_select_active_intent';

const shell = (command) => ['run_shell_command', { command, description: 'Runs it' }];

/** What the model does in the session, with what it has to be told of each call. */
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
      [...save(at('src/billing/new.ts'), 'x'), OUT],
      [...save('src/auth/../billing/new.ts', 'x'), OUT],
      [...save(at('.orchestration/constraints.yaml'), 'x'), /Tollgate: .*governs the gate itself/],
    ],
    [
      [...shell('echo x > src/billing/pay.ts'), OUT],
      [...shell('cd src && echo x | tee auth/ok.ts billing/pay.ts'), OUT],
      [...shell(ESCAPING), STOPPED],
    ],
    [
      ['read_file', { file_path: at('src/billing/pay.ts') }, /^pay\n/],
      ['glob', { pattern: '**/pay.ts' }, /src\/billing\/pay\.ts/],
    ],
    [['replace', { file_path: at('src/auth/login.ts'), ...edit }, /^Successfully modified/]],
    [[...shell('echo half > src/auth/half.txt; exit 3'), /Exit Code: 3/]],
    [[...save(at('src/auth/limits.ts'), '// [[rate-limits]]\n'), /^Successfully created [^]*Five attempts a minute/]],
    [[...shell(WORKING), /ONE\ntwo/]],
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
    [[...save('src/billing/child.ts'), OUT]],
    [['complete_task', { result: { response: 'The sub-agent is done.' } }]],
  ];
}

test('a session in Gemini CLI, and its continuation', async (t) => {
  const played = await play({
    files: FILES,
    prompts: ['Please do the work', 'Please go on'],
    prepare: record,
    scripts: (root) => [
      { when: 'SUBTASK', turns: spoken(help(root)) },
      { when: 'Please do the work', turns: spoken(work(root)) },
    ],
  });
  t.after(played.discard);
  const { workspace, requests, events, tollgate } = played;
  assertListed(
    'gemini',
    requests[0].tools.flatMap(({ functionDeclarations }) => functionDeclarations.map(({ name }) => name)),
  );
  // The sub-agent's conversation is its own. It is not told what came of the call that ends it.
  const isChilds = (request) => textsIn(request).includes('SUBTASK');
  const [last, child] = [requests.findLast((request) => !isChilds(request)), requests.findLast(isChilds)];
  assertTold(resultsIn(last), work(workspace));
  assertTold(resultsIn(child), help(workspace).slice(0, -1));
  const said = events.filter(({ role }) => role === 'assistant').map(({ content }) => content);
  assert.deepEqual(said, ['All done.', 'Done again.']);

  // What the session works for is told once there is something to tell. Gemini CLI escapes what hooks say.
  assert.doesNotMatch(textsIn(requests[0]), /active_intent&gt;/);
  assert.match(textsIn(last), /&lt;active_intent&gt;\nIntent: INT-001 [^]*write_file src\/auth\/new\.ts 1-1\n/);
  assert.ok(!textsIn(requests[0]).includes(NOTE));

  assertFiles(workspace, {
    'src/auth/limits.ts': '// [[rate-limits]]\n',
    'src/auth/login.ts': 'one\nTWO\n',
    'src/billing/pay.ts': 'pay\n',
    'src/billing/new.ts': null,
    'src/billing/child.ts': null,
    'src/auth/ok.ts': null,
    '.orchestration/constraints.yaml': null,
    // The kernel stopped these, and let the other be.
    'src/billing/hidden.ts': null,
    'src/billing/made.ts': null,
    'src/auth/copy.ts': 'ONE\ntwo\n',
  });
  assertRecorded(played, {
    program: 'gemini',
    prompt: 'Please do the work',
    tool: 'write_file',
    argument: 'file_path',
    file: 'src/auth/new.ts',
    also: ['session_end'],
  });
  const entries = ledger(played);
  assert.deepEqual(entries.map(brief), [
    'write_file src/auth/new.ts true PASS',
    'replace src/auth/login.ts true PASS',
    // Gemini CLI does not say that a command failed.
    'run_shell_command src/auth/half.txt true PASS',
    'write_file src/auth/limits.ts true PASS',
    'run_shell_command src/auth/copy.ts true PASS',
    'write_file src/auth/child.ts true PASS',
    'write_file src/auth/late.ts true PASS',
  ]);
  const sessions = events.filter(({ type }) => type === 'init').map(({ session_id }) => session_id);
  assert.deepEqual(new Set(entries.map(({ session_id }) => session_id)), new Set(sessions));

  const { ok, hosts } = JSON.parse(tollgate('doctor', '--json'));
  assert.equal(ok, true);
  assert.deepEqual(
    hosts.map(({ host, state, tools, commands }) => [host, state, tools, commands]),
    [['gemini', 'live', 'every tool', 'confined']],
  );
});

test('where commands run unconfined, Gemini CLI is told what the reader says', async (t) => {
  const turns = [
    [[SELECT, { intent_id: 'INT-001' }, /The active intent is INT-001/]],
    [[...shell(ESCAPING), /Tollgate: .*a person has to decide/]],
    [[...shell('sh build.sh'), /files outside the scope of INT-001 changed .*`src\/billing\/made\.ts`/]],
    'All done.',
  ];
  const scripts = () => [{ when: 'Go', turns: spoken(turns) }];
  const played = await play({ files: FILES, prompts: ['Go'], scripts, prepare: unconfined });
  t.after(played.discard);
  assertTold(resultsIn(played.requests.at(-1)), turns);
  assertFiles(played.workspace, { 'src/billing/hidden.ts': null, 'src/billing/made.ts': 'made\n' });
  assert.deepEqual(ledger(played).map(brief), ['run_shell_command src/billing/made.ts true FAIL']);
  const { ok, hosts } = JSON.parse(played.tollgate('doctor', '--json'));
  assert.deepEqual([ok, hosts[0].commands], [true, 'unconfined']);
});

test('where the command is missing, Gemini CLI runs nothing', async (t) => {
  const scripts = (root) => [{ when: 'Go', turns: [work(root)[3].map(([tool, args]) => [tool, args]), 'Done.'] }];
  const played = await play({ files: FILES, prompts: ['Go'], scripts, prepare: withoutCommand });
  t.after(played.discard);
  const errors = played.events.filter(({ type }) => type === 'error').map(({ message }) => message);
  assert.match(errors.join('\n'), /Agent execution blocked: .*tollgate/);
  assert.deepEqual(played.requests, []);
  assertFiles(played.workspace, { 'src/auth/new.ts': null });
});
