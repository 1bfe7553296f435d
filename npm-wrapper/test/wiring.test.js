// `tollgate init` and `tollgate doctor` of the npm package: files and programs of this machine, decisions of the gate.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { atTerminal, withoutTerminal } from './terminal.js';

/** With `--yes`, a person has to run the command. */
function runCommand(args, options) {
  return (args.includes('--yes') ? atTerminal : withoutTerminal)([process.execPath, command, ...args], options);
}

const command = fileURLToPath(new URL('../bin/tollgate.js', import.meta.url));

/** A repository and a home folder without any agent program's files, and a search path with only what the trials need. */
function createMachine() {
  const top = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'tollgate-wiring-')));
  after(() => fs.rmSync(top, { recursive: true, force: true }));
  const [root, home, tools, temporary] = ['repo', 'home', 'tools', 'tmp'].map((name) => path.join(top, name));
  for (const folder of [path.join(root, '.git'), path.join(root, 'src'), home, tools, temporary])
    fs.mkdirSync(folder, { recursive: true });
  fs.symlinkSync(process.execPath, path.join(tools, 'node'));
  for (const name of ['sh', 'env']) fs.symlinkSync(fs.realpathSync(`/bin/${name}`), path.join(tools, name));
  fs.symlinkSync(command, path.join(tools, 'tollgate'));
  const run = (args, cwd = root) => runCommand(args, { cwd, env: { HOME: home, PATH: tools, TMPDIR: temporary } });
  const write = (file, text) => {
    fs.mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    fs.writeFileSync(path.join(root, file), text);
  };
  const read = (file) => fs.readFileSync(path.join(root, file), 'utf8');
  /** Every file, except what the gate itself stores and the ledger, which is never undone. */
  const files = () => {
    const names = fs.readdirSync(top, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const all = names
      .map((entry) => path.join(entry.parentPath ?? entry.path, entry.name))
      .filter((file) => !/\/\.local\/|\/agent_trace\.jsonl$/.test(file));
    return Object.fromEntries(all.sort().map((file) => [file, fs.readFileSync(file, 'utf8')]));
  };
  return { top, root, home, temporary, run, write, read, files };
}

