// Hooks with real programs and the real gate.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createTollgate } from '../dist/index.js';
import { isAlive } from './processes.js';
import { createGovernedWorkspace, writeFiles } from './workspace_folder.js';

const discards = [];
const unhandled = [];
const remember = (reason) => unhandled.push(reason);
process.on('unhandledRejection', remember);
after(async () => {
  await sleep(50);
  process.off('unhandledRejection', remember);
  discards.forEach((discard) => discard());
  assert.deepEqual(unhandled, []);
});

const LIMIT = { timeout: 60_000 };

/** A gate on a fresh workspace, with hooks of the user and of the workspace. */
function gateWith({ user = [], own = [], files = {}, options = {}, ...hooked } = {}) {
  const { workspace, home, discard } = createGovernedWorkspace();
  discards.push(discard);
  writeFiles(home, { '.tollgate/hooks.json': JSON.stringify({ hooks: user }) });
  writeFiles(workspace, { ...files, '.tollgate/hooks.json': JSON.stringify({ hooks: own }) });
  const records = [];
  const approvals = [];
  const hooks = {
    onRecord: (record) => records.push(record),
    onApproval: (approval) => approvals.push(approval),
    ...hooked,
  };
  const gate = createTollgate({ workspace, home, hooks, ...options });
  return { gate, hooks: gate.hooks, workspace, home, records, approvals };
}

const shellHook = (id, script, more = {}) => ({ id, trigger: 'before_tool', command: ['sh', '-c', script], ...more });
const answeringHook = (id, answer, more = {}) => shellHook(id, `echo '${JSON.stringify(answer)}'`, more);
const promptHook = (id, more = {}) => ({ id, trigger: 'before_tool', prompt: 'Is this right?', ...more });
const endedRuns = (records) => records.filter(({ ended }) => ended !== null && ended !== undefined);

async function waitUntil(holds, what = 'what is waited for') {
  for (let tries = 0; tries < 500; tries += 1) {
    if (holds()) return;
    await sleep(10);
  }
  assert.fail(`${what} did not come`);
}

test('a hook that succeeds', LIMIT, async () => {
  const { hooks, records } = gateWith({ user: [shellHook('good', 'cat > input.json; echo well')] });
  const record = await hooks.run('good', { a: 1 });
  assert.deepEqual([record.hook, record.status, record.exitCode, record.attempts], ['good', 'success', 0, 1]);
  assert.match(record.output, /well/);
  assert.ok(record.durationMs >= 0);
  assert.deepEqual(records.at(-1), record);
});

test('a hook that fails twice and then succeeds', LIMIT, async () => {
  const script = 'echo x >> tries; test $(wc -l < tries) -ge 3';
  const { hooks } = gateWith({ user: [shellHook('late', script, { retry: { count: 3, backoffMs: 20 } })] });
  const record = await hooks.run('late');
  assert.deepEqual([record.status, record.attempts], ['success', 3]);
});

test('a hook that fails', LIMIT, async () => {
  const { hooks } = gateWith({ user: [shellHook('bad', 'echo why >&2; exit 3')] });
  const record = await hooks.run('bad');
  assert.deepEqual([record.status, record.exitCode, record.attempts], ['failed', 3, 1]);
});

test('a hook that hangs ends with all that it started', LIMIT, async () => {
  const script = 'echo $$ > pids; sh -c "echo \\$\\$ >> pids; sleep 60; true" & sleep 60; true';
  const { hooks, workspace } = gateWith({ user: [shellHook('hang', script, { timeoutMs: 1000 })] });
  const start = performance.now();
  const record = await hooks.run('hang');
  assert.equal(record.status, 'timeout');
  assert.ok(performance.now() - start < 10_000);
  const pids = fs.readFileSync(path.join(workspace, 'pids'), 'utf8').trim().split('\n').map(Number);
  assert.equal(pids.length, 2);
  await waitUntil(() => !pids.some(isAlive), 'the end of both');
});

test('a hook that prints a hundred megabytes', LIMIT, async () => {
  const { hooks } = gateWith({ user: [shellHook('flood', 'head -c 104857600 /dev/zero | tr "\\0" x')] });
  const before = process.memoryUsage().rss;
  const record = await hooks.run('flood');
  assert.equal(record.status, 'success');
  assert.ok(record.output.length <= 1 << 20);
  assert.ok(process.memoryUsage().rss - before < 150 << 20);
});

test('a hook that prints garbage', LIMIT, async () => {
  const { hooks } = gateWith({ user: [shellHook('odd', "printf '\\377\\376{\\000'")] });
  assert.equal((await hooks.run('odd')).status, 'success');
  assert.equal((await hooks.event('before_tool', 's1', { tool_name: 'x' })).proceed, true);
});

