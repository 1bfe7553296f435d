// The command hook in the real Claude Code. `cargo xtask test` runs this. A run takes seconds, so one run plays many turns.
import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';
import { installRecorder } from '../recorder.mjs';
import { assertListed } from '../tools.mjs';
import { OUT_OF_SCOPE, assertWork, workWithHelp } from '../work.mjs';
import { ESCAPING, FILES, NOTE, STOPPED, WORKING, assertFiles, assertOneSession, removeCommandFromPath } from '../workspace.mjs';
import { resultsIn, textsIn } from './messages.mjs';
import { play } from './session.mjs';

const SELECT = 'mcp__tollgate__select_active_intent';

const bash = (command) => ['Bash', { command, description: 'Runs it' }];

/** In the background, it would end at an unpredictable time. */
const HELPER = { description: 'Help', subagent_type: 'general-purpose', run_in_background: false };

/** What the model does in the session, with the expected result of each call: `[tool, args, expected]`. */
function work(root) {
  const at = (name) => path.join(root, name);
  const save = (name, content) => ['Write', { file_path: at(name), content }];
  return [
    [[...save('src/auth/new.ts', 'new\n'), /Tollgate: no intent is active; call select_active_intent first/]],
    [[SELECT, { intent_id: 'INT-9' }, /Tollgate: there is no intent `INT-9`; choose one of: INT-001/]],
    [[SELECT, { intent_id: 'INT-001' }, /^The active intent is INT-001 .*\n\n<active_intent>/]],
    [[...save('src/auth/new.ts', 'new\n'), /^File created successfully/]],
    [
      [...save('src/billing/new.ts', 'x'), OUT_OF_SCOPE],
      [...save('.orchestration/constraints.yaml', ''), /Tollgate: .*governs the gate itself/],
    ],
    [
      [...bash('echo x > src/billing/pay.ts'), OUT_OF_SCOPE],
      [...bash('cd src && echo x | tee auth/ok.ts billing/pay.ts'), OUT_OF_SCOPE],
      [...bash(ESCAPING), STOPPED],
    ],
    [['Read', { file_path: at('src/auth/login.ts') }, /two/]],
    [['Edit', { file_path: at('src/auth/login.ts'), old_string: 'two', new_string: 'TWO' }, /updated successfully/]],
    [[...bash('echo half > src/auth/half.txt; exit 3'), /^Exit code 3/]],
    [[...save('src/auth/limits.ts', '// [[rate-limits]]\n'), /^File created successfully/]],
    [[...bash(WORKING), /^ONE\nTWO/]],
    [[...bash('sh build.sh'), STOPPED]],
    [['Agent', { ...HELPER, prompt: 'SUBTASK: as [[rate-limits]] says' }, /The sub-agent is done\./]],
    'All done.',
    [[...save('src/auth/late.ts', 'late\n'), /^File created successfully/]],
    'Done again.',
  ];
}

/** The same for the sub-agent. */
function help(root) {
  return [
    [['Write', { file_path: path.join(root, 'src/auth/child.ts'), content: 'child\n' }, /^File created successfully/]],
    [['Write', { file_path: path.join(root, 'src/billing/child.ts'), content: 'child\n' }, OUT_OF_SCOPE]],
    'The sub-agent is done.',
  ];
}

function assertTold(request, turns) {
  const calls = turns.filter((turn) => typeof turn !== 'string').flat();
  const told = resultsIn(request);
  assert.equal(told.length, calls.length);
  calls.forEach(([tool, args, expected], index) => {
    const { text, failed } = told[index];
    assert.match(text, expected, `${tool} ${JSON.stringify(args)}`);
    assert.equal(failed, /Tollgate: |^Exit code [123]/.test(text), `${tool} ${JSON.stringify(args)}`);
  });
}

