// What the gate may read and list, and what it may not.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { Roots, workspaceImport } from './imports.js';
import { createTemporaryFolder, writeFiles } from './workspace_folder.js';

const { folder, discard } = createTemporaryFolder();
after(discard);
writeFiles(folder, {
  'project/file': '0123456789',
  'outside/secret': 's',
  'home/.tollgate/config.json': '{}',
  'home/.ollm/extensions/e/x.json': '{}',
  'home/.ssh/key': 'k',
  'home/.tollgate-evil/x': 'x',
});
fs.mkdirSync(path.join(folder, 'project/folder'));
fs.symlinkSync('../outside/secret', path.join(folder, 'project/out'));
fs.symlinkSync('file', path.join(folder, 'project/in'));
fs.symlinkSync('loop', path.join(folder, 'project/loop'));
fs.symlinkSync('../.ssh/key', path.join(folder, 'home/.tollgate/key'));
execFileSync('mkfifo', [path.join(folder, 'project/pipe')]);

const roots = new Roots(path.join(folder, 'project'), path.join(folder, 'home'));
roots.readableInHome = ['.tollgate', '.ollm'];
const { read, readRange, readTail, list } = workspaceImport(roots, () => {});
const text = (bytes) => Buffer.from(bytes).toString();
/** The result of `use`, or the name of its error. */
const outcome = (use) => {
  try {
    return use();
  } catch (fault) {
    return fault.payload ?? fault;
  }
};

for (const [root, asked, expected] of [
  ['project', 'file', '0123456789'],
  ['project', 'in', '0123456789'],
  ['project', '../project/file', '0123456789'],
  ['project', 'out', 'denied'],
  ['project', '../outside/secret', 'denied'],
  ['project', '/etc/passwd', 'denied'],
  ['project', '../home/.tollgate/config.json', 'denied'],
  ['project', 'none', 'missing'],
  ['project', 'none/deeper', 'missing'],
  ['project', 'folder', 'other'],
  ['project', 'loop', 'other'],
  ['project', 'file/x', 'other'],
  ['project', 'pipe', 'other'],
  ['home', '.tollgate/config.json', '{}'],
  ['home', '.ollm/extensions/e/x.json', '{}'],
  ['home', '.ssh/key', 'denied'],
  ['home', '.tollgate/key', 'denied'],
  ['home', '.tollgate-evil/x', 'denied'],
  ['home', '.tollgate/../.ssh/key', 'denied'],
  ['home', '.tollgate/none', 'missing'],
]) {
  test(`read ${root} ${asked}: ${expected}`, () => {
    assert.equal(
      outcome(() => text(read(root, asked, 100n))),
      expected,
    );
  });
}

test('limits, ranges and tails', () => {
  const most = 2n ** 64n - 1n;
  assert.equal(text(read('project', 'file', 10n)), '0123456789');
  assert.equal(text(read('project', 'file', most)), '0123456789');
  assert.equal(
    outcome(() => read('project', 'file', 9n)),
    'too-large',
  );
  assert.equal(text(readRange('project', 'file', 3n, 4n)), '3456');
  assert.equal(text(readRange('project', 'file', 8n, most)), '89');
  assert.equal(text(readRange('project', 'file', most, most)), '');
  for (const [limit, offset, bytes] of [
    [3n, 7n, '789'],
    [most, 0n, '0123456789'],
    [0n, 10n, ''],
  ]) {
    const tail = readTail('project', 'file', limit);
    assert.deepEqual([tail.offset, text(tail.bytes)], [offset, bytes]);
  }
});

const tree = path.join(folder, 'project/tree');
writeFiles(tree, { 'a/b': '', 'a/c/d': '12', 'a-b': '', 'a.txt': '', a0: '', 'node_modules/m/i': '', 'x/node_modules/n': '' });
writeFiles(tree, { '\u{ffee}': '', '\u{1f600}': '' });
fs.symlinkSync('a', path.join(tree, 'z'));
fs.writeFileSync(Buffer.concat([Buffer.from(`${tree}/`), Buffer.from([0x62, 0xff])]), '');
const everything = [
  'a',
  'a-b',
  'a.txt',
  'a/b',
  'a/c',
  'a/c/d',
  'a0',
  'node_modules',
  'node_modules/m',
  'node_modules/m/i',
  'x',
  'x/node_modules',
  'x/node_modules/n',
  'z',
  '\u{ffee}',
  '\u{1f600}',
];

for (const [what, reach, expected, truncated = false] of [
  ['everything, sorted byte by byte', {}, everything],
  ['one level', { depth: 1 }, everything.filter((name) => !name.includes('/'))],
  ['two levels', { depth: 2 }, everything.filter((name) => name.split('/').length <= 2)],
  ['no level', { depth: 0 }, []],
  [
    'folders that are not entered',
    { skip: ['node_modules', 'c'] },
    everything.filter((name) => !/(node_modules|c)\//.test(name)),
  ],
  ['up to a limit', { limit: 5 }, everything.slice(0, 5), true],
  ['exactly up to a limit', { limit: everything.length }, everything],
  ['a limit of nothing', { limit: 0 }, [], true],
]) {
  test(`list ${what}`, () => {
    const listing = list('project', 'tree', { depth: 9, limit: 100, skip: [], ...reach });
    assert.deepEqual(
      listing.entries.map((entry) => entry.path),
      expected,
    );
    assert.equal(listing.truncated, truncated);
  });
}

test('a listing tells what stands there, with no link followed', () => {
  const { entries } = list('project', 'tree', { depth: 3, limit: 100, skip: [] });
  const at = (name) => entries.find((entry) => entry.path === name);
  assert.deepEqual([at('a').kind, at('a/c/d').kind, at('z').kind, at('a/c/d').size], ['directory', 'file', 'other', 2n]);
  assert.ok(entries.every((entry) => entry.identity !== 0n && entry.stamp !== 0n));
});

test('a listing tells what links say, how many names a file has, and what it cannot tell', () => {
  const { entries, unseen } = list('project', 'tree', { depth: 3, limit: 100, skip: [] });
  const at = (name) => entries.find((entry) => entry.path === name);
  assert.deepEqual([at('z').link, at('a').link, at('a/c/d').link], ['a', undefined, undefined]);
  assert.equal(unseen, 'b\u{fffd}');
  assert.equal(list('project', 'tree/a', { depth: 3, limit: 100, skip: [] }).unseen, undefined);
  writeFiles(path.join(folder, 'project'), { 'names/one': '' });
  fs.linkSync(path.join(folder, 'project/names/one'), path.join(folder, 'project/names/other'));
  const names = list('project', 'names', { depth: 1, limit: 9, skip: [] }).entries;
  assert.deepEqual(
    names.map((entry) => entry.hardLinks),
    [2, 2],
  );
});

for (const [root, asked, expected] of [
  ['project', 'none', 'missing'],
  ['project', 'file', 'other'],
  ['project', 'loop', 'other'],
  ['project', '..', 'denied'],
  ['home', '.', 'denied'],
  ['home', '.tollgate', 2],
]) {
  test(`list ${root} ${asked}: ${expected}`, () => {
    assert.equal(
      outcome(() => list(root, asked, { depth: 1, limit: 9, skip: [] }).entries.length),
      expected,
    );
  });
}