test('a hook that leaves a child behind', LIMIT, async () => {
  const { hooks, workspace } = gateWith({ user: [shellHook('leave', 'sleep 60 & echo $! > pid; echo gone')] });
  const start = performance.now();
  const record = await hooks.run('leave');
  assert.equal(record.status, 'success');
  assert.ok(performance.now() - start < 10_000);
  const pid = Number(fs.readFileSync(path.join(workspace, 'pid'), 'utf8'));
  await waitUntil(() => !isAlive(pid), 'the end of the child');
});

test('a hook of the workspace runs once it is approved, and no more once it is edited', LIMIT, async () => {
  const own = [{ id: 'own', trigger: 'before_tool', command: ['hooks/own.sh'] }];
  const files = { 'hooks/own.sh': '#!/bin/sh\necho "$0" > ran\n' };
  const { gate, hooks, workspace, approvals } = gateWith({ own, files });
  const ran = path.join(workspace, 'ran');

  const unapproved = await hooks.run('own');
  assert.equal(unapproved.status, 'skipped');
  assert.match(unapproved.reason, /tollgate hooks approve own/);
  assert.equal((await hooks.event('before_tool', 's1', { tool_name: 'x' })).proceed, true);
  assert.equal(fs.existsSync(ran), false);
  assert.deepEqual(
    approvals.map(({ hook, why }) => [hook, why]),
    [['own', 'new']],
  );
  assert.deepEqual(approvals[0].shows.declaration, own[0]);
  assert.equal(approvals[0].shows.runs.at(-1), 'hooks/own.sh');

  const approved = gate.perform({ op: 'hooks', do: 'approve', id: 'own', digest: approvals[0].digest });
  assert.deepEqual(approved, { id: 'own', digest: approvals[0].digest });
  assert.equal((await hooks.run('own')).status, 'success');
  // A copy of the script ran, and the copy was removed.
  const copy = fs.readFileSync(ran, 'utf8').trim();
  assert.equal(path.basename(copy), 'own.sh');
  assert.ok(!copy.startsWith(workspace) && !fs.existsSync(path.dirname(copy)), copy);

  fs.rmSync(ran);
  fs.writeFileSync(path.join(workspace, 'hooks/own.sh'), '#!/bin/sh\necho evil > ran\n');
  assert.equal((await hooks.run('own')).status, 'skipped');
  assert.equal(fs.existsSync(ran), false);
  assert.deepEqual(
    approvals.map(({ why }) => why),
    ['new', 'changed'],
  );
  assert.notEqual(approvals[1].shows.before, null);
});

test('a script that is edited between the look at it and its start does not run', LIMIT, async () => {
  const own = [{ id: 'own', trigger: 'before_tool', command: ['hooks/own.sh'] }];
  const files = { 'hooks/own.sh': '#!/bin/sh\necho > ran\n' };
  let workspace;
  const onRecord = ({ status }) => {
    // The gate has checked the script and reported the run, but has not started it yet.
    if (status === 'queued') fs.writeFileSync(path.join(workspace, 'hooks/own.sh'), '#!/bin/sh\necho evil > ran\n');
  };
  const given = gateWith({ own, files, onRecord });
  workspace = given.workspace;
  given.gate.perform({ op: 'hooks', do: 'approve', id: 'own' });
  const record = await given.hooks.run('own');
  assert.equal(record.status, 'skipped');
  assert.match(record.reason, /hooks\/own\.sh/);
  assert.equal(fs.existsSync(path.join(workspace, 'ran')), false);
});

for (const [language, declared, files] of [
  [
    'bash',
    { command: ['bash', 'hooks/a.sh'] },
    {
      'hooks/a.sh': 'source "$(dirname "$0")/lib.sh"\nsay\n',
      'hooks/lib.sh': 'say() { echo found; pwd; }\n',
    },
  ],
  [
    'node',
    { command: ['node', 'hooks/a.cjs'] },
    {
      'hooks/a.cjs': "require('./lib');\nconsole.log(process.cwd());\n",
      'hooks/lib/index.js': "console.log('found');\n",
    },
  ],
  [
    'python',
    { command: ['python3', 'hooks/a.py'] },
    {
      'hooks/a.py': 'import os, lib\nprint(os.getcwd())\n',
      'hooks/lib.py': "print('found')\n",
    },
  ],
  [
    'sh, with files that are named',
    { command: ['hooks/a.sh'], files: ['shared/*.sh'] },
    {
      'hooks/a.sh': '#!/bin/sh\n. "${0%/*}/../shared/lib.sh"\npwd\n',
      'shared/lib.sh': 'echo found\n',
    },
  ],
]) {
  test(`a script finds the files beside it: ${language}`, LIMIT, async () => {
    const { gate, hooks, workspace, home } = gateWith({ own: [{ id: 'own', trigger: 'before_tool', ...declared }], files });
    gate.perform({ op: 'hooks', do: 'approve', id: 'own' });
    const record = await hooks.run('own');
    assert.deepEqual([record.status, record.output], ['success', `found\n${workspace}`], record.reason);
    assert.deepEqual(fs.readdirSync(path.join(home, '.tollgate/run')), []);

    fs.writeFileSync(path.join(workspace, Object.keys(files)[1]), 'echo other\n');
    const changed = await hooks.run('own');
    assert.equal(changed.status, 'skipped');
    assert.match(changed.reason, /^it has changed since it was approved/);
  });
}

