// Programs that the host runs for the gate.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bundle, copyScript, exitCode, Roots, run } from './imports.js';
import { isAlive } from './processes.js';
import { createTemporaryFolder, writeFiles } from './workspace_folder.js';

const { folder, discard } = createTemporaryFolder();
after(discard);

writeFiles(folder, { odd: '#!/no/such/program\n', words: 'echo x\n', empty: '' });
for (const name of ['odd', 'words', 'empty']) fs.chmodSync(path.join(folder, name), 0o700);

const never = new AbortController().signal;
const program = (argv, more = {}) => ({ argv, input: '', folder, inherit: ['PATH'], set: [], outputBytes: 1 << 20, ...more });
const sh = (script, more = {}, signal = never) => run(program(['sh', '-c', script], more), signal);

/** A killed process may take a moment to disappear. */
async function assertAllGone(pids) {
  for (let tries = 0; tries < 500 && pids.some(isAlive); tries += 1) await sleep(10);
  assert.deepEqual(pids.filter(isAlive), []);
}

for (const [what, script, more, expected] of [
  [
    'what it says comes back',
    'cat; echo err >&2; exit 3',
    { input: 'in' },
    { code: 3, stdout: 'in', stderr: 'err\n', truncated: false },
  ],
  ['garbage is text with marks', "printf '\\377\\000x'", {}, { code: 0, stdout: '\ufffd\0x' }],
  ['a signal is told', 'kill -TERM $$', {}, { code: null, signal: 'SIGTERM' }],
  ['output within the limit is whole', 'printf 12345', { outputBytes: 5 }, { stdout: '12345', truncated: false }],
  ['output beyond the limit is cut', 'printf 123456', { outputBytes: 5 }, { stdout: '12345', truncated: true }],
  ['so are complaints', 'printf 123456 >&2', { outputBytes: 5 }, { stderr: '12345', truncated: true }],
  [
    'values are set, also over inherited ones',
    'echo $HOME $A',
    {
      inherit: ['PATH', 'HOME'],
      set: [
        ['HOME', '/x'],
        ['A', 'b'],
      ],
    },
    { stdout: '/x b\n' },
  ],
  ['input that nobody reads breaks nothing', 'exec 0<&-; echo x', { input: 'y'.repeat(1 << 20) }, { code: 0, stdout: 'x\n' }],
]) {
  test(what, async () => {
    const ending = await sh(script, more);
    assert.equal(ending.how, 'ended');
    for (const [key, value] of Object.entries(expected)) assert.deepEqual(ending[key], value, key);
  });
}

// Another thread that starts a process passes the open file on, until that process runs its own program.
test('a file that another process still writes to is started when it is free', {
  skip: process.platform !== 'linux',
}, async () => {
  writeFiles(folder, { busy: '#!/bin/sh\necho free\n' });
  const file = path.join(folder, 'busy');
  fs.chmodSync(file, 0o700);
  const descriptor = fs.openSync(file, 'r+');
  const ending = run(program([file]), never);
  setTimeout(() => fs.closeSync(descriptor), 5);
  assert.equal((await ending).stdout, 'free\n');
});

test('a file that stays open for writing cannot be run', { skip: process.platform !== 'linux' }, async () => {
  writeFiles(folder, { written: '#!/bin/sh\n' });
  const file = path.join(folder, 'written');
  fs.chmodSync(file, 0o700);
  const descriptor = fs.openSync(file, 'r+');
  const ending = await run(program([file]), never);
  fs.closeSync(descriptor);
  assert.deepEqual(ending, { how: 'failed', why: 'Text file busy (os error 26)' });
  assert.deepEqual(await run(program([file]), AbortSignal.abort()), { how: 'canceled' });
});

test('the code of a signal is the one that a shell tells', () => {
  assert.equal(exitCode({ code: 7, signal: null }), 7);
  assert.equal(exitCode({ code: null, signal: 'SIGKILL' }), 137);
});

for (const [what, argv, more, expected] of [
  ['no program', [], {}, { how: 'failed', why: 'no program is given' }],
  ['a program that is not there', ['/no/such/program'], {}, { how: 'missing' }],
  [
    'a folder that is not there',
    ['true'],
    { folder: '/no such' },
    { how: 'failed', why: 'there is no folder `/no such` to run it in' },
  ],
  [
    'a script that nobody reads',
    [`${folder}/odd`],
    {},
    { how: 'failed', why: `the interpreter that \`${folder}/odd\` names in its first line does not exist` },
  ],
  ['a file that only a shell would run', ['./words'], {}, { how: 'failed', why: 'Exec format error (os error 8)' }],
  ['an empty file', [`${folder}/empty`], {}, { how: 'failed', why: 'Exec format error (os error 8)' }],
  ['a program that may not be run', ['/etc/passwd'], {}, { how: 'failed', why: 'Permission denied (os error 13)' }],
]) {
  test(`${what}: ${expected.how}`, async () => {
    assert.deepEqual(await run(program(argv, more), never), expected);
  });
}

test('a word with a zero byte fails and throws nothing', async () => {
  assert.equal((await run(program(['echo', 'a\0b']), never)).how, 'failed');
});

test('the environment is what is named', async () => {
  process.env.TOLLGATE_TEST_SECRET = 'x';
  const { stdout } = await run(program(['/usr/bin/env'], { inherit: ['PATH', 'NO_SUCH_NAME'], set: [['B', '1']] }), never);
  assert.deepEqual(stdout.trim().split('\n').sort(), ['B=1', `PATH=${process.env.PATH}`]);
});

