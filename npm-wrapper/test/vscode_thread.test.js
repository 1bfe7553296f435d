// The worker thread that runs an editor's gates.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as esbuild from 'esbuild';
import { isAlive } from './processes.js';
import { createTemporaryFolder, createGovernedWorkspace, writeFiles } from './workspace_folder.js';

const wrapper = fileURLToPath(new URL('..', import.meta.url));
const worker = pathToFileURL(path.join(wrapper, 'dist/gate-worker.cjs'));
const { folder, discard } = createTemporaryFolder();
const discards = [discard];
let GateThread;

before(async () => {
  const outfile = path.join(folder, 'thread.mjs');
  const entry = path.join(wrapper, 'src/vscode/thread.ts');
  await esbuild.build({ entryPoints: [entry], bundle: true, platform: 'node', format: 'esm', outfile });
  ({ GateThread } = await import(pathToFileURL(outfile).href));
});
after(() => discards.forEach((discard) => discard()));

/** A thread with the gate of a governed workspace open. */
function openThread() {
  const { workspace, home, discard } = createGovernedWorkspace();
  discards.push(discard);
  const news = [];
  const thread = new GateThread(worker, (said) => news.push(said));
  thread.open({ folder: 'f', workspace, home, hooks: true, prompts: false, triggers: [] });
  return { thread, workspace, news };
}

const write = (file) => ({ session: 's1', call: 'c1', tool: 'write_to_file', args: { path: file, content: 'x' } });

test('calls are answered as the gate answers them', async () => {
  const { thread } = openThread();
  assert.equal((await thread.call('f', 'selectIntent', 's1', 'INT-001')).id, 'INT-001');
  assert.equal((await thread.call('f', 'preTool', write('src/auth/login.ts'))).code, 'in_scope');
  assert.equal((await thread.call('f', 'preTool', write('src/pay.ts'))).code, 'out_of_scope');
  assert.match(await thread.call('f', 'context', 's1'), /Login hardening/);
  assert.equal((await thread.call('f', 'augmentWith', write('src/auth/login.ts'), '.')).args.path, 'src/auth/login.ts');
  assert.equal((await thread.call('f', 'perform', { op: 'verify' })).done, true);
  assert.deepEqual(await thread.call('f', 'event', 'before_model', 's1', { a: 1 }), {
    proceed: true,
    systemMessage: null,
    data: { a: 1 },
  });
  await thread.end();
});

test('what takes several turns is done to its end, also when it is asked for twice at once', async () => {
  const { thread, workspace } = openThread();
  const entry = { id: 'x', timestamp: '2026-01-01T00:00:00Z', note: 'y'.repeat(1000) };
  const ledger = path.join(workspace, '.orchestration/agent_trace.jsonl');
  fs.writeFileSync(ledger, `${JSON.stringify(entry)}\n`.repeat(20_000));
  const [one, two] = await Promise.all([
    thread.call('f', 'perform', { op: 'verify' }),
    thread.call('f', 'perform', { op: 'verify' }),
  ]);
  assert.deepEqual([one.done, one.lines], [true, 20_000]);
  assert.deepEqual(two, one);
  await thread.end();
});

for (const [what, method, args, code] of [
  ['an unknown intent', 'selectIntent', ['s1', 'INT-404'], 'unknown_intent'],
  ['a call that is missing', 'preTool', [], 'invalid_input'],
  ['a method that is none', 'constructor', [], 'invalid_input'],
  ['what cannot be copied', 'preTool', [() => {}], 'invalid_input'],
]) {
  test(`${what} is refused as ${code}`, async () => {
    const { thread } = openThread();
    await assert.rejects(thread.call('f', method, ...args), { name: 'TollgateError', code });
    await thread.end();
  });
}

test('a folder that cannot be opened is said in the log and refused', async () => {
  const { thread, news } = openThread();
  thread.open({ folder: 'gone', workspace: path.join(folder, 'gone'), hooks: true, prompts: false, triggers: [] });
  await assert.rejects(thread.call('gone', 'context', 's1'), { code: 'invalid_input' });
  assert.match(news.find(({ type, folder }) => type === 'log' && folder === 'gone').message, /does not exist/);
  await thread.end();
});

