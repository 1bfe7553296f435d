// The workspace's hooks, as the OpenCode plugin calls them.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { startPlugin } from './opencode_host.js';
import { createGovernedWorkspace, stateOf, writeFiles } from './workspace_folder.js';

/** The plugin with a user hook for each trigger. The hook records its input and answers with the entry in `answers`. */
async function startWithHooks(answers) {
  const place = createGovernedWorkspace();
  const heard = path.join(place.home, 'heard');
  const script = 'cat >> "$1"; echo >> "$1"; echo "$2"';
  const hook = ([trigger, answer]) => ({
    id: trigger,
    trigger,
    command: ['sh', '-c', script, 'sh', heard, JSON.stringify(answer)],
  });
  writeFiles(place.home, { '.tollgate/hooks.json': JSON.stringify({ hooks: Object.entries(answers).map(hook) }), heard: '' });
  const lines = () =>
    fs
      .readFileSync(heard, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  return { ...(await startPlugin({ place })), lines };
}

const login = { filePath: 'src/auth/login.ts', content: 'new' };
const parts = [
  { type: 'text', text: 'Do it' },
  { type: 'text', text: 'read a file', synthetic: true },
];

test('a whole session is told, in order', async () => {
  const triggers = ['session_start', 'before_agent', 'before_tool', 'after_tool', 'after_model', 'after_agent', 'session_end'];
  const { workspace, hooks, event, select, before, failed, lines } = await startWithHooks(
    Object.fromEntries(triggers.map((name) => [name, {}])),
  );
  const session = { sessionID: 's1' };
  void event('session.created', { ...session, info: { id: 's1' } });
  await hooks['chat.message'](session, { parts });
  await select();
  const call = await before('write', login);
  await hooks['tool.execute.after'](call, { title: 't', metadata: {}, output: 'ok' });
  await failed(await before('write', login), 'no');
  await hooks['experimental.text.complete'](session, { text: 'Done.' });
  void event('session.idle', session);
  await hooks.dispose();
  const session_ = { session_id: 's1', program: 'opencode', cwd: workspace };
  const ran = { ...session_, tool_name: 'write', call_id: 'c1', args: login };
  const fell = { ...ran, call_id: 'c2' };
  assert.deepEqual(
    lines().map(({ event, session_id, data }) => [event, session_id, data]),
    [
      ['session_start', 's1', { ...session_, source: 'startup' }],
      ['before_agent', 's1', { ...session_, prompt: 'Do it' }],
      ['before_tool', 's1', ran],
      ['after_tool', 's1', { ...ran, status: 'done', success: true, result: 'ok' }],
      ['before_tool', 's1', fell],
      ['after_tool', 's1', { ...fell, status: 'failed', success: false, error: 'no' }],
      ['after_model', 's1', { ...session_, reply: { text: 'Done.' } }],
      ['after_agent', 's1', { ...session_, response: 'Done.', tool_calls: ['write', 'write'] }],
      ['session_end', 's1', session_],
    ],
  );
});

test('a session that OpenCode goes on with begins anew for hooks', async () => {
  const { hooks, lines } = await startWithHooks({ session_start: {}, before_agent: {} });
  await hooks['chat.message']({ sessionID: 's1' }, { parts });
  await hooks['chat.message']({ sessionID: 's1' }, { parts });
  await hooks.dispose();
  assert.deepEqual(
    lines().map(({ event, data }) => [event, data.source]),
    [
      ['session_start', 'resume'],
      ['before_agent', undefined],
      ['before_agent', undefined],
    ],
  );
});

test("a model that is about to be asked is told of, OpenCode's own errands are not", async () => {
  const { hooks, lines } = await startWithHooks({ before_model: {} });
  const model = { id: 'm', providerID: 'p' };
  await hooks['chat.params']({ sessionID: 's1', agent: 'title', model, provider: { options: { apiKey: 's3cret' } } }, {});
  await hooks['chat.params'](
    { sessionID: 's1', agent: { name: 'build' }, model, provider: { options: { apiKey: 's3cret' } } },
    {},
  );
  await hooks.dispose();
  assert.deepEqual(
    lines().map(({ data }) => data.request),
    [{ agent: 'build', model: 'm', provider: 'p' }],
  );
  assert.ok(!JSON.stringify(lines()).includes('s3cret'));
});

test('a hook stops a call, which is then not under way any more', async () => {
  const { hooks, select, before, home, ledger } = await startWithHooks({
    before_tool: { continue: false, systemMessage: 'Not today.' },
  });
  await select();
  await assert.rejects(before('write', login), { message: 'Tollgate: Not today. (hook)' });
  await hooks.dispose();
  assert.deepEqual([ledger(), fs.readdirSync(path.join(stateOf(home), 'calls'))], [[], []]);
});

test('a hook stops the agent', async () => {
  const { hooks } = await startWithHooks({ before_agent: { continue: false, systemMessage: 'Not today.' } });
  await assert.rejects(hooks['chat.message']({ sessionID: 's1' }, { parts }), { message: 'Tollgate: Not today. (hook)' });
  await hooks.dispose();
});

test('what hooks say is told to the model once', async () => {
  const say = (systemMessage) => ({ continue: true, systemMessage });
  const { hooks, event, system, before } = await startWithHooks({
    session_start: say('start'),
    before_agent: say('agent'),
    before_tool: say('tool'),
  });
  void event('session.created', { sessionID: 's1', info: { id: 's1' } });
  await hooks['chat.message']({ sessionID: 's1' }, { parts });
  const told = async () => {
    const texts = await system('s1');
    await hooks['chat.params']({ sessionID: 's1', agent: 'build' });
    return texts;
  };
  assert.deepEqual(await told(), ['start\n\nagent']);
  await before('read', { filePath: 'src/auth/login.ts' });
  assert.deepEqual([await told(), await told()], [['tool'], []]);
  await hooks.dispose();
});

/** A hook that has not been approved. */
const waiting = { '.tollgate/hooks.json': JSON.stringify({ hooks: [{ id: 'lint', trigger: 'on_never', command: ['true'] }] }) };

test('what a person must know is shown to them, once a session and not for sub-agents', async () => {
  const { event, hooks, toasts, log } = await startPlugin({ files: waiting });
  await event('session.created', { sessionID: 's1', info: { id: 's1' } });
  await event('session.created', { sessionID: 's2', info: { id: 's2', parentID: 's1' } });
  await hooks['chat.message']({ sessionID: 's1' }, { parts });
  const [{ message, variant, duration }, ...more] = toasts;
  assert.deepEqual([more, variant, typeof duration], [[], 'warning', 'number']);
  assert.match(message, /^Tollgate: hooks that do not run, because their current version is not approved: `lint`/);
  assert.ok(log.some((line) => line.level === 'warn' && line.message === message));
  await hooks.dispose();
});

test('the same where OpenCode goes on with a session and does not tell so', async () => {
  const { hooks, toasts } = await startPlugin({ files: { '.orchestration/active_intents.yaml': '[{id: A' } });
  await hooks['chat.message']({ sessionID: 's1' }, { parts });
  await hooks['chat.message']({ sessionID: 's1' }, { parts });
  assert.equal(toasts.length, 1);
  assert.match(toasts[0].message, /^Tollgate: governance is off, because the intents were never readable/);
  await hooks.dispose();
});

test('nothing is shown where all is well', async () => {
  const { event, hooks, toasts } = await startPlugin();
  await event('session.created', { sessionID: 's1', info: { id: 's1' } });
  await hooks['chat.message']({ sessionID: 's2' }, { parts });
  assert.deepEqual(toasts, []);
  await hooks.dispose();
});

const windows = [
  ['a version that cannot show anything', null],
  ['a run without a window', async () => Promise.reject(new Error('no window'))],
  [
    'a client that throws',
    () => {
      throw new Error('no window');
    },
  ],
];
for (const [name, showToast] of windows) {
  test(`${name} keeps nobody from working`, async () => {
    const { event, before, select, log, hooks } = await startPlugin({ files: waiting, showToast });
    await event('session.created', { sessionID: 's1', info: { id: 's1' } });
    await select();
    await before('write', login);
    assert.ok(log.some(({ message }) => message.includes('hooks that do not run')));
    await hooks.dispose();
  });
}
