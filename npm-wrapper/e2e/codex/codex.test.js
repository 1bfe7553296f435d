// The command hook in the real Codex. `cargo xtask test` runs this. A run takes seconds, so one run plays many turns.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installRecorder } from '../recorder.mjs';
import { assertListed } from '../tools.mjs';
import { assertResults, modelTurns } from '../turns.mjs';
import { OUT_OF_SCOPE, assertWork, workWithHelp } from '../work.mjs';
import { ESCAPING, FILES, NOTE, STOPPED, WORKING, assertFiles, assertOneSession, removeCommandFromPath } from '../workspace.mjs';
import { resultsIn, textsIn } from './responses.mjs';
import { play } from './session.mjs';

const SELECT = 'mcp__tollgate/select_active_intent';

const patch = (...lines) => ['apply_patch', ['*** Begin Patch', ...lines, '*** End Patch', ''].join('\n')];
const shell = (cmd) => ['exec_command', { cmd }];

/** The sub-agent's id, as reported to the model. */
const spawnedIn = (asked) => JSON.parse(resultsIn(asked).findLast((text) => text.includes('agent_id'))).agent_id;

/** What the model does in the session, with the expected result of each call. */
const WORK = [
  [[...patch('*** Add File: src/auth/new.ts', '+new'), /Tollgate: no intent is active; call select_active_intent first/]],
  [[SELECT, { intent_id: 'INT-9' }, /Tollgate: there is no intent `INT-9`; choose one of: INT-001/]],
  [[SELECT, { intent_id: 'INT-001' }, /The active intent is INT-001 [^]*<active_intent>/]],
  [[...patch('*** Add File: src/auth/new.ts', '+new'), /^Exit code: 0\n[^]*A src\/auth\/new\.ts/]],
  [
    [...patch('*** Add File: src/billing/new.ts', '+x'), OUT_OF_SCOPE],
    [
      ...patch('*** Update File: src/auth/login.ts', '*** Move to: src/billing/login.ts', '@@', ' one', '-two', '+x'),
      OUT_OF_SCOPE,
    ],
    [...patch('*** Add File: .orchestration/constraints.yaml', '+x'), /Tollgate: .*governs the gate itself/],
  ],
  [
    [...shell('echo x > src/billing/pay.ts'), OUT_OF_SCOPE],
    [...shell('cd src && echo x | tee auth/ok.ts billing/pay.ts'), OUT_OF_SCOPE],
    [...shell("apply_patch <<'P'\n*** Begin Patch\n*** Add File: src/billing/new.ts\n+x\n*** End Patch\nP"), OUT_OF_SCOPE],
    [...shell(ESCAPING), STOPPED],
  ],
  [[...shell('cat src/billing/pay.ts'), /\npay\n/]],
  [[...patch('*** Update File: src/auth/login.ts', '@@', ' one', '-two', '+TWO'), /^Exit code: 0\n/]],
  [[...shell('echo half > src/auth/half.txt; exit 3'), /exited with code 3/]],
  [[...patch('*** Add File: src/auth/limits.ts', '+// [[rate-limits]]'), /^Exit code: 0\n/]],
  [[...shell(WORKING), /\nONE\nTWO\n/]],
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
  [[...patch('*** Add File: src/billing/child.ts', '+child'), OUT_OF_SCOPE]],
  'The sub-agent is done.',
];

test('a session in Codex, and its continuation', async (t) => {
  const script = workWithHelp(
    () => WORK,
    () => HELP,
  );
  const played = await play({ files: FILES, prepare: installRecorder, ...script });
  t.after(played.discard);
  const { requests, events } = played;
  // Hooks see a namespace's name and its tool's name joined.
  const offered = requests[0].tools.flatMap(({ name, type, tools }) => tools?.map((tool) => name + tool.name) ?? [name ?? type]);
  assertListed('codex', offered);
  // The sub-agent has its own conversation.
  const isChilds = (request) => textsIn(request).includes('SUBTASK');
  const [last, child] = [requests.findLast((request) => !isChilds(request)), requests.findLast(isChilds)];
  assertResults(resultsIn(last), WORK);
  assertResults(resultsIn(child), HELP);
  const said = events.filter(({ item }) => item?.type === 'agent_message').map(({ item }) => item.text);
  assert.deepEqual(said, ['All done.', 'Done again.']);
  assert.deepEqual([...new Set(played.trusted.map(([, state]) => state))], ['untrusted']);

  // The active intent is reported as soon as there is one, and to the sub-agent too.
  assert.doesNotMatch(textsIn(requests[0]), /<active_intent>/);
  assert.match(textsIn(last), /<active_intent>\nIntent: INT-001 [^]*apply_patch src\/auth\/new\.ts 1-1\n/);
  assert.match(textsIn(child), /<active_intent>\nIntent: INT-001 /);
  // Knowledge about a call is reported.
  assert.deepEqual(
    [requests[0], last].map((request) => textsIn(request).includes(NOTE)),
    [false, true],
  );

  const entries = assertWork(played, {
    program: 'codex',
    create: 'apply_patch',
    edit: 'apply_patch',
    shell: 'Bash',
    argument: 'command',
  });
  const [session] = events.filter(({ type }) => type === 'thread.started').map(({ thread_id }) => thread_id);
  assertOneSession(entries, session);
});

test('where the command is missing, Codex runs everything', async (t) => {
  const turns = [[[...patch('*** Add File: src/billing/new.ts', '+x'), /^Exit code: 0\n/]], 'Done.'];
  const scripts = () => [{ when: 'Go', turns: modelTurns(turns) }];
  const played = await play({ files: FILES, prompts: ['Go'], scripts, prepare: removeCommandFromPath });
  t.after(played.discard);
  assertResults(resultsIn(played.requests.at(-1)), turns);
  assertFiles(played.workspace, { 'src/billing/new.ts': 'x\n' });
});