test('a folder without trust runs no hook and lets every event pass', async () => {
  const hook = { id: 'h', trigger: 'before_tool', command: ['/bin/sh', '-c', 'echo >> ran; echo \'{"b":2}\''] };
  for (const hooks of [true, false]) {
    const { workspace, home, discard } = createGovernedWorkspace();
    discards.push(discard);
    writeFiles(home, { '.tollgate/hooks.json': JSON.stringify({ hooks: [hook] }) });
    const thread = new GateThread(worker, () => {});
    thread.open({ folder: 'f', workspace, home, hooks, prompts: false, triggers: [] });
    const data = hooks ? { a: 1, b: 2 } : { a: 1 };
    const event = { op: 'event', event: 'before_tool', session: 's1', data: { a: 1 } };
    assert.deepEqual(await thread.call('f', 'event', 'before_tool', 's1', { a: 1 }), {
      proceed: true,
      systemMessage: null,
      data,
    });
    assert.deepEqual(await thread.call('f', 'perform', event), { continue: true, system_message: null, data });
    for (const asked of [
      ['run', 'h'],
      ['perform', { op: 'hooks', do: 'run', id: 'h' }],
    ]) {
      const run = thread.call('f', ...asked);
      if (hooks) await run;
      else await assert.rejects(run, { code: 'invalid_input', message: /trust/ });
    }
    await thread.call('f', 'selectIntent', 's1', 'INT-001');
    const ruling = await thread.call('f', 'perform', { op: 'pre-tool', ...write('src/auth/login.ts') });
    assert.deepEqual([ruling.verdict, ruling.code], ['allow', 'in_scope']);
    // What has been started would be in the journal by the time of the next answer.
    const { records } = await thread.call('f', 'perform', { op: 'hooks', do: 'history' });
    assert.equal(records.length, hooks ? 4 : 0);
    assert.equal(fs.existsSync(path.join(workspace, 'ran')), hooks);
    await thread.end();
  }
});

test('a folder without trust looks nothing up', async () => {
  const argv = ['/bin/sh', '-c', 'echo > ran; echo found'];
  const settings = JSON.stringify({ augment: { sources: [{ name: 'own', command: argv }] } });
  for (const hooks of [true, false]) {
    const { workspace, home, discard } = createGovernedWorkspace();
    discards.push(discard);
    writeFiles(home, { '.tollgate/config.json': JSON.stringify({ augment: { commands: [argv] } }) });
    writeFiles(workspace, { '.tollgate/config.json': settings });
    const thread = new GateThread(worker, () => {});
    thread.open({ folder: 'f', workspace, home, hooks, prompts: false, triggers: [] });
    const call = { session: 's1', call: 'c1', tool: 'write_to_file', args: { path: 'a', content: '[[Login]]' } };
    const plan = await thread.call('f', 'planLookups', call);
    assert.equal(plan.lookups.length, hooks ? 1 : 0, JSON.stringify(plan));
    await thread.call('f', 'augmentWith', call);
    assert.equal(fs.existsSync(path.join(workspace, 'ran')), hooks);
    await thread.end();
  }
});

test('a hook that takes long holds up nothing else, and a folder that is opened again ends it', async () => {
  const { workspace, home, discard } = createGovernedWorkspace();
  discards.push(discard);
  const hook = { id: 'h', trigger: 'before_tool', command: ['/bin/sh', '-c', 'echo $$ > pid; exec sleep 60'] };
  writeFiles(home, { '.tollgate/hooks.json': JSON.stringify({ hooks: [hook] }) });
  const thread = new GateThread(worker, () => {});
  const opening = { folder: 'f', workspace, home, hooks: true, prompts: false, triggers: [] };
  thread.open(opening);
  const run = thread.call('f', 'perform', { op: 'hooks', do: 'run', id: 'h' });
  const waitUntil = async (holds) => {
    for (let tries = 0; !holds(); tries += 1) {
      assert.ok(tries < 1_000);
      await sleep(10);
    }
  };
  const pid = () => fs.existsSync(path.join(workspace, 'pid')) && fs.readFileSync(path.join(workspace, 'pid'), 'utf8').trim();
  await waitUntil(pid);
  assert.equal((await thread.call('f', 'perform', { op: 'hooks', do: 'list' })).hooks.length, 1);
  assert.ok(isAlive(pid()));
  thread.open(opening);
  await waitUntil(() => !isAlive(pid()));
  assert.equal((await run).record.status, 'canceled');
  await thread.end();
});