for (const [command, exchanged] of [
  [['node', '--require', './hooks/b.cjs', 'hooks/a.cjs'], 'hooks/b.cjs'],
  [['node', '--require', './hooks/b.cjs', 'hooks/a.cjs'], 'hooks/a.cjs'],
  [['sh', 'hooks/a.sh'], 'hooks/lib.sh'],
]) {
  test(`no file can be exchanged between the look and the run: ${command.join(' ')}, ${exchanged}`, LIMIT, async () => {
    const files = { 'hooks/a.cjs': '', 'hooks/b.cjs': '', 'hooks/a.sh': '. "${0%/*}/lib.sh"\n', 'hooks/lib.sh': '' };
    const evil = exchanged.endsWith('cjs') ? "require('fs').writeFileSync('evil', '')" : 'touch evil';
    let workspace;
    // The gate has checked the script and reported the run, but has not started it yet.
    const onRecord = ({ status }) => status === 'queued' && fs.writeFileSync(path.join(workspace, exchanged), evil);
    const given = gateWith({ own: [{ id: 'own', trigger: 'before_tool', command }], files, onRecord });
    workspace = given.workspace;
    given.gate.perform({ op: 'hooks', do: 'approve', id: 'own' });
    const record = await given.hooks.run('own');
    assert.equal(record.status, 'skipped');
    assert.ok(record.reason.startsWith(`\`${exchanged}\` has changed since it was approved`), record.reason);
    assert.equal(fs.existsSync(path.join(workspace, 'evil')), false);
  });
}

test('a file that is exchanged during the run is not read', LIMIT, async () => {
  const files = { 'hooks/a.sh': 'echo "echo evil" >hooks/lib.sh\n. "${0%/*}/lib.sh"\n', 'hooks/lib.sh': 'echo good\n' };
  const { gate, hooks } = gateWith({ own: [{ id: 'own', trigger: 'before_tool', command: ['sh', 'hooks/a.sh'] }], files });
  gate.perform({ op: 'hooks', do: 'approve', id: 'own' });
  const record = await hooks.run('own');
  assert.deepEqual([record.status, record.output], ['success', 'good']);
});

for (const [what, prepare] of [
  ['many files', (folder) => Array.from({ length: 300 }, (_, at) => fs.writeFileSync(path.join(folder, String(at)), ''))],
  ['a large file', (folder) => fs.writeFileSync(path.join(folder, 'large'), Buffer.alloc(17 << 20))],
  ['a link that leads out', (folder) => fs.symlinkSync('/etc/passwd', path.join(folder, 'x'))],
  ['a link', (folder) => fs.symlinkSync('own.sh', path.join(folder, 'x'))],
  ['a pipe', (folder) => spawnSync('mkfifo', [path.join(folder, 'x')])],
]) {
  test(`a folder with ${what} is not copied`, LIMIT, async () => {
    const own = [{ id: 'own', trigger: 'before_tool', command: ['sh', 'hooks/own.sh'] }];
    const { gate, hooks, workspace } = gateWith({ own, files: { 'hooks/own.sh': 'touch ran\n' } });
    prepare(path.join(workspace, 'hooks'));
    const { error } = gate.perform({ op: 'hooks', do: 'approve', id: 'own' });
    assert.equal(error.code, 'not_done');
    assert.match(error.message, /`files`/);
    assert.equal((await hooks.run('own')).status, 'failed');
    assert.equal(fs.existsSync(path.join(workspace, 'ran')), false);
  });
}