test('init keeps comments, doctor finds it live, undo goes back to the byte', () => {
  const { root, home, temporary, run, write, read, files } = createMachine();
  write('.claude/settings.json', '{\n  // mine\n  "model": "opus", // the best\n}\n');
  const before = files();
  const wired = run(['init', '--yes', '--host', 'claude-code', '--host', 'qwen']);
  assert.deepEqual([wired.status, wired.stderr], [0, '']);
  assert.match(wired.stdout, /\.claude\/settings\.json \(change\)\n.*\n.*\n {2}\+ {3}"hooks": \{\n/);
  assert.match(wired.stdout, /Claude Code: set up in \.claude\/settings\.json, which a team can commit/);
  assert.match(read('.claude/settings.json'), /^\{\n {2}\/\/ mine\n {2}"model": "opus", \/\/ the best\n {2}"hooks": \{\n/);
  assert.match(read('.qwen/settings.json'), /"command": "tollgate hook qwen"/);
  assert.deepEqual(JSON.parse(read('.mcp.json')), { mcpServers: { tollgate: { command: 'tollgate', args: ['mcp-serve'] } } });

  const proven = run(['doctor', '--json']);
  const { ok, hosts } = JSON.parse(proven.stdout);
  assert.deepEqual(
    [proven.status, ok, hosts.map(({ host, state }) => [host, state])],
    [
      0,
      true,
      [
        ['claude-code', 'live'],
        ['qwen', 'live'],
      ],
    ],
    proven.stdout,
  );
  assert.deepEqual(fs.readdirSync(temporary), []);
  assert.equal(fs.readdirSync(path.join(home, '.local/state/tollgate')).length, 1);
  assert.match(
    run(['doctor']).stdout,
    /^HOST {9}STATE {2}TOOLS {7}COMMANDS {4}SETTINGS\nClaude Code {2}live {3}every tool {2}unconfined {2}\.claude\/settings\.json\n/,
  );

  const below = run(['doctor', '--json'], path.join(root, 'src'));
  assert.equal(JSON.parse(below.stdout).hosts[0].state, 'installed, but silent');

  assert.match(run(['init', '--yes']).stdout, /everything is set up already\n$/);
  assert.equal(run(['init', '--undo', '--yes']).status, 0);
  assert.deepEqual(files(), before);
  assert.match(run(['init', '--undo', '--yes']).stderr, /there is nothing to undo/);
});

test('one program that cannot be wired does not stop the others', () => {
  for (const [file, text, said] of [
    ['.gemini/settings.json', '{"hooks": []}', /`hooks` is not an object/],
    ['.gemini', 'not a folder', /ENOTDIR/],
    ['.gemini/settings.json/x', '', /EISDIR/],
  ]) {
    const { run, write, read } = createMachine();
    write(file, text);
    const { status, stderr } = run(['init', '--yes', '--host', 'gemini', '--host', 'claude-code']);
    assert.equal(status, 2);
    assert.match(stderr, /^tollgate: Gemini CLI: `\.gemini\/settings\.json` is left as it is: /);
    assert.match(stderr, said);
    assert.equal(read(file), text);
    assert.match(read('.claude/settings.json'), /tollgate hook claude-code/);
  }
});

test('a command line invalid arguments changes nothing', () => {
  const { run, files } = createMachine();
  const before = files();
  for (const [args, said] of [
    [['init', '--host', 'claude-code'], /there is no terminal to ask one on/],
    [['init', '--yes', '--host', 'emacs'], /`emacs` cannot be set up; expected one of: claude-code, codex, gemini/],
    [['init', '--yes', '--scope', 'world'], /must be `workspace` or `user`/],
    [['init', 'claude-code'], /invalid arguments/],
    [['init', '--undo', '--scope', 'user'], /--undo takes neither/],
    [['doctor', 'x'], /invalid arguments/],
  ]) {
    const { status, stderr } = run(args);
    assert.equal(status, 2, args.join(' '));
    assert.match(stderr, said);
  }
  assert.deepEqual(files(), before);
});

test('undo is about one workspace', () => {
  const { root, home, run } = createMachine();
  const other = path.join(path.dirname(root), 'other');
  fs.mkdirSync(path.join(other, '.git'), { recursive: true });
  for (const folder of [root, other]) assert.equal(run(['init', '--yes', '--host', 'codex'], folder).status, 0);
  const hooks = path.join(home, '.codex/hooks.json');
  const text = fs.readFileSync(hooks, 'utf8');
  assert.match(run(['init', '--undo', '--yes']).stderr, /uses it too/);
  assert.equal(fs.readFileSync(hooks, 'utf8'), text);
  assert.equal(run(['init', '--undo', '--yes'], other).status, 0);
  assert.equal(fs.existsSync(path.dirname(hooks)), false);
});

test('what npm adds to the search path is not there for agent programs', () => {
  const { root, home, top } = createMachine();
  const added = path.join(top, 'x/node_modules/.bin');
  fs.mkdirSync(added, { recursive: true });
  fs.renameSync(path.join(top, 'tools/tollgate'), path.join(added, 'tollgate'));
  const run = (args, more) => {
    const env = {
      HOME: home,
      PATH: [added, path.join(top, 'tools')].join(path.delimiter),
      TMPDIR: path.join(top, 'tmp'),
      ...more,
    };
    return runCommand(args, { cwd: root, env });
  };
  const underNpm = { npm_execpath: '/usr/lib/npm/bin/npx-cli.js' };
  const { status, stderr } = run(['init', '--yes', '--host', 'claude-code'], underNpm);
  assert.deepEqual([status, stderr.split('\n').length], [0, 2], stderr);
  assert.match(stderr, /^tollgate: `tollgate` is not on the search path/);
  const settings = path.join(root, '.claude/settings.json');
  assert.ok(fs.readFileSync(settings, 'utf8').includes(`"${fs.realpathSync(command)} hook claude-code"`));
  assert.equal(JSON.parse(run(['doctor', '--json'], underNpm).stdout).hosts[0].state, 'live');
  // A program name that only npm knows counts as missing.
  fs.writeFileSync(settings, fs.readFileSync(settings, 'utf8').replaceAll(fs.realpathSync(command), 'tollgate'));
  const [{ state, remarks }] = JSON.parse(run(['doctor', '--json'], underNpm).stdout).hosts;
  assert.deepEqual([state, remarks.length], ['installed, but silent', 1]);
  assert.match(remarks[0], /^its program is missing/);
  assert.equal(JSON.parse(run(['doctor', '--json'], {}).stdout).hosts[0].state, 'live');
});
