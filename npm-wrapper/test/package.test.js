// The package as its users load it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as esm from 'tollgate';
import { createTemporaryFolder, createGovernedWorkspace } from './workspace_folder.js';

const cjs = createRequire(import.meta.url)('tollgate');
const dist = fileURLToPath(new URL('../dist', import.meta.url));
const discards = [];
after(() => discards.forEach((discard) => discard()));

function gateOn(module, options = {}) {
  const { workspace, home, discard } = createGovernedWorkspace();
  discards.push(discard);
  return { workspace, gate: module.createTollgate({ workspace, home, ...options }) };
}

const write = (file) => ({ session: 's1', call: 'c1', tool: 'write_to_file', args: { path: file, content: 'x' } });

for (const [name, module] of [
  ['import', esm],
  ['require', cjs],
]) {
  test(`${name}: calls are allowed in scope and denied beyond it`, () => {
    const { gate } = gateOn(module);
    assert.equal(gate.preTool(write('src/auth/login.ts')).code, 'no_active_intent');
    assert.deepEqual(gate.selectIntent('s1', 'INT-001'), { id: 'INT-001', name: 'Login hardening', status: 'IN_PROGRESS' });
    assert.deepEqual(gate.preTool(write('src/auth/login.ts')), {
      verdict: 'allow',
      code: 'in_scope',
      reason: '',
      effects: [{ path: 'src/auth/login.ts', operation: 'modify' }],
      preHashes: [{ path: 'src/auth/login.ts', digest: `sha256:${createHash('sha256').update('login').digest('hex')}` }],
    });
    const denied = gate.preTool(write('src/billing/pay.ts'));
    assert.deepEqual([denied.verdict, denied.code], ['deny', 'out_of_scope']);
    assert.match(denied.reason, /src\/auth\/\*\*/);
  });
}

test('a gate works from a folder with blanks and other marks in its path', () => {
  const { folder, discard } = createTemporaryFolder('tollgate päck #1% ');
  discards.push(discard);
  fs.cpSync(dist, path.join(folder, 'dist'), { recursive: true });
  fs.writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}');
  for (const flags of [
    ['dist/index.js', 'import'],
    ['dist/index.cjs', 'require'],
  ]) {
    const [file, how] = flags;
    const load = how === 'import' ? `await import('./${file}')` : `require('./${file}')`;
    const script = path.join(folder, how === 'import' ? 'try.mjs' : 'try.cjs');
    fs.writeFileSync(script, `(async () => console.log((${load}).createTollgate({ workspace: '.' }).longestLine))();`);
    assert.equal(execFileSync(process.execPath, [script], { cwd: folder, encoding: 'utf8' }).trim(), String(32 << 20));
  }
});

test('the version and the digest are those of the package and of the component', () => {
  assert.equal(esm.version, JSON.parse(fs.readFileSync(path.join(dist, '../package.json'), 'utf8')).version);
  assert.match(esm.digest, /^sha256:[0-9a-f]{64}$/);
  assert.equal(cjs.digest, esm.digest);
});

test('the package has a page of its own, and the licences of the repository', () => {
  const at = (file) => fileURLToPath(new URL(`../${file}`, import.meta.url));
  const packed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=silent'], {
    cwd: at(''),
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  const files = JSON.parse(packed)[0].files.map((file) => file.path);
  for (const file of [
    'README.md',
    'package.json',
    'LICENSE-MIT',
    'LICENSE-APACHE',
    'bin/tollgate.js',
    'dist/index.js',
    'dist/index.d.ts',
  ]) {
    assert.ok(files.includes(file), `${file} is not in the package`);
  }
  for (const licence of ['LICENSE-MIT', 'LICENSE-APACHE']) {
    assert.equal(fs.readFileSync(at(licence), 'utf8'), fs.readFileSync(at(`../${licence}`), 'utf8'));
  }
});

