// The command hook inside the real Claude Code. `cargo xtask test` runs this; a run takes seconds, so one plays many turns.
import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';
import { assertRecorded, record } from '../recorder.mjs';
import { assertListed } from '../tools.mjs';
import { spoken } from '../turns.mjs';
import { ESCAPING, FILES, NOTE, STOPPED, WORKING, assertFiles, brief, ledger, withoutCommand } from '../workspace.mjs';
import { resultsIn, textsIn } from './messages.mjs';
import { play } from './session.mjs';

const OUT = /Tollgate: `src\/billing\/\S+` is not in the scope of INT-001 .*select the intent that owns it \(out_of_scope\)/;

const SELECT = 'mcp__tollgate__select_active_intent';

const bash = (command) => ['Bash', { command, description: 'Runs it' }];

/** Behind the back of the session it would end at a time of its own. */
const HELPER = { description: 'Help', subagent_type: 'general-purpose', run_in_background: false };

/** What the model does in the session, with what it has to be told of each call: `[tool, args, expected]`. */
function work(root) {
  const at = (name) => path.join(root, name);
  const save = (name, content) => ['Write', { file_path: at(name), content }];
  return [
    [[...save('src/auth/new.ts', 'new\n'), /Tollgate: no intent is active; call select_active_intent first/]],
    [[SELECT, { intent_id: 'INT-9' }, /Tollgate: there is no intent `INT-9`; choose one of: INT-001/]],
    [[SELECT, { intent_id: 'INT-001' }, /^The active intent is INT-001 .*\n\n<active_intent>/]],
    [[...save('src/auth/new.ts', 'new\n'), /^File created successfully/]],
    [
      [...save('src/billing/new.ts', 'x'), OUT],
      [...save('.orchestration/constraints.yaml', ''), /Tollgate: .*governs the gate itself/],
    ],
    [
      [...bash('echo x > src/billing/pay.ts'), OUT],
      [...bash('cd src && echo x | tee auth/ok.ts billing/pay.ts'), OUT],
      [...bash(ESCAPING), STOPPED],
    ],
    [['Read', { file_path: at('src/auth/login.ts') }, /two/]],
    [['Edit', { file_path: at('src/auth/login.ts'), old_string: 'two', new_string: 'TWO' }, /updated successfully/]],
    [[...bash('echo half > src/auth/half.txt; exit 3'), /^Exit code 3/]],
    [[...save('src/auth/limits.ts', '// [[rate-limits]]\n'), /^File created successfully/]],
    [[...bash(WORKING), /^ONE\ntwo/]],
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
    [['Write', { file_path: path.join(root, 'src/billing/child.ts'), content: 'child\n' }, OUT]],
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

/** The hooks answered every event in silence, with nothing to complain of but what a command changed out of scope. */
function assertHooked(events) {
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

/** What hooks told the model at one event, in the order of the conversation. */
function contexts(request, event) {
  const reminders = textsIn(request)
    .split('<system-reminder>')
    .map((text) => text.split('</system-reminder>')[0]);
  return reminders.filter((text) => text.startsWith(`\n${event} hook additional context: `));
}

test('a session in Claude Code, and its continuation', async (t) => {
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
  assertHooked(events);
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

  // What the session works for is told once there is something to tell, not at every prompt, and to the sub-agent.
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
  // What is known about a call is told beside it; only the sub-agent's prompt is rewritten.
  assert.deepEqual(
    contexts(last, 'PreToolUse:Write').map((text) => text.includes(NOTE)),
    [true],
  );
  assert.match(textsIn(child), /Five attempts a minute per account\.\n[^]*\nSUBTASK: as \[\[rate-limits\]\] says/);

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
    program: 'claude-code',
    prompt: 'Please do the work',
    tool: 'Write',
    argument: 'file_path',
    file: 'src/auth/new.ts',
    also: ['session_end'],
  });
  const entries = ledger(played);
  assert.deepEqual(entries.map(brief), [
    'Write src/auth/new.ts true PASS',
    'Edit src/auth/login.ts true PASS',
    'Bash src/auth/half.txt false PASS',
    'Write src/auth/limits.ts true PASS',
    'Bash src/auth/copy.ts true PASS',
    'Write src/auth/child.ts true PASS',
    'Write src/auth/late.ts true PASS',
  ]);
  assert.deepEqual(new Set(entries.map(({ session_id }) => session_id)), new Set([events[0].session_id]));
  assert.deepEqual(
    entries.filter(({ agent }) => agent).map(({ file }) => file.relative_path),
    ['src/auth/child.ts'],
  );

  const { ok, hosts } = JSON.parse(tollgate('doctor', '--json'));
  assert.equal(ok, true);
  assert.deepEqual(
    hosts.map(({ host, state, tools, commands }) => [host, state, tools, commands]),
    [['claude-code', 'live', 'every tool', 'confined']],
  );
});

test('where the command is missing, Claude Code runs everything, and says so', async (t) => {
  const save = (root) => ['Write', { file_path: path.join(root, 'src/billing/new.ts'), content: 'x\n' }];
  const scripts = (root) => [{ when: 'Go', turns: [[save(root)], 'Done.'] }];
  const played = await play({ files: FILES, prompts: ['Go'], scripts, prepare: withoutCommand });
  t.after(played.discard);
  assertFiles(played.workspace, { 'src/billing/new.ts': 'x\n' });
  const warnings = played.events.filter(({ level }) => level === 'warning').map(({ content }) => content);
  assert.match(warnings.join('\n'), /A hook gave no usable answer, so it didn't check this action/);
});