test('a home folder that is a workspace is a workspace', LIMIT, async () => {
  const { workspace, discard } = createGovernedWorkspace();
  discards.push(discard);
  const own = [{ id: 'own', trigger: 'before_tool', command: ['sh', 'hooks/own.sh'] }];
  writeFiles(workspace, { 'hooks/own.sh': 'echo "$0"\n', '.tollgate/hooks.json': JSON.stringify({ hooks: own }) });
  const approvals = [];
  const gate = createTollgate({ workspace, home: workspace, hooks: { onApproval: (approval) => approvals.push(approval) } });
  const { hooks } = gate;
  assert.equal((await hooks.run('own')).status, 'skipped');
  assert.equal(approvals.length, 1);
  const listed = gate.perform({ op: 'hooks', do: 'list' }).hooks;
  assert.deepEqual(
    listed.map(({ source, trust }) => [source, trust]),
    [['workspace', 'new']],
  );
  gate.perform({ op: 'hooks', do: 'approve', id: 'own' });
  const record = await hooks.run('own');
  assert.equal(record.status, 'success', record.reason);
  assert.ok(!record.output.startsWith(workspace), record.output);
});

test('what is told before an approval is the bytes of its digest', LIMIT, async () => {
  const own = [{ id: 'own', trigger: 'before_tool', command: ['sh', 'hooks/own.sh'] }];
  const files = { 'hooks/own.sh': 'one\n', 'hooks/lib.sh': 'two\n', 'hooks/raw': Buffer.from([0xff]) };
  const { hooks, approvals, gate } = gateWith({ own, files });
  await hooks.run('own');
  const { shows } = approvals[0];
  assert.deepEqual([shows.script_text, shows.texts, shows.not_shown], ['one\n', [['hooks/lib.sh', 'two\n']], ['hooks/raw']]);
  assert.deepEqual([shows.unchecked, shows.note], [false, gate.perform({ op: 'hooks', do: 'show', id: 'own' }).shows.note]);
  assert.match(shows.note, /is not checked$/);
});

test('what was approved when only the script was checked is asked about again, and why', LIMIT, async () => {
  const own = [{ id: 'own', trigger: 'before_tool', command: ['sh', 'hooks/own.sh'] }];
  const { hooks, home, workspace, approvals } = gateWith({ own, files: { 'hooks/own.sh': 'one\n' } });
  const shows = {
    declaration: own[0],
    runs: ['/bin/sh', 'hooks/own.sh'],
    script: ['hooks/own.sh', 'sha256:00'],
    files: [],
    unchecked: false,
  };
  const kept = { schemaVersion: 1, approvals: [{ workspace, hook: 'own', digest: 'sha256:00', shows }] };
  writeFiles(home, { '.tollgate/trusted-hooks.json': JSON.stringify(kept) });
  const record = await hooks.run('own');
  assert.equal(record.status, 'skipped');
  assert.match(record.reason, /^it was approved when only the script itself was checked/);
  assert.deepEqual(
    approvals.map(({ why, notice }) => [why, record.reason.startsWith(notice)]),
    [['changed', true]],
  );
});

test('a script that only a shell would run is no program', LIMIT, async () => {
  const own = [{ id: 'own', trigger: 'before_tool', command: ['hooks/own'] }];
  const { gate, hooks, workspace } = gateWith({ own, files: { 'hooks/own': 'echo > ran\n' } });
  gate.perform({ op: 'hooks', do: 'approve', id: 'own' });
  const record = await hooks.run('own');
  assert.deepEqual([record.status, record.reason], ['failed', 'Exec format error (os error 8)']);
  assert.equal(fs.existsSync(path.join(workspace, 'ran')), false);
});

test("a user's hook runs unasked, with the event on its input and in a small environment", LIMIT, async () => {
  process.env.TOLLGATE_TEST_SECRET = 'x';
  const { hooks, workspace, approvals } = gateWith({
    user: [shellHook('user', 'cat > input.json; env > environment; pwd > folder')],
  });
  await hooks.event('before_tool', 's1', { tool_name: 'write', args: { path: 'a' } });
  const read = (name) => fs.readFileSync(path.join(workspace, name), 'utf8');
  const input = JSON.parse(read('input.json'));
  assert.deepEqual([input.event, input.session_id, input.data.args.path], ['before_tool', 's1', 'a']);
  assert.match(read('environment'), /^TOLLGATE_EVENT=before_tool$/m);
  assert.doesNotMatch(read('environment'), /TOLLGATE_TEST_SECRET/);
  assert.equal(read('folder'), `${workspace}\n`);
  assert.deepEqual(approvals, []);
});

test('hooks of an event run one after the other, each with what the one before left, until one stops', LIMIT, async () => {
  const { hooks, workspace, records } = gateWith({
    user: [
      answeringHook('first', { args: { path: 'b' }, systemMessage: 'first of all' }),
      shellHook('second', `cat > second.json; echo '{"continue":false,"systemMessage":"no more"}'`),
      shellHook('third', 'echo > third'),
    ],
  });
  const answer = await hooks.event('before_tool', 's1', { tool_name: 'write', args: { path: 'a' } });
  assert.equal(answer.proceed, false);
  assert.equal(answer.systemMessage, 'first of all\nno more');
  assert.deepEqual(answer.data, { tool_name: 'write', args: { path: 'b' } });
  assert.equal(JSON.parse(fs.readFileSync(path.join(workspace, 'second.json'), 'utf8')).data.args.path, 'b');
  assert.equal(fs.existsSync(path.join(workspace, 'third')), false);
  assert.deepEqual(
    endedRuns(records).map(({ hook, status }) => [hook, status]),
    [
      ['first', 'success'],
      ['second', 'success'],
      ['third', 'skipped'],
    ],
  );
});