test('a hundred megabytes are read and dropped', { timeout: 60_000 }, async () => {
  const before = process.memoryUsage().rss;
  const { stdout, truncated } = await sh('head -c 104857600 /dev/zero', { outputBytes: 1000 });
  assert.deepEqual([stdout.length, truncated], [1000, true]);
  assert.ok(process.memoryUsage().rss - before < 80 << 20);
});

test('when the program has ended, what it started goes with it and nobody waits', { timeout: 20_000 }, async () => {
  const start = performance.now();
  const { stdout } = await sh('sleep 60 & echo $!');
  assert.ok(performance.now() - start < 5000);
  await assertAllGone([Number(stdout)]);
});

test('a child that has left the group and holds the pipes holds nobody up', { timeout: 20_000 }, async () => {
  const start = performance.now();
  const { stdout } = await sh('setsid sleep 60 & sleep 0.2; echo $!');
  const took = performance.now() - start;
  assert.ok(took < 5000, `${took} ms`);
  process.kill(Number(stdout), 'SIGKILL');
});

test('the signal ends the program with all that it started', { timeout: 20_000 }, async () => {
  const end = new AbortController();
  const pids = path.join(folder, 'pids');
  const ending = sh(
    `echo $$ > '${pids}'; (sh -c 'echo $$ >> "${pids}"; sleep 60; true') & trap '' TERM; sleep 60; true`,
    {},
    end.signal,
  );
  for (let tries = 0; tries < 200 && (!fs.existsSync(pids) || fs.readFileSync(pids, 'utf8').split('\n').length < 3); tries += 1) {
    await sleep(20);
  }
  const started = fs.readFileSync(pids, 'utf8').trim().split('\n').map(Number);
  assert.deepEqual(started.map(isAlive), [true, true]);
  end.abort();
  assert.deepEqual(await ending, { how: 'canceled' });
  await assertAllGone(started);
});

test('a signal that came before starts nothing', async () => {
  assert.deepEqual(await sh(`touch '${folder}/started'`, {}, AbortSignal.abort()), { how: 'canceled' });
  assert.equal(fs.existsSync(`${folder}/started`), false);
});

test('a process that ends takes its programs and copies along', { timeout: 20_000 }, async () => {
  writeFiles(folder, { 'leaving/s.sh': '#!/bin/sh\necho $$ > "$1"\nexec sleep 60\n', 'tmp/x': '' });
  const digest = digestOf(path.join(folder, 'leaving/s.sh'));
  const script = `
    import { copyScript, Roots, run } from ${JSON.stringify(bundle)};
    import * as fs from 'node:fs';
    const [folder, digest] = process.argv.slice(1);
    const order = { files: [{ path: 's.sh', digest }], arguments: [{ index: 0, path: 's.sh' }], folders: [process.env.TMPDIR] };
    const { argv } = copyScript(new Roots(folder + '/leaving', folder), order, ['s.sh', folder + '/pid']);
    run({ argv, input: '', folder, inherit: ['PATH'], set: [], outputBytes: 1 }, new AbortController().signal);
    setInterval(() => fs.existsSync(folder + '/pid') && fs.readFileSync(folder + '/pid', 'utf8').endsWith('\\n') && process.exit(0), 5);
  `;
  const env = { ...process.env, TMPDIR: path.join(folder, 'tmp') };
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script, folder, digest], {
    env,
    encoding: 'utf8',
    timeout: 15_000,
  });
  assert.deepEqual([status, stderr], [0, '']);
  assert.deepEqual(fs.readdirSync(path.join(folder, 'tmp')), ['x']);
  await assertAllGone([Number(fs.readFileSync(path.join(folder, 'pid'), 'utf8'))]);
});

function digestOf(file) {
  return `sha256:${createHash('sha256').update(fs.readFileSync(file)).digest('hex')}`;
}

const project = path.join(folder, 'project');
writeFiles(folder, { 'project/hooks/a.sh': '#!/bin/sh\necho "$0"\n', 'outside/a.sh': '#!/bin/sh\necho "$0"\n' });
fs.symlinkSync('hooks/a.sh', path.join(project, 'inner.sh'));
fs.symlinkSync('../../outside/a.sh', path.join(project, 'hooks/outer.sh'));
fs.symlinkSync('../outside', path.join(project, 'far'));
const roots = new Roots(project, folder);
const digest = digestOf(path.join(project, 'hooks/a.sh'));

for (const [file, wanted, isGiven] of [
  ['hooks/a.sh', digest, true],
  ['inner.sh', digest, true],
  ['hooks/a.sh', `sha256:${'0'.repeat(64)}`, false],
  ['hooks/outer.sh', digest, false],
  ['far/a.sh', digest, false],
  ['../outside/a.sh', digest, false],
  ['hooks/gone.sh', digest, false],
  ['hooks', digest, false],
]) {
  test(`a copy of ${file} as ${wanted.slice(0, 12)}… is ${isGiven ? '' : 'not '}given`, async () => {
    const order = {
      files: [{ path: file, digest: wanted }],
      arguments: [{ index: 0, path: file }],
      folders: [path.join(folder, 'copies')],
    };
    const copy = copyScript(roots, order, [file]);
    assert.equal('argv' in copy, isGiven);
    if (!('argv' in copy)) return assert.deepEqual(copy, { changed: file });
    const [script] = copy.argv;
    assert.equal(path.basename(script), path.basename(file));
    assert.deepEqual([fs.statSync(path.dirname(script)).mode & 0o777, fs.statSync(script).mode & 0o777], [0o700, 0o500]);
    assert.equal((await run(program([script]), never)).stdout, `${script}\n`);
    fs.mkdirSync(path.join(path.dirname(script), 'left/behind'), { recursive: true });
    copy.discard();
    assert.deepEqual(fs.readdirSync(path.join(folder, 'copies')), []);
  });
}