test('an end waits for what is being closed, and nothing is opened afterwards', async () => {
  const file = path.join(folder, 'slow.cjs');
  fs.writeFileSync(
    file,
    `const { parentPort } = require('node:worker_threads');
parentPort.on('message', ({ type, id }) => {
  if (type === 'close') setTimeout(() => parentPort.postMessage({ type: 'answer', id }), 300);
});`,
  );
  const thread = new GateThread(pathToFileURL(file), () => {});
  thread.open({ folder: 'a' });
  const closed = thread.close('a');
  await thread.end();
  assert.equal(await closed, undefined, 'it was not cut off');
  thread.open({ folder: 'a' });
  await assert.rejects(thread.call('a', 'context', 's1'), { code: 'guest_trap', message: 'the gate was closed' });
});

test('a thread that dies fails the calls under way, and the next call has the same folders open', async () => {
  const file = path.join(folder, 'mortal.cjs');
  fs.writeFileSync(
    file,
    `const { parentPort } = require('node:worker_threads');
const open = [];
parentPort.on('message', ({ type, id, method, opening }) => {
  if (type === 'open') open.push(opening.folder);
  else if (method === 'die') process.exit(3);
  else if (method === 'open') parentPort.postMessage({ type: 'answer', id, value: open });
});`,
  );
  const thread = new GateThread(pathToFileURL(file), () => {});
  thread.open({ folder: 'a' });
  thread.open({ folder: 'b' });
  const waiting = assert.rejects(thread.call('a', 'never'), { code: 'guest_trap', message: /exit code 3/ });
  await assert.rejects(thread.call('a', 'die'), { code: 'guest_trap' });
  await waiting;
  assert.deepEqual(await thread.call('a', 'open'), ['a', 'b']);
  // It never answers, and is terminated anyway.
  await thread.end();
});

const allows = JSON.stringify({ on_fault: 'allow' });
for (const [ofUser, ofWorkspace, governance, verdict, code] of [
  [undefined, undefined, true, 'ask', 'gate_fault'],
  [undefined, allows, true, 'ask', 'gate_fault'],
  [allows, undefined, true, 'allow', 'gate_fault'],
  [undefined, undefined, false, 'allow', 'ungoverned'],
]) {
  test(`a gate that does not answer: user ${ofUser}, workspace ${ofWorkspace}, governed ${governance}`, async () => {
    const { workspace, home, discard } = createGovernedWorkspace();
    discards.push(discard);
    const settle = (at, text) => {
      fs.mkdirSync(path.join(at, '.tollgate'), { recursive: true });
      if (text !== undefined) fs.writeFileSync(path.join(at, '.tollgate/config.json'), text);
    };
    settle(home, ofUser);
    settle(workspace, ofWorkspace);
    if (!governance) fs.rmSync(path.join(workspace, '.orchestration'), { recursive: true });
    const opening = { folder: 'f', workspace, home, hooks: true, prompts: false, triggers: [] };
    const stuck = path.join(folder, 'stuck.cjs');
    fs.writeFileSync(stuck, 'for (;;) {}');
    for (const [file, patience] of [
      [pathToFileURL(path.join(folder, 'missing.cjs')), undefined],
      [pathToFileURL(stuck), 50],
    ]) {
      const thread = new GateThread(file, () => {});
      thread.open(opening);
      const ruling = await thread.rule('f', write('src/auth/login.ts'), patience);
      assert.deepEqual([ruling.verdict, ruling.code], [verdict, code]);
      assert.equal(ruling.reason === '', code === 'ungoverned');
      await thread.end();
    }
    // A call that cannot be forwarded has not been judged.
    const thread = new GateThread(worker, () => {});
    thread.open(opening);
    assert.equal((await thread.rule('f', { ...write('src/auth/login.ts'), args: { f() {} } })).code, code);
    await thread.end();
  });
}