test('an event that no hook waits for is answered at once', async () => {
  const { hooks } = gateWith();
  assert.deepEqual(await hooks.event('before_model', 's1', { a: [1] }), { proceed: true, systemMessage: null, data: { a: [1] } });
});

test('many events at a time', LIMIT, async () => {
  const { hooks } = gateWith({ user: [shellHook('echo', `sed 's/.*"n":\\([0-9]*\\).*/{"seen":\\1}/'`, { concurrency: 4 })] });
  const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => hooks.event('before_tool', `s${n}`, { n })));
  assert.deepEqual(
    answers.map(({ data }) => data),
    Array.from({ length: 30 }, (_, n) => ({ n, seen: n })),
  );
});

test('a program that is not there fails', LIMIT, async () => {
  const { hooks } = gateWith({ user: [{ id: 'gone', trigger: 'before_tool', command: ['no-such-program-here'] }] });
  assert.equal((await hooks.run('gone')).status, 'failed');
});

test('a prompt is answered by the function of the embedder', LIMIT, async () => {
  const asked = [];
  const runPrompt = async (prompt, { hook }) => {
    asked.push([hook, prompt]);
    return { stdout: '{"systemMessage":"think again \ud800"}' };
  };
  const { hooks } = gateWith({ user: [promptHook('judge')], runPrompt });
  const answer = await hooks.event('before_tool', 's1', { tool_name: 'x' });
  assert.equal(answer.proceed, true);
  assert.equal(answer.systemMessage, 'think again \ufffd');
  assert.equal(asked[0][0], 'judge');
  assert.match(asked[0][1], /Is this right\?/);
});

test('a prompt that takes too long is aborted, and what it says then counts no more', LIMIT, async () => {
  let signal;
  const runPrompt = (_, options) => {
    signal = options.signal;
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
  };
  const { hooks } = gateWith({ user: [promptHook('slow', { timeoutMs: 1000 })], runPrompt });
  const record = await hooks.run('slow');
  assert.deepEqual([record.status, signal.aborted], ['timeout', true]);
});

test('a prompt whose function does not hear, fails or says nothing useful', LIMIT, async () => {
  const answers = {
    deaf: () => new Promise(() => {}),
    broken: () => Promise.reject(new Error('no network')),
    thrown: () => {
      throw new Error('no model');
    },
    odd: async () => undefined,
    refused: async () => ({ exitCode: 2, stdout: '', stderr: 'no' }),
  };
  const user = Object.keys(answers).map((id) => promptHook(id, { timeoutMs: 1000 }));
  const { hooks } = gateWith({ user, runPrompt: (_, { hook }) => answers[hook]() });
  const records = await Promise.all(Object.keys(answers).map((id) => hooks.run(id)));
  assert.deepEqual(
    records.map(({ status }) => status),
    ['timeout', 'failed', 'failed', 'failed', 'failed'],
  );
  assert.match(records[1].reason, /no network/);
  assert.match(records[2].reason, /no model/);
  assert.equal(records[4].exitCode, 2);
});

test("without a function, the user's own command answers prompts, or nobody does", LIMIT, async () => {
  const { hooks, home } = gateWith({ user: [promptHook('judge')] });
  assert.equal((await hooks.run('judge')).status, 'failed');
  const runner = ['sh', '-c', 'cat > /dev/null; echo "{\\"systemMessage\\":\\"from the runner\\"}"'];
  writeFiles(home, { '.tollgate/config.json': JSON.stringify({ hooks: { prompt_runner: runner } }) });
  assert.equal((await hooks.event('before_tool', 's1', { tool_name: 'x' })).systemMessage, 'from the runner');
});

test('what is under way can be called off', LIMIT, async () => {
  const { hooks, records } = gateWith({ user: [shellHook('long', 'sleep 60')] });
  const running = hooks.run('long');
  await waitUntil(() => records.some(({ status }) => status === 'running'));
  hooks.cancel(records.at(-1).id);
  hooks.cancel('no such run');
  assert.equal((await running).status, 'canceled');
});

