// How paths are resolved and what is reported about them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { Roots, workspaceImport } from './imports.js';
import { createTemporaryFolder, writeFiles } from './workspace_folder.js';

const { folder, discard } = createTemporaryFolder();
after(discard);
const project = path.join(folder, 'project');
const home = path.join(folder, 'home');
writeFiles(folder, {
  'project/src/billing/sub/x': 'x',
  'project/src/auth/a.ts': 'a',
  'outside/secret': 's',
  'home/.tollgate/config.json': '{}',
});
const link = (target, name) => fs.symlinkSync(target, path.join(project, name));
link('../billing/sub', 'src/auth/lnk');
link(path.join(project, 'src/billing'), 'abs');
link('loop', 'loop');
link('ping', 'pong');
link('pong', 'ping');
link('../new/file', 'src/dangling');
link('../outside', 'out');
link('src/dangling', 'twice');
link('.', 'self');
fs.linkSync(path.join(project, 'src/auth/a.ts'), path.join(project, 'second'));
execFileSync('mkfifo', [path.join(project, 'pipe')]);
link('pipe', 'to-pipe');
link('x'.repeat(300), 'long-target');
fs.symlinkSync(Buffer.from([0x62, 0xff]), Buffer.from(path.join(project, 'odd-target')));
for (let i = 0; i < 41; i += 1) link(i === 0 ? 'second' : `chain${i - 1}`, `chain${i}`);
writeFiles(project, { ['\u{feff}marked']: 'm' });
fs.symlinkSync(project, path.join(folder, 'alias'));

const { inspect } = workspaceImport(new Roots(path.join(folder, 'alias'), home), () => {});
const inspectPath = (asked, digest = false, root = 'project') => inspect([{ root, path: asked, digest }])[0];

for (const [asked, kind, real, entry = real] of [
  ['.', 'directory', '.'],
  ['', 'directory', '.'],
  ['src//./auth/', 'directory', 'src/auth'],
  ['src/auth/a.ts', 'file', 'src/auth/a.ts'],
  ['src/auth/lnk/x', 'file', 'src/billing/sub/x'],
  ['src/auth/lnk', 'directory', 'src/billing/sub', 'src/auth/lnk'],
  ['src/auth/lnk/../y', 'missing', 'src/billing/y'],
  ['src/auth/lnk/..', 'directory', 'src/billing'],
  ['abs/y', 'missing', 'src/billing/y'],
  ['self/self/second', 'file', 'second'],
  ['loop', 'missing', undefined, 'loop'],
  ['ping', 'missing', undefined, 'ping'],
  ['loop/x', 'missing', undefined],
  ['chain39', 'file', 'second', 'chain39'],
  ['chain40', 'missing', undefined, 'chain40'],
  ['src/dangling', 'missing', 'new/file', 'src/dangling'],
  ['src/dangling/deeper', 'missing', 'new/file/deeper'],
  ['twice', 'missing', 'new/file', 'twice'],
  ['long-target', 'missing', 'x'.repeat(300), 'long-target'],
  ['odd-target', 'missing', undefined, 'odd-target'],
  ['not/there/yet', 'missing', 'not/there/yet'],
  ['not/there/../../second', 'file', 'second'],
  ['src/auth/a.ts/b', 'missing', undefined],
  ['src/auth/a.ts/..', 'missing', undefined],
  ['pipe/x', 'missing', undefined],
  ['pipe', 'other', 'pipe'],
  ['to-pipe', 'other', 'pipe', 'to-pipe'],
  ['a\0b', 'missing', undefined],
  ['\u{feff}marked', 'file', '\u{feff}marked'],
  ['marked', 'missing', 'marked'],
  ['..', 'directory', folder],
  ['../project/second', 'file', 'second'],
  ['out/secret', 'file', path.join(folder, 'outside/secret')],
  ['out', 'directory', path.join(folder, 'outside'), 'out'],
  ['../project-evil/x', 'missing', path.join(folder, 'project-evil/x')],
  [project, 'directory', '.'],
  [path.join(folder, 'alias/second'), 'file', 'second'],
  [path.join(project, '../project/src/auth/lnk/x'), 'file', 'src/billing/sub/x'],
  ['/', 'directory', '/'],
  ['/../..', 'directory', '/'],
  ['/no/such/file', 'missing', '/no/such/file'],
]) {
  test(`inspect ${JSON.stringify(asked).replace(folder, '').slice(0, 60)}`, () => {
    const facts = inspectPath(asked);
    assert.deepEqual([facts.kind, facts.realPath, facts.entryPath], [kind, real, entry]);
  });
}

