// MCP servers as sources, working and broken, using the same test cases as the wasmtime host.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createTollgate } from '../dist/index.js';

/** A busy machine may take this long to start a server. */
const PATIENCE_MS = 60_000;

const repository = fileURLToPath(new URL('../..', import.meta.url));
const servers = path.join(process.env.CARGO_TARGET_DIR ?? path.join(repository, 'target'), 'mcp-servers');
const everything = path.join(servers, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js');
const rows = fs
  .readFileSync(path.join(repository, 'fixtures/mcp/lookups.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));

process.env.TOLLGATE_TEST_SECRET = 'x';

/** One gate per folder, whose user declares the server of a row as `graph`. Servers run in its workspace. */
const gates = new Map();
const gateOf = (folder, { server }, lookups) => {
  if (gates.has(folder)) return gates.get(folder);
  const [workspace, home] = ['repo', 'home'].map((name) => path.join(folder, name));
  fs.mkdirSync(workspace, { recursive: true });
  fs.mkdirSync(path.join(home, '.tollgate'), { recursive: true });
  const mcpServers = server === null ? {} : { graph: server };
  fs.writeFileSync(path.join(home, '.tollgate/config.json'), JSON.stringify({ mcpServers }));
  gates.set(folder, createTollgate({ workspace, home, lookups }));
  return gates.get(folder);
};
const closeServers = () => Promise.all([...gates.values()].map((gate) => gate.close()));
after(closeServers);

function newServerFolder() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tollgate-mcp-'));
  after(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function askServer(row, folder, lookups) {
  const { name, tool, arguments: given } = row;
  const request = { kind: 'mcp', server: 'graph', tool, arguments: given };
  const asks = [{ concept: 'auth', source: 'graph', request, timeoutMs: 500 }];
  const begin = Date.now();
  const [{ answer }] = await gateOf(folder, row, lookups).lookUp({ concepts: ['auth'], lookups: asks, totalMs: 5000 });
  assert.ok(Date.now() - begin < 4000, `${name}: ${Date.now() - begin} ms`);
  return answer;
}

/** The connection attempt continues in the background, so a later lookup gets an answer. */
async function waitForAnswer(row, folder, expected, there = () => true) {
  const begin = Date.now();
  for (;;) {
    const answer = await askServer(row, folder);
    if (((answer !== 'late' || expected === 'late') && there()) || Date.now() - begin > PATIENCE_MS) return answer;
  }
}

/** A process that has ended may still be waiting for its parent to collect it. */
async function isGone(pid) {
  for (const begin = Date.now(); Date.now() - begin < 10_000; ) {
    const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', pid.trim()], { encoding: 'utf8' });
    if (stdout.trim() === '' || stdout.startsWith('Z')) return true;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}

for (const row of rows) {
  const real = JSON.stringify(row).includes('{everything}');
  const skip = real && !fs.existsSync(everything) ? '`cargo xtask test` has not installed the server' : false;
  test(row.name, { skip }, async () => {
    const folder = newServerFolder();
    if (real) row.server.args = row.server.args.map((word) => word.replace('{everything}', everything));
    const answer = await waitForAnswer(
      row,
      folder,
      row.expect,
      () => row.until === undefined || fs.existsSync(path.join(folder, 'repo', row.until)),
    );
    const [kind, text] = typeof answer === 'string' ? [answer, ''] : Object.entries(answer)[0];
    assert.equal(kind, row.expect, text);
    assert.ok(text.includes(row.says ?? ''), text);
    assert.ok(!text.includes('TOLLGATE_TEST_SECRET'), text);
    await closeServers();
    for (const name of ['pid', 'child', 'called']) {
      const file = path.join(folder, 'repo', name);
      if (fs.existsSync(file)) assert.ok(await isGone(fs.readFileSync(file, 'utf8')), `${name} is still there`);
    }
  });
}

test('one connection serves many lookups, and a server that ended is started anew', async () => {
  const row = structuredClone(rows.find(({ name }) => name === 'it dies in the call'));
  const answer = "params.name==='end'?process.exit(0):say(id,{content:[{type:'text',text:String(process.pid)}]})";
  row.server.args[1] = row.server.args[1].replace('process.exit(1)', answer);
  const folder = newServerFolder();
  const ask = (tool) => waitForAnswer({ ...row, tool }, folder);
  const first = await ask('pid');
  const again = await Promise.all(Array.from({ length: 8 }, () => ask('pid')));
  assert.match(first.text, /^\d+$/);
  assert.deepEqual(again, Array(8).fill(first));
  assert.match((await ask('end')).failed, /ended before `end` had answered/);
  const anew = await ask('pid');
  assert.match(anew.text, /^\d+$/);
  assert.notDeepEqual(anew, first);
});

test('what a trusted server says of its tools counts, and only what it says', async () => {
  const row = structuredClone(rows.find(({ name }) => name === 'it knows nothing'));
  const inputSchema = { type: 'object' };
  const tools = [
    { name: 'frobnicate', inputSchema, annotations: { readOnlyHint: true } },
    { name: 'wipe', inputSchema, annotations: { destructiveHint: true } },
    // This client must not validate answers against the schema.
    { name: 't', inputSchema, outputSchema: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] } },
  ];
  row.server.args[1] = row.server.args[1].replace('tools:[]', `tools:${JSON.stringify(tools)}`);
  const folder = newServerFolder();
  const settings = path.join(folder, 'home/.tollgate/config.json');
  for (const [file, text] of [
    [
      path.join(folder, 'repo/.orchestration/active_intents.yaml'),
      "[{id: I, name: I, status: IN_PROGRESS, owned_scope: ['src/**']}]",
    ],
    [settings, JSON.stringify({ mcpServers: { graph: { ...row.server, trust: true } } })],
  ]) {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
  }
  const gate = createTollgate({ workspace: path.join(folder, 'repo'), home: path.join(folder, 'home') });
  gates.set(folder, gate);
  const codeOf = (tool) => gate.preTool({ session: 's', call: 'c', tool: `mcp__graph__${tool}`, args: {} }).code;
  assert.equal(codeOf('frobnicate'), 'no_active_intent');
  assert.equal(await waitForAnswer(row, folder, 'unknown'), 'unknown');
  assert.deepEqual(['frobnicate', 'wipe', 't'].map(codeOf), ['read_only', 'no_active_intent', 'no_active_intent']);
  fs.writeFileSync(settings, '{}');
  assert.equal(codeOf('frobnicate'), 'no_active_intent');
});

test('a caller of your own is asked instead', async () => {
  const row = rows.find(({ name }) => name === 'the program is missing');
  const mcpTool = (server, tool, given) => `${server} ${tool} ${JSON.stringify(given)}`;
  assert.deepEqual(await askServer(row, newServerFolder(), { mcpTool }), { text: 'graph t {}' });
});

/** From both module systems, and with a server that hangs. */
for (const [name, load] of [
  ['import', "await import('tollgate')"],
  ['require', "require('tollgate')"],
]) {
  test(`${name}: a process ends in spite of its servers, and they with it`, async () => {
    const folder = newServerFolder();
    const server = { command: 'sh', args: ['-c', 'echo $$ > pid; sleep 60'] };
    const [workspace, home] = ['repo', 'home'].map((name) => path.join(folder, name));
    fs.mkdirSync(workspace);
    fs.mkdirSync(path.join(home, '.tollgate'), { recursive: true });
    fs.writeFileSync(path.join(home, '.tollgate/config.json'), JSON.stringify({ mcpServers: { s: server } }));
    const request = { kind: 'mcp', server: 's', tool: 't', arguments: {} };
    const lookup = { concept: 'a', source: 'b', request, timeoutMs: 500 };
    const plan = JSON.stringify({ concepts: ['a'], lookups: [lookup], totalMs: 5000 });
    const script = `(async () => {
      const { createTollgate } = ${load};
      const gate = createTollgate({ workspace: ${JSON.stringify(workspace)}, home: ${JSON.stringify(home)} });
      console.log((await gate.lookUp(${plan}))[0].answer);
    })();`;
    const words = [name === 'import' ? '--input-type=module' : '--input-type=commonjs', '--eval', script];
    const begin = Date.now();
    const out = execFileSync(process.execPath, words, {
      cwd: path.join(repository, 'npm-wrapper'),
      encoding: 'utf8',
      timeout: 30_000,
    });
    assert.equal(out, 'late\n');
    assert.ok(Date.now() - begin < 20_000);
    assert.ok(await isGone(fs.readFileSync(path.join(workspace, 'pid'), 'utf8')), 'the server is still there');
  });
}