test('editors tell, nobody waits, and a burst becomes one run', LIMIT, async () => {
  const user = [
    shellHook('save', 'cat >> saves; echo >> saves', { trigger: 'onDidSaveTextDocument', pattern: 'src/**', debounceMs: 50 }),
  ];
  const heard = [];
  const { hooks, workspace, records } = gateWith({ user, onListen: (trigger, on) => void heard.push([trigger, on]) });
  for (let n = 0; n < 20; n += 1) hooks.notify('onDidSaveTextDocument', { file: 'src/a.ts' }, 's1');
  hooks.notify('onDidSaveTextDocument', { file: 'docs/a.md' });
  await waitUntil(() => endedRuns(records).length > 0, 'the run');
  assert.deepEqual(
    endedRuns(records).map(({ hook, status, file, session }) => [hook, status, file, session]),
    [['save', 'success', 'src/a.ts', 's1']],
  );
  assert.equal(fs.readFileSync(path.join(workspace, 'saves'), 'utf8').trim().split('\n').length, 1);
  assert.deepEqual(heard, [['onDidSaveTextDocument', true]]);
});

test('hosts are told what to listen to when declarations change', LIMIT, async () => {
  const heard = [];
  const saved = { id: 'save', trigger: 'onDidSaveTextDocument', command: ['true'] };
  const { gate, hooks, home } = gateWith({
    onListen: (trigger, on) => {
      heard.push([trigger, on]);
      return trigger === 'onDidOpenTextDocument' ? 'there is no editor' : undefined;
    },
  });
  const declare = async (...user) => {
    writeFiles(home, { '.tollgate/hooks.json': JSON.stringify({ hooks: user }) });
    hooks.reload();
    await sleep(50);
  };
  await declare(saved);
  await declare(saved, { ...saved, id: 'again' });
  assert.deepEqual(heard, [['onDidSaveTextDocument', true]]);
  await declare();
  assert.deepEqual(heard.splice(0), [
    ['onDidSaveTextDocument', true],
    ['onDidSaveTextDocument', false],
  ]);
  await declare({ ...saved, trigger: 'onDidOpenTextDocument' });
  const [{ enabled, disabled_reason: reason }] = gate.perform({ op: 'hooks', do: 'list' }).hooks;
  assert.equal(enabled, false);
  assert.match(reason, /there is no editor/);
});

for (const drain of [true, false]) {
  test(`a shutdown ${drain ? 'waits for' : 'ends'} what is under way`, LIMIT, async () => {
    const saves = (id, script) => shellHook(id, script, { trigger: 'onDidSaveTextDocument' });
    const { hooks, records } = gateWith({ user: [saves('short', 'sleep 0.3'), saves('long', drain ? 'sleep 0.4' : 'sleep 60')] });
    hooks.notify('onDidSaveTextDocument', { file: 'a' });
    await waitUntil(() => records.filter(({ status }) => status === 'running').length === 2);
    await hooks.shutdown({ drain });
    const status = drain ? 'success' : 'canceled';
    assert.deepEqual(
      endedRuns(records).map((record) => record.status),
      [status, status],
    );
  });
}

test('a shutdown that ends everything does not go on with the next hook of an event', LIMIT, async () => {
  const { hooks, records, workspace } = gateWith({ user: [shellHook('one', 'sleep 60'), shellHook('two', 'echo > two')] });
  const answer = hooks.event('before_tool', 's1', { tool_name: 'x' });
  await waitUntil(() => records.some(({ status }) => status === 'running'));
  await hooks.shutdown({ drain: false });
  assert.equal((await answer).proceed, true);
  assert.equal(fs.existsSync(path.join(workspace, 'two')), false);
});

test('a shutdown waits for what was told just before', LIMIT, async () => {
  const { hooks, records } = gateWith({
    user: [shellHook('save', 'sleep 0.1', { trigger: 'onDidSaveTextDocument', debounceMs: 5000 })],
  });
  hooks.notify('onDidSaveTextDocument', { file: 'a' });
  await hooks.shutdown();
  assert.deepEqual(
    endedRuns(records).map(({ status }) => status),
    ['success'],
  );
});

test('a shutdown before the first use is over at once', async () => {
  await gateWith().hooks.shutdown();
});

test('an instance that fails takes its runs along, and the next one works', LIMIT, async () => {
  let broken = false;
  const clock = () => {
    if (broken) throw new Error('broken');
    return Date.now();
  };
  const { gate, hooks, workspace, records } = gateWith({
    user: [shellHook('long', 'echo $$ > pid; sleep 60; true')],
    options: { clock },
  });
  const answer = hooks.run('long');
  const pid = path.join(workspace, 'pid');
  await waitUntil(() => fs.existsSync(pid) && fs.readFileSync(pid, 'utf8').endsWith('\n'));
  broken = true;
  hooks.cancel(records.at(-1).id);
  await assert.rejects(answer, { name: 'TollgateError', code: 'guest_trap' });
  broken = false;
  await waitUntil(() => !isAlive(Number(fs.readFileSync(pid, 'utf8'))), 'the end of the run');
  assert.equal((await hooks.event('before_model', 's1', {})).proceed, true);
  assert.equal(gate.perform({ op: 'hooks', do: 'list' }).hooks.length, 1);
});