test('a path of the home folder begins there', () => {
  assert.equal(inspectPath('.tollgate/config.json', true, 'home').realPath, path.join(home, '.tollgate/config.json'));
});

test('the names of one file share its marks, and where nothing stands they are 0', () => {
  const [one, other, different, nothing] = ['src/auth/a.ts', 'second', 'src/billing/sub/x', 'no'].map((asked) =>
    inspectPath(asked),
  );
  assert.deepEqual(one.marks, other.marks);
  assert.notEqual(one.marks.inode, different.marks.inode);
  const stat = fs.statSync(path.join(project, 'second'), { bigint: true });
  assert.deepEqual(one.marks, { device: stat.dev, inode: stat.ino, changedNs: stat.ctimeNs, modifiedNs: stat.mtimeNs });
  assert.deepEqual([one.hardLinks, different.hardLinks, nothing.hardLinks, inspectPath('src').hardLinks], [2, 1, 0, 1]);
  assert.deepEqual([nothing.marks, nothing.size], [{ device: 0n, inode: 0n, changedNs: 0n, modifiedNs: 0n }, 0n]);
  assert.deepEqual([one.size, inspectPath('src').size, inspectPath('pipe').size], [1n, 0n, 0n]);
  assert.ok(inspectPath('src').marks.changedNs !== 0n && inspectPath('src').marks.inode !== 0n);
});

test('a link says what is written in it, and only where it is the last name', () => {
  const asked = [
    'src/auth/lnk',
    'src/dangling',
    'loop',
    'twice',
    'chain40',
    'src/auth/lnk/x',
    'src/auth/a.ts',
    'second',
    'odd-target',
    'no',
  ];
  const said = [
    '../billing/sub',
    '../new/file',
    'loop',
    'src/dangling',
    'chain39',
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ];
  assert.deepEqual(
    asked.map((name) => inspectPath(name).link),
    said,
  );
});

test('marks change with the content, also within the same size and after a touch back in time', () => {
  writeFiles(project, { changing: '1' });
  const file = path.join(project, 'changing');
  const before = inspectPath('changing').marks;
  assert.deepEqual(inspectPath('changing').marks, before);
  const { atime, mtime } = fs.statSync(file);
  fs.writeFileSync(file, '2');
  fs.utimesSync(file, atime, mtime);
  assert.notDeepEqual(inspectPath('changing').marks, before);
});

test('a digest is given for files of the workspace that are asked for, and for nothing else', () => {
  const digest = (content) => `sha256:${createHash('sha256').update(content).digest('hex')}`;
  const big = Buffer.alloc(200_000, 'tollgate');
  writeFiles(project, { big });
  assert.equal(inspectPath('second').digest, undefined);
  assert.equal(inspectPath('second', true).digest, digest('a'));
  assert.equal(inspectPath('big', true).digest, digest(big));
  assert.equal(inspectPath('src/auth/lnk/x', true).digest, digest('x'));
  for (const asked of ['out/secret', 'pipe', 'to-pipe', 'src', 'no', path.join(folder, 'outside/secret')]) {
    assert.equal(inspectPath(asked, true).digest, undefined, asked);
  }
  assert.equal(inspectPath('.tollgate/config.json', true, 'home').digest, undefined);
});

test('what the host may not look at is unreadable', { skip: process.getuid?.() === 0 && 'root may look everywhere' }, () => {
  writeFiles(project, { 'closed/file': '' });
  fs.chmodSync(path.join(project, 'closed'), 0);
  const facts = inspectPath('closed/file');
  fs.chmodSync(path.join(project, 'closed'), 0o755);
  assert.deepEqual([facts.kind, facts.realPath], ['unreadable', 'closed/file']);
});
