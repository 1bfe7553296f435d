// The OpenCode plugin, called as OpenCode calls it, with a real gate.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { createTollgate, digest, listOwnTools, version } from 'tollgate';
import * as entry from 'tollgate/opencode';
import { startPlugin } from './opencode_host.js';
import { createTemporaryFolder, createGovernedWorkspace, stateOf, writeFiles } from './workspace_folder.js';

const dist = fileURLToPath(new URL('../dist', import.meta.url));
const discards = [];
after(() => discards.forEach((discard) => discard()));

const NOTE = { '.tollgate/concepts/rate-limits.md': 'Five attempts a minute.\n' };
const done = (output = 'ok') => ({ title: '', metadata: { exit: 0 }, output });
const content = (text) => ({ content: [{ type: 'text', text }] });
const make = { command: 'false > src/auth/login.ts' };
const mcp = { path: 'src/auth/login.ts', content: '' };
const login = { filePath: 'src/auth/login.ts', content: 'new' };
/** The number of calls the gate remembers because they have not been settled. */
function countOpenCalls(home) {
  const folder = path.join(stateOf(home), 'calls');
  return fs.existsSync(folder) ? fs.readdirSync(folder).length : 0;
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

test('every file of the plugin exports nothing but a plugin', async () => {
  const bundle = await import(pathToFileURL(path.join(dist, 'opencode.bundle.js')).href);
  const cjs = createRequire(import.meta.url)('tollgate/opencode');
  const server = await import('tollgate/server');
  for (const module of [entry, bundle, cjs, server]) {
    assert.deepEqual(Object.keys(module), ['default']);
    assert.equal(module.default.id, 'tollgate');
    assert.equal(typeof module.default.server, 'function');
  }
});

test('a bundle works alone in a folder, and says once that it is live', async () => {
  const { folder, discard } = createTemporaryFolder();
  discards.push(discard);
  const file = path.join(folder, 'tollgate.mjs');
  fs.copyFileSync(path.join(dist, 'opencode.bundle.js'), file);
  const { default: plugin } = await import(pathToFileURL(file).href);
  const { log, before, workspace } = await startPlugin({ plugin });
  await assert.rejects(before('write', login), { message: /^Tollgate: no intent is active/ });
  assert.deepEqual(log, [
    { service: 'tollgate', level: 'info', message: `Tollgate ${version} (${digest}) is live; \`${workspace}\` is governed` },
  ]);
});

for (const [what, selected, tool, args] of [
  ['no intent', false, 'write', login],
  ['another file', true, 'write', { filePath: 'src/billing/pay.ts', content: '' }],
  ['a patch', true, 'apply_patch', { patchText: '*** Begin Patch\n*** Delete File: package.json\n*** End Patch' }],
  ['a redirection', true, 'bash', { command: 'echo > src/billing/pay.ts' }],
  ['an MCP tool', true, 'files_write_file', { path: 'src/billing/pay.ts', content: '' }],
  ['what a person would be asked about', true, 'bash', { command: 'eval "$X" > src/auth/login.ts' }],
]) {
  test(`blocked for ${what}, in exactly the gate's words`, async () => {
    const other = createGovernedWorkspace();
    discards.push(other.discard);
    const gate = createTollgate(other);
    if (selected) gate.selectIntent('s1', 'INT-001');
    const { verdict, code, reason: why } = gate.preTool({ session: 's1', call: 'c1', tool, args, host: 'opencode' });
    assert.notEqual(verdict, 'allow');
    const unasked = verdict === 'ask' ? '; no one can be asked here, so it does not run; let a person run it' : '';
    const reason = `Tollgate: ${why}${unasked} (${code})`;
    const { home, before, select, ledger, failed } = await startPlugin();
    if (selected) await select();
    await assert.rejects(before(tool, args), { message: reason });
    // OpenCode reports this as a failure, but it is not one.
    await failed({ tool, sessionID: 's1', callID: 'c1' }, reason);
    assert.deepEqual([ledger(), countOpenCalls(home)], [[], 0]);
    await select();
    await before('write', login);
    assert.equal(countOpenCalls(home), 1);
  });
}

test('a call that ran is entered once, with its result left as it is', async () => {
  const { workspace, hooks, before, select, ledger, failed } = await startPlugin();
  await select();
  const call = await before('write', login);
  writeFiles(workspace, { 'src/auth/login.ts': 'new' });
  const output = done('Wrote file successfully.');
  await hooks['tool.execute.after'](call, output);
  await hooks['tool.execute.after'](call, output);
  await failed(call, 'Tool execution aborted');
  assert.deepEqual(output, done('Wrote file successfully.'));
  assert.deepEqual(
    ledger().map(({ tool_name, success, session_id }) => [tool_name, success, session_id]),
    [['write', true, 's1']],
  );
});

for (const [what, tool, args, output, entered] of [
  ['a command that exits with an error has run', 'bash', make, { ...done(), metadata: { exit: 1 } }, [true, null]],
  [
    'an MCP tool that says that it failed has failed',
    'files_write_file',
    mcp,
    { ...content('no'), isError: true },
    [false, 'no'],
  ],
  ['an MCP tool that answers has run', 'files_write_file', mcp, content('yes'), [true, null]],
  ['a result that is not valid JSON is entered all the same', 'write', login, { ...done(), metadata: { big: 1n } }, [true, null]],
  ['no result at all is a failure', 'write', login, undefined, [false, 'the tool gave no reason']],
]) {
  test(what, async () => {
    const { workspace, hooks, before, select, ledger } = await startPlugin();
    await select();
    const call = await before(tool, args);
    writeFiles(workspace, { 'src/auth/login.ts': 'changed' });
    await hooks['tool.execute.after'](call, output);
    assert.deepEqual(
      ledger().map(({ success, error }) => [success, error]),
      [entered],
    );
  });
}

for (const [what, error, rejected, entered] of [
  ['failed', 'Could not find oldString', false, [[false, 'Could not find oldString']]],
  ['was refused by a person', 'The user rejected permission to use this specific tool call.', false, []],
  ['was refused by a rule of a person', 'The user has specified a rule which prevents you from using it', false, []],
  [
    'was refused, where that is recorded',
    'The user rejected permission to use it',
    true,
    [[false, 'The user rejected permission to use it']],
  ],
]) {
  test(`a call that ${what} is told by an event only, and settled once`, async () => {
    const files = { '.tollgate/config.json': JSON.stringify({ record: { rejected } }) };
    const { before, select, failed, ledger } = await startPlugin({ files });
    await select();
    const call = await before('write', login);
    await failed(call, error);
    await failed(call, error);
    assert.deepEqual(
      ledger().map((entry) => [entry.success, entry.error]),
      entered,
    );
  });
}

for (const [what, gone] of [
  ['rests', ({ event }) => event('session.idle', { sessionID: 's1' })],
  ['is deleted', ({ event }) => event('session.deleted', { sessionID: 's1', info: { id: 's1' } })],
  ['ends with OpenCode', ({ hooks }) => hooks.dispose()],
]) {
  test(`a call of whose end nobody told is settled when its session ${what}`, async () => {
    const { hooks, before, event, select, ledger } = await startPlugin();
    for (const session of ['s1', 's2']) await event('session.created', { sessionID: session, info: { id: session } });
    await select();
    const call = await before('write', login);
    await event('session.idle', { sessionID: 's2' });
    assert.deepEqual(ledger(), []);
    await gone({ event, hooks });
    await settle();
    await hooks['tool.execute.after'](call, done());
    assert.deepEqual(
      ledger().map(({ success, error }) => [success, error]),
      [[false, 'the tool gave no reason']],
    );
  });
}

test('a sub-agent that was announced by the id of its part is settled too', async () => {
  const { hooks, event, select, ledger } = await startPlugin();
  await select();
  await hooks['tool.execute.before']({ tool: 'write', sessionID: 's1', callID: 'part-1' }, { args: login });
  const part = {
    type: 'tool',
    id: 'part-1',
    callID: 'c9',
    sessionID: 's1',
    tool: 'write',
    state: { status: 'error', error: 'Cancelled' },
  };
  await event('message.part.updated', { part });
  assert.deepEqual(
    ledger().map(({ error }) => error),
    ['Cancelled'],
  );
});

for (const [what, tool, output, shown] of [
  ['the output', 'bash', done('built'), ({ output }) => output],
  ['the content', 'files_run_command', content('built'), ({ content }) => content.map(({ text }) => text).join('\n\n')],
]) {
  test(`what the gate noticed stands behind ${what}`, async () => {
    const { workspace, hooks, before, select, system } = await startPlugin();
    await select();
    const call = await before(tool, { command: 'sh build.sh' });
    writeFiles(workspace, { 'src/billing/made.ts': 'made' });
    await hooks['tool.execute.after'](call, output);
    assert.match(shown(output), /^built\n\n[^]*src\/billing\/made\.ts/);
    assert.equal((await system('s1')).length, 1);
  });
}

test('what is known goes into the arguments in place, and nothing else is touched', async () => {
  const { before, select } = await startPlugin({ files: NOTE });
  await select();
  const args = { command: "echo '[[rate-limits]]'", description: 'Says it', timeout: 5_000 };
  const { args: same } = await before('bash', args);
  assert.equal(same, args);
  assert.equal(args.timeout, 5_000);
  assert.match(args.command, /^echo '\[\[rate-limits\]\]'\n# [^]*# Five attempts a minute\./);
  assert.deepEqual(Object.keys(args), ['command', 'description', 'timeout']);
});

test('what cannot go into the arguments is told behind the result', async () => {
  const { workspace, hooks, before, select, system } = await startPlugin({ files: NOTE });
  await select();
  const args = { filePath: 'src/auth/login.ts', content: '// [[rate-limits]]' };
  const call = await before('write', args);
  assert.deepEqual(args, { filePath: 'src/auth/login.ts', content: '// [[rate-limits]]' });
  writeFiles(workspace, { 'src/auth/login.ts': args.content });
  const output = done('written');
  await hooks['tool.execute.after'](call, output);
  assert.match(output.output, /^written\n\n[^]*Five attempts/);
  assert.equal((await system('s1')).length, 1);
});

test('a notice that no result can carry is told to the agent once, whatever else OpenCode asks a model', async () => {
  const { workspace, hooks, before, failed, select, system } = await startPlugin();
  await select();
  const call = await before('bash', { command: 'sh build.sh' });
  writeFiles(workspace, { 'src/billing/made.ts': 'made' });
  await failed(call, 'Tool execution aborted');
  const told = async (agent, session = 's1') => {
    const texts = await system(session);
    await hooks['chat.params']({ sessionID: session, agent, model: {} }, {});
    return texts.some((text) => text.includes('they are recorded as FAIL'));
  };
  assert.deepEqual(
    [await told('build', 's2'), await told('title'), await told('build'), await told('build')],
    [false, true, true, false],
  );
});

test('the prompt has the intent, and only where there is one', async () => {
  const { system, select } = await startPlugin();
  assert.deepEqual(await system('s1'), []);
  await select();
  const [context, ...more] = await system('s1');
  assert.match(context, /^<active_intent>\nIntent: INT-001/);
  assert.deepEqual(more, []);
  assert.deepEqual(await system('s2'), []);
  assert.deepEqual(await system(undefined), []);
});

test("a sub-agent's session works for its parent's intent", async () => {
  const { before, event, select } = await startPlugin();
  await select('parent');
  const created = (id, parentID) => event('session.created', { sessionID: id, info: { id, parentID, directory: '/' } });
  // OpenCode does not await this.
  void created('child', 'parent');
  void created('stranger', undefined);
  await before('write', login, 'child');
  await assert.rejects(before('write', login, 'stranger'), { message: /^Tollgate: no intent is active/ });
});

test('an agent finds, takes up and lays down an intent, in the words of every other program', async () => {
  const { workspace, home, hooks, before } = await startPlugin();
  const use = (name, args = {}) => hooks.tool[name].execute(args, { sessionID: 's1' });
  assert.deepEqual(JSON.parse(await use('list_intents')).active, null);
  await assert.rejects(use('select_active_intent', { intent_id: 'INT-9' }), {
    message: /^there is no intent `INT-9`; choose one of: INT-001/,
  });
  await assert.rejects(use('select_active_intent'), { message: /^`select_active_intent` needs `intent_id`/ });
  assert.match(
    await use('select_active_intent', { intent_id: 'INT-001' }),
    /^The active intent is INT-001 \(Login hardening, IN_PROGRESS\).*\n\n<active_intent>/,
  );
  const { active, intents } = JSON.parse(await use('list_intents'));
  assert.deepEqual([active, intents.map(({ id }) => id)], ['INT-001', ['INT-001']]);
  const offered = listOwnTools(createTollgate({ workspace, home }));
  for (const [name, tool] of Object.entries(hooks.tool)) {
    const { description, schema } = offered.find((own) => own.name === name);
    assert.deepEqual([tool.description, tool.args], [description, schema.properties]);
    await before(name, { intent_id: 'INT-001' });
  }
  await use('clear_active_intent');
  await assert.rejects(before('write', login), { message: /^Tollgate: no intent is active/ });
});

test('paths are meant from the folder that OpenCode works in', async () => {
  const { before, select } = await startPlugin({ folder: 'src/auth' });
  await select();
  await before('write', { filePath: 'login.ts', content: '' });
  await assert.rejects(before('write', { filePath: 'src/auth/login.ts', content: '' }, 's2'), {
    message: /^Tollgate: no intent is active/,
  });
  await assert.rejects(before('write', { filePath: '../login.ts', content: '' }), {
    message: /^Tollgate: `src\/login.ts` is not in the scope/,
  });
});

test('a workspace without governance is left alone', async () => {
  const { folder, discard } = createTemporaryFolder();
  writeFiles(folder, { 'home/.keep': '', 'work/.tollgate/concepts/rate-limits.md': 'Five attempts a minute.\n' });
  const place = { workspace: path.join(folder, 'work'), home: path.join(folder, 'home'), discard };
  const { hooks, log, before, event, system, workspace } = await startPlugin({ place });
  const args = { command: "echo '[[rate-limits]]' > x" };
  await event('session.created', { sessionID: 's1', info: { id: 's1', parentID: 's0' } });
  await hooks['chat.message']({ sessionID: 's1' }, { parts: [{ type: 'text', text: 'Do it' }] });
  const call = await before('bash', args);
  const output = done();
  await hooks['tool.execute.after'](call, output);
  await event('session.idle', { sessionID: 's1' });
  await event('session.deleted', { info: { id: 's1' } });
  await hooks.dispose();
  assert.deepEqual([args, output, await system('s1')], [{ command: "echo '[[rate-limits]]' > x" }, done(), []]);
  assert.equal(hooks.tool, undefined);
  assert.match(log[0].message, /is not governed/);
  assert.deepEqual(fs.readdirSync(workspace, { recursive: true }).sort(), [
    '.tollgate',
    '.tollgate/concepts',
    '.tollgate/concepts/rate-limits.md',
  ]);
});

const allows = JSON.stringify({ on_fault: 'allow' });
for (const [ofUser, ofWorkspace, governance, stopped] of [
  [undefined, undefined, true, true],
  [undefined, allows, true, true],
  ['{"on_fault": "al', undefined, true, true],
  ['{"on_fault": "allow"} /* open', undefined, true, true],
  ['{"on_fault": "// \\", allow"}', undefined, true, true],
  [`"${'\\"'.repeat(400_000)}`, undefined, true, true],
  [`"${'\\"'.repeat(400_000)}\\`, undefined, true, true],
  // As the gate reads it: not UTF-8, a comma without an item, and a carriage return that ends a comment.
  [Buffer.from('{"on_fault": "allow"} // f\xfcr', 'latin1'), undefined, true, true],
  ['{"on_fault": "allow", "x": [,]}', undefined, true, true],
  ['{"on_fault": "allow"} // x\r{', undefined, true, true],
  ['\ufeff{"on_fault": "allow"}', undefined, true, false],
  ['{\n  // "on_fault": "ask"\n  "x": [1, /* , */], "y": "/* \\" ,]", // ,}\n  "on_fault": "allow",\n}', undefined, true, false],
  [allows, undefined, true, false],
  [undefined, undefined, false, false],
]) {
  const setting = `user ${JSON.stringify(ofUser?.toString().slice(0, 50))}, workspace ${ofWorkspace}, ${governance ? '' : 'not '}governed`;
  const files = ofWorkspace === undefined ? {} : { '.tollgate/config.json': ofWorkspace };
  const choose = ({ home }) => {
    if (ofUser === undefined) return;
    fs.mkdirSync(path.join(home, '.tollgate'), { recursive: true });
    fs.writeFileSync(path.join(home, '.tollgate', 'config.json'), ofUser);
  };
  const judge = async (call, log, said) => {
    if (stopped) await assert.rejects(call, { message: said });
    else await call;
    await settle();
    const faults = log.filter(({ level }) => level === 'error').map(({ message }) => message);
    assert.ok(faults.length > 0);
    // No message contains a call's arguments.
    for (const fault of faults) assert.ok(!fault.includes('s3cret'), fault);
  };

  test(`a gate that cannot answer: ${setting}`, async () => {
    const { before, log, workspace, home } = await startPlugin({ files });
    choose({ home });
    if (!governance) fs.rmSync(path.join(workspace, '.orchestration'), { recursive: true });
    const said =
      /^Tollgate: the arguments cannot be written as JSON \(invalid_input\), so the call could not be checked; no one can be asked here/;
    await judge(before('write', { ...login, content: 's3cret', big: 1n }), log, said);
  });

  test(`a gate that cannot start: ${setting}`, async () => {
    const { folder, discard } = createTemporaryFolder();
    discards.push(discard);
    for (const name of ['opencode.js', 'index.js']) fs.copyFileSync(path.join(dist, name), path.join(folder, name));
    fs.writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}');
    const { default: plugin } = await import(pathToFileURL(path.join(folder, 'opencode.js')).href);
    const place = createGovernedWorkspace();
    choose(place);
    if (!governance) fs.rmSync(path.join(place.workspace, '.orchestration'), { recursive: true });
    const { before, log } = await startPlugin({ files, plugin, place });
    await judge(
      before('write', { ...login, content: 's3cret' }),
      log,
      /^Tollgate: cannot read .* \(component_missing\), so the call could not be checked/,
    );
  });
}

for (const debug of [false, true]) {
  test(`lines for debugging are logged where they are wanted: ${debug}`, async () => {
    const { before, log, select } = await startPlugin({ debug });
    await select();
    await before('write', login);
    await settle();
    assert.equal(
      log.some(({ level }) => level === 'debug'),
      debug,
    );
  });
}

test('a log that fails fails nobody else', async () => {
  const { workspace, home, discard } = createGovernedWorkspace();
  discards.push(discard);
  for (const log of [() => assert.fail('no log'), async () => assert.fail('no log')]) {
    const hooks = await entry.default.server({ client: { app: { log } }, directory: workspace }, { home });
    await assert.rejects(hooks['tool.execute.before']({ tool: 'write', sessionID: 's1', callID: 'c1' }, { args: login }), {
      message: /^Tollgate: no intent is active/,
    });
  }
});