test('functions of the embedder that throw harm nobody', LIMIT, async () => {
  const heard = [];
  const thrower = () => {
    throw new Error('mine');
  };
  const user = [shellHook('good', 'true'), shellHook('save', 'true', { trigger: 'onDidSaveTextDocument' })];
  const own = [shellHook('own', 'true')];
  const given = { user, own, onRecord: thrower, onApproval: thrower, onListen: thrower };
  const { hooks } = gateWith({ ...given, options: { log: (_, message) => heard.push(message) } });
  assert.equal((await hooks.run('good')).status, 'success');
  assert.equal((await hooks.run('own')).status, 'skipped');
  for (const name of ['onRecord', 'onApproval', 'onListen']) {
    assert.ok(
      heard.some((message) => message === `\`${name}\` threw: mine`),
      name,
    );
  }
});

test('callbacks may call the gate and its hooks', LIMIT, async () => {
  const own = [shellHook('own', 'true')];
  let given;
  const seen = [];
  const onApproval = ({ hook, digest }) => {
    given.gate.perform({ op: 'hooks', do: 'approve', id: hook, digest });
    given.hooks.run(hook).then(({ status }) => seen.push(status));
  };
  given = gateWith({ own, onApproval });
  assert.equal((await given.hooks.run('own')).status, 'skipped');
  await waitUntil(() => seen.length > 0);
  assert.deepEqual(seen, ['success']);
});

for (const [what, use, code = 'invalid_input'] of [
  ['an unknown hook', (hooks) => hooks.run('no such hook'), 'unknown_hook'],
  ['data that are no JSON', (hooks) => hooks.event('before_tool', 's1', { big: 1n })],
  ['a session that is no text', (hooks) => hooks.event('before_tool', 7)],
  ['an event that is no text', async (hooks) => hooks.notify(7)],
  ['background data that are no JSON', async (hooks) => hooks.notify('x', { big: 1n })],
]) {
  test(`${what} is refused by name`, async () => {
    const { hooks } = gateWith();
    await assert.rejects(use(hooks), (error) => error.name === 'TollgateError' && error.code === code);
    assert.equal((await hooks.event('before_model', 's1')).proceed, true);
  });
}

test('a gate has its hooks once', () => {
  const { gate, hooks } = gateWith();
  assert.equal(gate.hooks, hooks);
});

/** Runs a script that opens a gate, in its own process. */
function runInOwnProcess(script, { user = [] } = {}) {
  const { workspace, home, discard } = createGovernedWorkspace();
  discards.push(discard);
  writeFiles(home, { '.tollgate/hooks.json': JSON.stringify({ hooks: user }) });
  const index = new URL('../dist/index.js', import.meta.url).href;
  const text = `
    import { createTollgate } from ${JSON.stringify(index)};
    const hooks = createTollgate({ workspace: ${JSON.stringify(workspace)}, home: ${JSON.stringify(home)} }).hooks;
    ${script}`;
  const file = path.join(home, 'apart.mjs');
  fs.writeFileSync(file, text);
  const start = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8', timeout: 30_000 });
  return { status, stdout, stderr, took: performance.now() - start, workspace };
}

test('what waits for its time holds no process open', LIMIT, () => {
  const user = [shellHook('save', 'echo > ran', { trigger: 'onDidSaveTextDocument', debounceMs: 20_000 })];
  const { status, stderr, took, workspace } = runInOwnProcess(`hooks.notify('onDidSaveTextDocument', { file: 'a' });`, { user });
  assert.deepEqual([status, stderr], [0, '']);
  assert.ok(took < 15_000, `${took} ms`);
  assert.equal(fs.existsSync(path.join(workspace, 'ran')), false);
});

test('an answer that is awaited does', LIMIT, () => {
  const user = [shellHook('retry', 'echo x >> tries; test $(wc -l < tries) -ge 2', { retry: { count: 1, backoffMs: 300 } })];
  const { status, stdout, stderr } = runInOwnProcess(`console.log((await hooks.event('before_tool', 's1', {})).proceed);`, {
    user,
  });
  assert.deepEqual([status, stdout, stderr.replace(/.*failed.*\n/g, '')], [0, 'true\n', '']);
});