/** The hooks answered every event without output, except for the change that a command made out of scope. */
function assertHooksSucceeded(events) {
  const answers = events.filter(({ subtype }) => subtype === 'hook_response');
  for (const { hook_name, outcome, exit_code, stderr } of answers) {
    assert.deepEqual([outcome, exit_code], ['success', 0], hook_name);
    assert.match(stderr, /^(tollgate: warn: files outside the scope of INT-001 changed .*\n)?$/, hook_name);
  }
  assert.deepEqual([...new Set(answers.map(({ hook_event }) => hook_event))].sort(), [
    'PostToolUse',
    'PostToolUseFailure',
    'PreToolUse',
    'SessionStart',
    'Stop',
    'SubagentStart',
    'UserPromptSubmit',
  ]);
}

/** The context that hooks gave the model at one event, in the order of the conversation. */
function contexts(request, event) {
  const reminders = textsIn(request)
    .split('<system-reminder>')
    .map((text) => text.split('</system-reminder>')[0]);
  return reminders.filter((text) => text.startsWith(`\n${event} hook additional context: `));
}

test('a session in Claude Code, and its continuation', async (t) => {
  const played = await play({ files: FILES, prepare: installRecorder, ...workWithHelp(work, help) });
  t.after(played.discard);
  const { workspace, requests, events } = played;
  assertHooksSucceeded(events);
  assertListed('claude-code', events.find(({ subtype }) => subtype === 'init').tools);
  const servers = events.find(({ subtype }) => subtype === 'init').mcp_servers;
  assert.deepEqual(
    servers.map(({ name, status }) => [name, status]),
    [['tollgate', 'connected']],
  );
  assert.deepEqual(
    events.filter(({ type }) => type === 'result').map(({ result }) => result),
    ['All done.', 'Done again.'],
  );

  const begins = (words) => (request) => JSON.stringify(request.messages?.[0] ?? '').includes(words);
  const [last, child] = [requests.findLast(begins('Please do the work')), requests.findLast(begins('SUBTASK'))];
  assertTold(last, work(workspace));
  assertTold(child, help(workspace));

  // The active intent is reported as soon as there is one, not at every prompt, and to the sub-agent too.
  for (const [event, times] of [
    ['SessionStart', 1],
    ['UserPromptSubmit', 0],
  ]) {
    assert.deepEqual(contexts(requests.find(begins('Please do the work')), event), []);
    const told = contexts(last, event);
    assert.equal(told.length, times, event);
    for (const text of told) assert.match(text, /<active_intent>\nIntent: INT-001 [^]*Write src\/auth\/new\.ts 1-1\n/);
  }
  assert.match(contexts(child, 'SubagentStart').join(), /<active_intent>\nIntent: INT-001 /);
  // Knowledge about a call is given beside it; only the sub-agent's prompt is rewritten.
  assert.deepEqual(
    contexts(last, 'PreToolUse:Write').map((text) => text.includes(NOTE)),
    [true],
  );
  assert.match(textsIn(child), /Five attempts a minute per account\.\n[^]*\nSUBTASK: as \[\[rate-limits\]\] says/);

  const entries = assertWork(played, {
    program: 'claude-code',
    create: 'Write',
    edit: 'Edit',
    shell: 'Bash',
    argument: 'file_path',
    reportsFailure: true,
  });
  assertOneSession(entries, events[0].session_id);
});

test('where the command is missing, Claude Code runs everything, and says so', async (t) => {
  const save = (root) => ['Write', { file_path: path.join(root, 'src/billing/new.ts'), content: 'x\n' }];
  const scripts = (root) => [{ when: 'Go', turns: [[save(root)], 'Done.'] }];
  const played = await play({ files: FILES, prompts: ['Go'], scripts, prepare: removeCommandFromPath });
  t.after(played.discard);
  assertFiles(played.workspace, { 'src/billing/new.ts': 'x\n' });
  const warnings = played.events.filter(({ level }) => level === 'warning').map(({ content }) => content);
  assert.match(warnings.join('\n'), /A hook gave no usable answer, so it didn't check this action/);
});