test('a session selects, inherits and clears its intent', () => {
  const { gate } = gateOn(esm);
  assert.equal(gate.currentIntent('s1'), undefined);
  assert.equal(gate.context('s1'), '');
  gate.selectIntent('s1', 'INT-001');
  gate.inheritIntent('child', 's1');
  assert.equal(gate.currentIntent('child').id, 'INT-001');
  assert.match(gate.context('s1'), /INT-001/);
  gate.clearIntent('s1');
  assert.equal(gate.currentIntent('child'), undefined);
});

test('a settled call comes back as the entries that were entered', () => {
  const { gate, workspace } = gateOn(esm, { clock: () => 1_767_225_600_000, random: (length) => new Uint8Array(length).fill(7) });
  gate.selectIntent('s1', 'INT-001');
  gate.preTool(write('src/auth/login.ts'));
  fs.writeFileSync(path.join(workspace, 'src/auth/login.ts'), 'x');
  const { entries } = gate.postTool(write('src/auth/login.ts'), { status: 'done', result: { ok: true } });
  assert.equal(entries.length, 1);
  const ledger = fs.readFileSync(path.join(workspace, '.orchestration/agent_trace.jsonl'), 'utf8');
  assert.deepEqual(JSON.parse(ledger), entries[0]);
  assert.match(ledger, /2026-01-01T00:00:00/);
  assert.match(ledger, /07070707/);
});

test('lookups, directions and lines cross as plain data', () => {
  const { gate } = gateOn(esm);
  const call = { session: 's1', call: 'c1', tool: 'bash', args: { command: 'ls', note: '\u{feff}ünï' } };
  assert.deepEqual(gate.planLookups(call).lookups, []);
  assert.deepEqual(gate.augment(call, [{ concept: 'A', source: 's', answer: { text: 'known' } }]).args, call.args);
  assert.deepEqual(gate.perform({ op: 'context', session: 's1' }), { text: '' });
  assert.equal(gate.perform('{"op":"context","session":"s1"}'), '{"text":""}');
  assert.equal(gate.perform(Buffer.from('{"op":"context","session":"s1"}')), '{"text":""}');
});

test('a path that begins with a byte order mark is not the path without it', () => {
  const { gate } = gateOn(esm);
  assert.deepEqual(gate.preTool(write('\u{feff}src/auth/login.ts')).effects, [
    { path: '\u{feff}src/auth/login.ts', operation: 'create' },
  ]);
});

for (const [what, use, code] of [
  ['an unknown intent', (gate) => gate.selectIntent('s1', 'INT-404'), 'unknown_intent'],
  ['a session that is no text', (gate) => gate.currentIntent(7), 'invalid_input'],
  ['arguments that are no JSON', (gate) => gate.preTool({ ...write('a'), args: { big: 1n } }), 'invalid_input'],
  ['a call that is missing', (gate) => gate.preTool(undefined), 'invalid_input'],
  ['an unknown outcome', (gate) => gate.postTool(write('a'), { status: 'odd' }), 'invalid_input'],
  ['a negative limit', (gate) => gate.context('s1', -1), 'invalid_input'],
]) {
  test(`${what} is refused as ${code}, and the gate works on`, () => {
    const { gate } = gateOn(esm);
    assert.throws(
      () => use(gate),
      (error) => error instanceof esm.TollgateError && error.code === code && error.message !== '',
    );
    assert.equal(gate.context('s1'), '');
  });
}

test('a workspace that cannot be opened is named, with the remedy', () => {
  const { folder, discard } = createTemporaryFolder();
  discards.push(discard);
  const file = path.join(folder, 'file');
  fs.writeFileSync(file, '');
  for (const [workspace, why] of [
    [path.join(folder, 'gone'), 'it does not exist'],
    [file, 'it is not a folder'],
  ]) {
    assert.throws(() => esm.createTollgate({ workspace }), {
      name: 'TollgateError',
      code: 'workspace_missing',
      message: `cannot open the workspace \`${workspace}\`: ${why}; name an existing folder`,
    });
  }
});
