// What the gate may write, and where it may not.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { recordsImport, Roots } from './imports.js';
import { createTemporaryFolder, writeFiles } from './workspace_folder.js';

const { folder, discard } = createTemporaryFolder();
after(discard);
const project = path.join(folder, 'project');
const home = path.join(folder, 'home');
writeFiles(folder, { 'project/src/a': 'untouched', 'outside/a': 'untouched', 'home/.ollm/a': 'untouched' });
fs.mkdirSync(path.join(project, '.tollgate/folder'), { recursive: true });
fs.symlinkSync('../src', path.join(project, '.tollgate/out'));
fs.symlinkSync('../../outside/a', path.join(project, '.tollgate/leaf'));
fs.symlinkSync('../../outside/new', path.join(project, '.tollgate/dangling'));
fs.symlinkSync('../../home/.tollgate/hooks.json', path.join(project, '.tollgate/home'));
fs.symlinkSync('target', path.join(project, '.tollgate/inner'));
execFileSync('mkfifo', [path.join(project, '.tollgate/pipe')]);

const said = [];
const roots = new Roots(project, home);
const { append, replace, remove } = recordsImport(roots, (level, message) => said.push([level, message]));
const bytes = (text) => Buffer.from(text);
const anything = { tag: 'anything' };
const absent = { tag: 'absent' };
const content = (name, root = project) => fs.readFileSync(path.join(root, name), 'utf8');
const outcome = (use) => {
  try {
    return use() ?? 'done';
  } catch (fault) {
    return fault.payload ?? fault;
  }
};

for (const [root, asked, expected] of [
  ['project', '.tollgate/logs/s/1.json', 'done'],
  ['state', 'calls/1.json', 'done'],
  ['state', 'top.json', 'done'],
  ['project', '.orchestration/agent_trace.jsonl', 'done'],
  ['project', '.tollgate/inner', 'done'],
  ['project', path.join(project, '.tollgate/absolute'), 'done'],
  ['home', '.tollgate/trusted-hooks.json', 'done'],
  ['project', 'src/a', 'denied'],
  ['project', '.tollgate/../src/a', 'denied'],
  ['project', '.tollgate/out/a', 'denied'],
  ['project', '.tollgate/leaf', 'denied'],
  ['project', '.tollgate/dangling', 'denied'],
  // A workspace must not reach the user's folder through a path of its own, although the gate itself may write there.
  ['project', '.tollgate/home', 'denied'],
  ['project', path.join(home, '.tollgate/hooks.json'), 'denied'],
  ['project', '.tollgate', 'denied'],
  ['project', '.tollgate-evil/a', 'denied'],
  ['project', '../outside/a', 'denied'],
  ['project', '.git/config', 'denied'],
  ['home', '.ollm/a', 'denied'],
  ['home', '.orchestration/a', 'denied'],
  ['project', '.tollgate/folder', 'other'],
  ['project', '.tollgate/pipe', 'other'],
  ['project', '.tollgate/logs/s/1.json/deeper', 'other'],
  ['state', '../other/1.json', 'denied'],
  ['state', '.', 'denied'],
]) {
  test(`write ${root} ${asked.replace(folder, '')}: ${expected}`, () => {
    assert.equal(
      outcome(() => replace(root, asked, bytes('x'), anything)),
      expected,
    );
    assert.equal(
      outcome(() => append(root, asked, bytes('y'))),
      expected,
    );
    assert.deepEqual([content('src/a'), content('outside/a', folder), content('.ollm/a', home)], Array(3).fill('untouched'));
    assert.equal(fs.existsSync(path.join(folder, 'outside/new')), false);
  });
}

test('a link in the state does not lead out of it', () => {
  fs.symlinkSync(path.join(folder, 'outside'), path.join(roots.state.folder, 'out'));
  assert.equal(
    outcome(() => replace('state', 'out/a', bytes('x'), anything)),
    'denied',
  );
  assert.equal(content('outside/a', folder), 'untouched');
});

test('appended bytes follow what is there', () => {
  append('project', '.orchestration/log', bytes('one\n'));
  append('project', '.orchestration/log', bytes('two\n'));
  assert.equal(content('.orchestration/log'), 'one\ntwo\n');
});

