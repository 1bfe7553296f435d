// The command hook inside the real Codex. `cargo xtask test` runs this; a run takes seconds, so one plays many turns.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRecorded, record } from '../recorder.mjs';
import { assertListed } from '../tools.mjs';
import { assertTold, spoken } from '../turns.mjs';
import { ESCAPING, FILES, NOTE, STOPPED, WORKING, assertFiles, brief, ledger, withoutCommand } from '../workspace.mjs';
import { resultsIn, textsIn } from './responses.mjs';
import { play } from './session.mjs';

const OUT = /Tollgate: `src\/billing\/\S+` is not in the scope of INT-001 .*select the intent that owns it \(out_of_scope\)/;

const SELECT = 'mcp__tollgate/select_active_intent';

const patch = (...lines) => ['apply_patch', ['*** Begin Patch', ...lines, '*** End Patch', ''].join('\n')];
const shell = (cmd) => ['exec_command', { cmd }];

/** The id of the sub-agent, which the model was told. */
const spawnedIn = (asked) => JSON.parse(resultsIn(asked).findLast((text) => text.includes('agent_id'))).agent_id;

/** What the model does in the session, with what it has to be told of each call. */
const WORK = [
  [[...patch('*** Add File: src/auth/new.ts', '+new'), /Tollgate: no intent is active; call select_active_intent first/]],
  [[SELECT, { intent_id: 'INT-9' }, /Tollgate: there is no intent `INT-9`; choose one of: INT-001/]],
  [[SELECT, { intent_id: 'INT-001' }, /The active intent is INT-001 [^]*<active_intent>/]],
  [[...patch('*** Add File: src/auth/new.ts', '+new'), /^Exit code: 0\n[^]*A src\/auth\/new\.ts/]],
  [
    [...patch('*** Add File: src/billing/new.ts', '+x'), OUT],
    [...patch('*** Update File: src/auth/login.ts', '*** Move to: src/billing/login.ts', '@@', ' one', '-two', '+x'), OUT],
    [...patch('*** Add File: .orchestration/constraints.yaml', '+x'), /Tollgate: .*governs the gate itself/],
  ],
  [
    [...shell('echo x > src/billing/pay.ts'), OUT],
    [...shell('cd src && echo x | tee auth/ok.ts billing/pay.ts'), OUT],
    [...shell("apply_patch <<'P'\n*** Begin Patch\n*** Add File: src/billing/new.ts\n+x\n*** End Patch\nP"), OUT],
    [...shell(ESCAPING), STOPPED],
  ],
  [[...shell('cat src/billing/pay.ts'), /\npay\n/]],
  [[...patch('*** Update File: src/auth/login.ts', '@@', ' one', '-two', '+TWO'), /^Exit code: 0\n/]],
  [[...shell('echo half > src/auth/half.txt; exit 3'), /exited with code 3/]],
  [[...patch('*** Add File: src/auth/limits.ts', '+// [[rate-limits]]'), /^Exit code: 0\n/]],
  [[...shell(WORKING), /\nONE\ntwo\n/]],
  [[...shell('sh build.sh'), STOPPED]],
  [['get_goal', {}, /"goal":null/]],
  [['multi_agent_v1/spawn_agent', { message: 'SUBTASK' }, /"agent_id"/]],
  [['multi_agent_v1/wait_agent', (asked) => ({ targets: [spawnedIn(asked)], timeout_ms: 60_000 }), /The sub-agent is done\./]],
  'All done.',
  [[...patch('*** Add File: src/auth/late.ts', '+late'), /^Exit code: 0\n/]],
  'Done again.',
];

/** The same for the sub-agent. */
const HELP = [
  [[...patch('*** Add File: src/auth/child.ts', '+child'), /^Exit code: 0\n/]],
  [[...patch('*** Add File: src/billing/child.ts', '+child'), OUT]],
  'The sub-agent is done.',
];

