// Third-party hooks: in a process of this runtime, and in the native command if it has been built. The hostile hooks are the same
// as in the tests of the wasmtime host.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { componentEmbed, componentNew, parse } from '@bytecodealliance/jco';
import { createTollgate } from '../dist/index.js';
import { createGovernedWorkspace, writeFiles } from './workspace_folder.js';

const LIMIT = { timeout: 120_000 };
const repository = fileURLToPath(new URL('../../', import.meta.url));
const native = path.join(repository, 'target/release');
const cases = fs
  .readFileSync(path.join(repository, 'fixtures/hostile_hooks.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));

/** Longer than any call may take: the elapsed-time limit, plus a margin for a busy machine. */
const MAX_CALL_MS = 1_500;

const PATH = process.env.PATH;
const discards = [];
after(() => {
  process.env.PATH = PATH;
  discards.forEach((discard) => discard());
});

/** Sets whether the native command is in `PATH`. */
function setSearchPath(isNative) {
  const folders = PATH.split(path.delimiter).filter((folder) => !fs.existsSync(path.join(folder, 'tollgate')));
  process.env.PATH = (isNative ? [native, ...folders] : folders).join(path.delimiter);
}

const components = new Map();

/** A component of the contract's world `checker`, with its manifest. */
async function component(wat, manifest = {}) {
  const key = JSON.stringify([wat, manifest]);
  if (!components.has(key)) {
    const embedded = await componentEmbed({
      binary: await parse(wat),
      witPath: path.join(repository, 'wit/hook/hook.wit'),
      world: 'checker',
    });
    components.set(key, Buffer.concat([await componentNew(embedded), section('tollgate:hook', JSON.stringify(manifest))]));
  }
  return components.get(key);
}

function section(name, content) {
  const inner = Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from(content)]);
  assert.ok(inner.length < 128 * 128);
  return Buffer.concat([Buffer.from([0, (inner.length & 127) | 128, inner.length >> 7]), inner]);
}

/** A gate on a fresh workspace with one hook, which is approved. */
async function gateWith(bytes, more = {}) {
  const { workspace, home, discard } = createGovernedWorkspace();
  const hook = { id: 'h', component: 'hooks/h.wasm', ...more };
  writeFiles(workspace, { 'hooks/h.wasm': bytes, '.tollgate/hooks.json': JSON.stringify({ hooks: [hook] }) });
  const records = [];
  const gate = createTollgate({ workspace, home, hooks: { onRecord: (record) => records.push(record) } });
  discards.push(() => {
    gate[Symbol.dispose]?.();
    discard();
  });
  const ask = async (line) => JSON.parse(await gate.hooks.perform(JSON.stringify(line)));
  await ask({ op: 'select-intent', session: 's1', intent: 'INT-001' });
  const approved = await ask({ op: 'hooks', do: 'approve', id: 'h' });
  assert.match(approved.component ?? '', /^sha256:/, JSON.stringify(approved));
  const write = (name = 'src/auth/a.ts') =>
    ask({ op: 'pre-tool', session: 's1', call: 'c1', tool: 'write', args: { path: name, content: 'x' } });
  const history = async () => (await ask({ op: 'hooks', do: 'history', limit: 100 })).records;
  return { gate, workspace, home, ask, write, history };
}

const findGoodCase = () => cases.find(({ name }) => name === 'an objection');

for (const isNative of [false, true]) {
  const where = isNative ? 'the native command' : 'this runtime';
  const skip = isNative && !fs.existsSync(path.join(native, 'tollgate')) ? 'the native command is not built' : false;

  test(`a good hook objects, in ${where}`, { ...LIMIT, skip }, async () => {
    setSearchPath(isNative);
    const { write, history, ask } = await gateWith(await component(findGoodCase().wat));
    // Code is generated when it is first needed; until then, the hook counts as not called.
    let answer = await write();
    for (let tries = 0; answer.verdict !== 'deny' && tries < 200; tries += 1) answer = await write();
    assert.deepEqual([answer.verdict, answer.code, answer.reason], ['deny', 'h/no', 'hook h: hello [2J there']);
    const [record] = await history();
    assert.deepEqual(
      [record.hook, record.function, record.status, record.said],
      ['h', 'pre-tool', 'success', { severity: 'deny', code: 'no', reason: 'hook h: hello [2J there' }],
    );
    assert.deepEqual((await ask({ op: 'hooks', do: 'list' })).hooks[0].trust, 'approved');
  });

  test(`faults are survived, in ${where}`, { timeout: 600_000, skip }, async () => {
    setSearchPath(isNative);
    assert.ok(cases.length >= 20);
    for (const { name, wat, status, why, verdict = 'allow' } of cases) {
      const { write, history } = await gateWith(await component(wat));
      let record;
      for (let tries = 0; tries < 200; tries += 1) {
        const answer = await write();
        [record] = await history();
        if (record.status === 'skipped' && record.reason === 'it is being compiled') continue;
        assert.equal(answer.verdict, verdict, `${name}: ${JSON.stringify(answer)}`);
        break;
      }
      assert.equal(record.status, status, `${name}: ${JSON.stringify(record)}`);
      if (why !== null) assert.ok(record.reason.startsWith(why), `${name}: ${JSON.stringify(record)}`);
      // The next call is answered in time.
      const start = performance.now();
      await write();
      const took = performance.now() - start;
      assert.ok(took < (status === 'timeout' && !isNative ? 3_000 : 0) + MAX_CALL_MS, `${name}: ${took} ms`);
    }
  });
}