test('a file that is expected to be absent is made once', () => {
  assert.equal(
    outcome(() => replace('project', '.tollgate/locks/l', bytes('1'), absent)),
    'done',
  );
  assert.equal(
    outcome(() => replace('project', '.tollgate/locks/l', bytes('2'), absent)),
    'exists',
  );
  assert.equal(
    outcome(() => replace('project', '.tollgate/folder', bytes('2'), absent)),
    'exists',
  );
  assert.equal(content('.tollgate/locks/l'), '1');
  assert.equal(fs.statSync(path.join(project, '.tollgate/locks/l')).nlink, 1);
});

test('a file is replaced only while it is what was expected', () => {
  const digest = (text) => ({ tag: 'digest', val: `sha256:${createHash('sha256').update(text).digest('hex')}` });
  assert.equal(
    outcome(() => replace('project', '.tollgate/d', bytes('1'), digest('0'))),
    'changed',
  );
  replace('project', '.tollgate/d', bytes('1'), anything);
  assert.equal(
    outcome(() => replace('project', '.tollgate/d', bytes('2'), digest('0'))),
    'changed',
  );
  assert.equal(
    outcome(() => replace('project', '.tollgate/d', bytes('2'), digest('1'))),
    'done',
  );
  assert.equal(content('.tollgate/d'), '2');
});

test('a file is removed once', () => {
  replace('project', '.tollgate/r', bytes('1'), anything);
  assert.equal(
    outcome(() => remove('project', '.tollgate/r')),
    'done',
  );
  assert.equal(
    outcome(() => remove('project', '.tollgate/r')),
    'missing',
  );
  assert.equal(
    outcome(() => remove('project', 'src/a')),
    'denied',
  );
});

test('files of the home folder and of the state are private', () => {
  append('home', '.tollgate/p1', bytes(''));
  replace('home', '.tollgate/p2', bytes(''), absent);
  replace('state', 'copies/deep/p3', bytes(''), absent);
  append('state', 'p4', bytes(''));
  const state = roots.state.folder;
  const files = [path.join(home, '.tollgate/p1'), path.join(home, '.tollgate/p2'), `${state}/copies/deep/p3`, `${state}/p4`];
  for (const file of files) assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  for (const folder of ['copies/deep', 'copies', '.', '..']) {
    assert.equal(fs.statSync(path.join(state, folder)).mode & 0o777, 0o700, folder);
  }
  assert.equal(fs.readFileSync(path.join(state, 'workspace'), 'utf8'), `${project}\n`);
});

test("a temporary file that a killed process left behind is in nobody's way", () => {
  fs.mkdirSync(path.join(project, '.tollgate/t'));
  for (let i = 0; i < 200; i += 1) writeFiles(project, { [`.tollgate/t/.f.${process.pid}-${i}.tmp`]: '' });
  assert.equal(
    outcome(() => replace('project', '.tollgate/t/f', bytes('1'), anything)),
    'done',
  );
  assert.equal(fs.readdirSync(path.join(project, '.tollgate/t')).length, 201);
});

test('no temporary file is left, and faults without a name of their own are logged', () => {
  const names = fs.readdirSync(project, { recursive: true }).filter((name) => name.endsWith('.tmp') && !name.includes('/t/'));
  assert.deepEqual(names, []);
  assert.equal(
    outcome(() => append('project', `.tollgate/${'n'.repeat(300)}`, bytes(''))),
    'other',
  );
  assert.deepEqual(said.at(-1)[0], 'debug');
});

test('two processes that append at once keep every line', () => {
  const script = `
    import { Roots, recordsImport } from ${JSON.stringify(new URL('./imports.js', import.meta.url).href)};
    const { append } = recordsImport(new Roots(${JSON.stringify(project)}, undefined), () => {});
    for (let i = 0; i < 500; i += 1) append('project', '.orchestration/both', Buffer.from('x'.repeat(200) + '\\n'));`;
  const file = path.join(folder, 'append.mjs');
  fs.writeFileSync(file, script);
  execFileSync('sh', ['-c', '"$0" "$1" & "$0" "$1" && wait', process.execPath, file]);
  const lines = content('.orchestration/both').split('\n');
  assert.equal(lines.pop(), '');
  assert.equal(lines.length, 1000);
  assert.ok(lines.every((line) => line.length === 200));
});