test('eval prints the answer in place of the wait, as it was written, and drains at the end', LIMIT, () => {
  const { workspace, home, discard } = createGovernedWorkspace();
  discards.push(discard);
  const user = [
    answeringHook('first', { n: 1 }),
    shellHook('second', 'printf \'{"big":12345678901234567890,"real":1.0,"2":1,"1":2}\''),
    shellHook('save', 'sleep 0.3; echo > saved', { trigger: 'onDidSaveTextDocument' }),
  ];
  writeFiles(home, { '.tollgate/hooks.json': JSON.stringify({ hooks: user }) });
  const lines = [
    '{"op":"event","event":"onDidSaveTextDocument","session":"s1","data":{"file":"a"}}',
    '{"op":"context","session":"s1"}',
    '{"op":"event","event":"before_tool","session":"s1","data":{"tool_name":"x"}}',
    '{"op":"hooks","do":"run","id":"first"}',
    '{"op":"context","session":"s1"}',
  ];
  const command = fileURLToPath(new URL('../dist/eval.js', import.meta.url));
  const options = { input: lines.join('\n'), encoding: 'utf8' };
  const { status, stdout } = spawnSync(process.execPath, [command, '--workspace', workspace, '--home', home], options);
  const answers = stdout.trim().split('\n');
  assert.deepEqual([status, answers.length, answers[1], answers[4]], [0, 5, '{"text":""}', '{"text":""}']);
  const data = '{"tool_name":"x","n":1,"big":12345678901234567890,"real":1.0,"2":1,"1":2}';
  assert.equal(answers[2], `{"continue":true,"system_message":null,"data":${data}}`);
  assert.equal(JSON.parse(answers[3]).record.status, 'success');
  assert.equal(fs.existsSync(path.join(workspace, 'saved')), true);
});

test('eval tells a caller that takes steps what to run, and runs nothing itself', LIMIT, () => {
  const { workspace, home, discard } = createGovernedWorkspace();
  discards.push(discard);
  writeFiles(home, { '.tollgate/hooks.json': JSON.stringify({ hooks: [shellHook('h', 'echo > ran')] }) });
  const lines = [
    { op: 'hooks', do: 'list' },
    { op: 'step', now_ms: 0, inputs: [{ type: 'machine', workspace, search_path: ['/usr/bin', '/bin'] }] },
    { op: 'event', event: 'before_tool', session: 's', data: {} },
    { op: 'list-intents' },
    { op: 'step', now_ms: 10 },
  ];
  const command = fileURLToPath(new URL('../dist/eval.js', import.meta.url));
  const options = { input: lines.map((line) => JSON.stringify(line)).join('\n'), encoding: 'utf8' };
  const { stdout } = spawnSync(process.execPath, [command, '--workspace', workspace, '--home', home], options);
  const answers = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.equal(typeof answers[2].waiting, 'number', stdout);
  assert.ok(
    answers[4].commands.some((ordered) => JSON.stringify(ordered).includes('echo > ran')),
    stdout,
  );
  assert.equal(fs.existsSync(path.join(workspace, 'ran')), false);
});

test('a gate whose caller takes steps starts nothing and promises nothing', LIMIT, async () => {
  const user = [shellHook('long', 'echo > ran; exec sleep 60'), shellHook('h', 'echo > ran')];
  const { gate, hooks, workspace } = gateWith({ user });
  const begun = assert.rejects(hooks.run('long'), { code: 'invalid_input', message: /takes steps/ });
  gate.perform({ op: 'step', now_ms: 0, inputs: [{ type: 'machine', workspace, search_path: [] }] });
  await assert.rejects(hooks.event('before_tool', 's1', {}), { code: 'invalid_input', message: /takes steps/ });
  hooks.reload();
  await begun;
  await gate.close();
});

test('eval that is interrupted takes its hooks along', LIMIT, async () => {
  const { workspace, home, discard } = createGovernedWorkspace();
  discards.push(discard);
  writeFiles(home, { '.tollgate/hooks.json': JSON.stringify({ hooks: [shellHook('long', 'echo $$ > pid; exec sleep 60')] }) });
  const command = fileURLToPath(new URL('../dist/eval.js', import.meta.url));
  const child = spawn(process.execPath, [command, '--workspace', workspace, '--home', home]);
  const over = new Promise((resolve) => child.on('exit', resolve));
  child.stdin.write('{"op":"event","event":"before_tool","session":"s1","data":{}}\n');
  const pid = path.join(workspace, 'pid');
  await waitUntil(() => fs.existsSync(pid) && fs.readFileSync(pid, 'utf8').endsWith('\n'), 'the start');
  child.kill('SIGINT');
  assert.equal(await over, 130);
  await waitUntil(() => !isAlive(Number(fs.readFileSync(pid, 'utf8'))), 'the end');
});