const READ = '(import "tollgate:hook/files@0.2.0" "read" (func $read (param i32 i32 i32 i32)))';

/** Reads a path and answers with a letter for the result: `z` if it was read, `a` for denied, `b` for missing, … */
function readingComponent(name) {
  return findGoodCase()
    .wat.replace('(module\n  ', `(module\n  ${READ}`)
    .replace(/\(data \(i32.const 200\).*\n/, `(data (i32.const 400) "${name}")\n`)
    .replace(
      /\(i32\.store8 \(i32\.const 100\)[^]*\(i32\.const 100\)\)/,
      `(call $read (i32.const 400) (i32.const ${name.length}) (i32.const 100) (i32.const 64))
       (if (i32.load8_u (i32.const 64))
         (then (i32.store8 (i32.const 200) (i32.add (i32.const 97) (i32.load8_u (i32.const 68)))))
         (else (i32.store8 (i32.const 200) (i32.const 122))))
       (i32.store8 (i32.const 100) (i32.const 0)) (i32.store8 (i32.const 104) (i32.const 1)) (i32.store8 (i32.const 108) (i32.const 1))
       (i32.store (i32.const 112) (i32.const 200)) (i32.store (i32.const 116) (i32.const 1))
       (i32.store (i32.const 120) (i32.const 200)) (i32.store (i32.const 124) (i32.const 1))
       (i32.const 100))`,
    );
}

test('files are read only where granted', { timeout: 300_000 }, async () => {
  setSearchPath(false);
  for (const [name, code] of [
    ['src/a.txt', 'z'],
    ['src/none.txt', 'b'],
    ['src/long.txt', 'c'],
    ['src', 'a'],
    ['secret.txt', 'a'],
    ['no-such.txt', 'a'],
    ['src/../secret.txt', 'a'],
    ['/etc/passwd', 'a'],
    ['src/link.txt', 'a'],
  ]) {
    const { write, workspace } = await gateWith(await component(readingComponent(name), { read: ['src/**'] }));
    writeFiles(workspace, { 'src/a.txt': 'granted', 'src/long.txt': 'x'.repeat(101), 'secret.txt': 'not granted' });
    fs.symlinkSync('../secret.txt', path.join(workspace, 'src/link.txt'));
    let answer = await write();
    for (let tries = 0; answer.verdict !== 'deny' && tries < 100; tries += 1) answer = await write();
    assert.equal(answer.code, `h/${code}`, `${name}: ${JSON.stringify(answer)}`);
  }
});

test('a hook rests after three faults, and comes back when it is approved', LIMIT, async () => {
  setSearchPath(false);
  const { wat } = cases.find(({ name }) => name === 'unreachable');
  const { write, history, ask } = await gateWith(await component(wat));
  const faults = async () => (await history()).filter(({ status }) => status === 'failed').length;
  for (let tries = 0; (await faults()) < 3 && tries < 100; tries += 1) await write();
  const before = (await history()).length;
  await write();
  assert.equal((await history()).length, before, 'it is not called any more');
  await ask({ op: 'hooks', do: 'approve', id: 'h' });
  await write();
  assert.equal((await history()).length, before + 1);
});

test('what the kept bytes are not is not run', LIMIT, async () => {
  setSearchPath(false);
  const { write, history, home } = await gateWith(await component(findGoodCase().wat));
  const folder = path.join(home, '.tollgate/components');
  const [file] = fs.readdirSync(folder);
  fs.appendFileSync(path.join(folder, file), 'x');
  assert.equal((await write()).verdict, 'allow');
  const [record] = await history();
  assert.equal(record.status, 'skipped');
  assert.match(record.reason, /stored copy is not what was approved/);
});

test('a thousand calls leave no process and no memory behind', { timeout: 300_000 }, async () => {
  setSearchPath(false);
  const listSandboxes = () => {
    const children = spawnSync('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)], { encoding: 'utf8' }).stdout;
    return children.split('\n').filter((line) => line.includes('hook-sandbox'));
  };
  const before = listSandboxes();
  const { write, gate } = await gateWith(await component(findGoodCase().wat));
  for (let calls = 0; calls < 1_000; calls += 1) await write();
  assert.equal(listSandboxes().length, before.length + 1);
  await gate.close();
  const end = performance.now() + 10_000;
  while (listSandboxes().length > before.length && performance.now() < end) await sleep(20);
  assert.deepEqual(listSandboxes(), before);
});