test('a session in Codex, and its continuation', async (t) => {
  const played = await play({
    files: FILES,
    prompts: ['Please do the work', 'Please go on'],
    prepare: record,
    scripts: () => [
      { when: 'SUBTASK', turns: spoken(HELP) },
      { when: 'Please do the work', turns: spoken(WORK) },
    ],
  });
  t.after(played.discard);
  const { workspace, requests, events, tollgate } = played;
  // Hooks see the names of a namespace and of its tool joined.
  const offered = requests[0].tools.flatMap(({ name, type, tools }) => tools?.map((tool) => name + tool.name) ?? [name ?? type]);
  assertListed('codex', offered);
  // The sub-agent's conversation is its own.
  const isChilds = (request) => textsIn(request).includes('SUBTASK');
  const [last, child] = [requests.findLast((request) => !isChilds(request)), requests.findLast(isChilds)];
  assertTold(resultsIn(last), WORK);
  assertTold(resultsIn(child), HELP);
  const said = events.filter(({ item }) => item?.type === 'agent_message').map(({ item }) => item.text);
  assert.deepEqual(said, ['All done.', 'Done again.']);
  assert.deepEqual([...new Set(played.trusted.map(([, state]) => state))], ['untrusted']);

  // What the session works for is told once there is something to tell, and to the sub-agent.
  assert.doesNotMatch(textsIn(requests[0]), /<active_intent>/);
  assert.match(textsIn(last), /<active_intent>\nIntent: INT-001 [^]*apply_patch src\/auth\/new\.ts 1-1\n/);
  assert.match(textsIn(child), /<active_intent>\nIntent: INT-001 /);
  // What is known about a call is told.
  assert.deepEqual(
    [requests[0], last].map((request) => textsIn(request).includes(NOTE)),
    [false, true],
  );

  assertFiles(workspace, {
    'src/auth/limits.ts': '// [[rate-limits]]\n',
    'src/auth/login.ts': 'one\nTWO\n',
    'src/billing/pay.ts': 'pay\n',
    'src/billing/new.ts': null,
    'src/billing/login.ts': null,
    'src/billing/child.ts': null,
    'src/auth/ok.ts': null,
    '.orchestration/constraints.yaml': null,
    // The kernel stopped these, and let the other be.
    'src/billing/hidden.ts': null,
    'src/billing/made.ts': null,
    'src/auth/copy.ts': 'ONE\ntwo\n',
  });
  assertRecorded(played, {
    program: 'codex',
    prompt: 'Please do the work',
    tool: 'apply_patch',
    argument: 'command',
    file: 'src/auth/new.ts',
    also: ['session_end'],
  });
  const entries = ledger(played);
  assert.deepEqual(entries.map(brief), [
    'apply_patch src/auth/new.ts true PASS',
    'apply_patch src/auth/login.ts true PASS',
    // Codex does not say that a command failed.
    'Bash src/auth/half.txt true PASS',
    'apply_patch src/auth/limits.ts true PASS',
    'Bash src/auth/copy.ts true PASS',
    'apply_patch src/auth/child.ts true PASS',
    'apply_patch src/auth/late.ts true PASS',
  ]);
  const [session] = events.filter(({ type }) => type === 'thread.started').map(({ thread_id }) => thread_id);
  assert.deepEqual(new Set(entries.map(({ session_id }) => session_id)), new Set([session]));
  assert.deepEqual(
    entries.filter(({ agent }) => agent).map(({ file }) => file.relative_path),
    ['src/auth/child.ts'],
  );

  const { ok, hosts } = JSON.parse(tollgate('doctor', '--json'));
  assert.equal(ok, true);
  assert.deepEqual(
    hosts.map(({ host, state, tools, commands }) => [host, state, tools, commands]),
    [['codex', 'live', 'every tool', 'confined']],
  );
});

test('where the command is missing, Codex runs everything', async (t) => {
  const turns = [[[...patch('*** Add File: src/billing/new.ts', '+x'), /^Exit code: 0\n/]], 'Done.'];
  const scripts = () => [{ when: 'Go', turns: spoken(turns) }];
  const played = await play({ files: FILES, prompts: ['Go'], scripts, prepare: withoutCommand });
  t.after(played.discard);
  assertTold(resultsIn(played.requests.at(-1)), turns);
  assertFiles(played.workspace, { 'src/billing/new.ts': 'x\n' });
});
