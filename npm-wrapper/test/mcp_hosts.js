// Both commands, each with a governed workspace and MCP servers.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const house = fileURLToPath(new URL('../..', import.meta.url));
const target = process.env.CARGO_TARGET_DIR ?? path.join(house, 'target');
const packages = path.join(target, 'mcp-servers/node_modules/@modelcontextprotocol');
const wasmtime = process.env.TOLLGATE ?? path.join(target, 'release/tollgate');
const node = fileURLToPath(new URL('../bin/tollgate.js', import.meta.url));

/** A generous time limit, for busy machines. */
export const PATIENCE_MS = 60_000;

export const everything = path.join(packages, 'server-everything/dist/index.js');
export const filesystem = path.join(packages, 'server-filesystem/dist/index.js');
const fakeServer = fileURLToPath(new URL('mcp_fake.mjs', import.meta.url));

/** Why the tests with real servers cannot run; `false` if they can. */
export const skip = fs.existsSync(everything) ? false : '`cargo xtask test` has not installed the servers';

/** The commands that are tested. */
export const hosts = [
  { name: 'node', words: [process.execPath, node] },
  ...(fs.existsSync(wasmtime) ? [{ name: 'wasmtime', words: [wasmtime] }] : []),
];

/** A declaration of a server that misbehaves. On a busy machine, Node takes long to start. */
export function declareFakeServer(mode, more = {}, pid = undefined) {
  const args = [fakeServer, mode, ...(pid === undefined ? [] : [pid])];
  return { command: process.execPath, args, connectTimeoutMs: PATIENCE_MS, ...more };
}

/** A declaration of a real server. */
export function declareServer(file, ...args) {
  return { command: process.execPath, args: [file, ...args], connectTimeoutMs: PATIENCE_MS };
}

/** The workspace's declarations of what tools do if their names do not tell. */
const TOOLS = { 'mcp__*__echo': 'read', 'mcp__liar__*': 'read', 'mcp__hang__*': 'read' };

/** A governed workspace with these servers in the user's settings. `t` removes it. */
export function createMcpWorkspace(t, servers, settings = {}) {
  const top = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'tollgate-mcp-'));
  t.after(() => fs.rmSync(top, { recursive: true, force: true, maxRetries: 5 }));
  const [workspace, home] = ['workspace', 'home'].map((name) => path.join(top, name));
  const write = (file, content) => {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, content);
  };
  write(
    path.join(workspace, '.orchestration/active_intents.yaml'),
    "[{id: INT-1, name: Login, status: IN_PROGRESS, owned_scope: ['src/**']}]",
  );
  const ship = (declared) =>
    write(path.join(workspace, '.tollgate/config.json'), JSON.stringify({ tools: TOOLS, mcpServers: declared }));
  ship({});
  write(path.join(workspace, 'src/a.txt'), 'a\n');
  write(path.join(workspace, 'README.md'), 'readme\n');
  const declare = (declared) =>
    write(path.join(home, '.tollgate/config.json'), JSON.stringify({ mcpServers: declared, settings }));
  declare(typeof servers === 'function' ? servers(workspace, top) : servers);
  const options = ['--workspace', workspace, '--home', home];
  const run = (host, ...words) => {
    const [program, ...before] = host.words;
    const { status, stdout, stderr } = spawnSync(program, [...before, ...words, ...options], {
      encoding: 'utf8',
      timeout: 3 * PATIENCE_MS,
      maxBuffer: 64 << 20,
    });
    const read = () => {
      assert.match(stdout, /^\{/, `${host.name} ${words.join(' ')}: ${status} ${stderr}`);
      return JSON.parse(stdout);
    };
    return { status, stdout, stderr, read };
  };
  /** A client that talks to the proxy. */
  const connect = async (host, capabilities = {}, ...words) => {
    const [command, ...before] = host.words;
    const client = new Client({ name: 'test', version: '0' }, { capabilities });
    const transport = new StdioClientTransport({
      command,
      args: [...before, 'mcp-proxy', ...words, ...options],
      stderr: 'pipe',
    });
    let said = '';
    transport.stderr?.on('data', (piece) => {
      said += piece;
    });
    t.after(() => client.close());
    await client.connect(transport, { timeout: PATIENCE_MS });
    const call = (name, given = {}) =>
      client.callTool({ name, arguments: given }, undefined, { timeout: 2 * PATIENCE_MS }).then(
        ({ content, ...rest }) => ({ ...rest, content, text: content.map(({ text }) => text).join('\n') }),
        (error) => ({ error, text: error.message }),
      );
    const names = async () => (await client.listTools({}, { timeout: PATIENCE_MS })).tools.map(({ name }) => name);
    return { client, transport, call, names, said: () => said };
  };
  return { top, workspace, home, declare, ship, run, connect };
}

/** Whether a process has ended. Its parent may take a moment to reap it. */
export async function isGone(pid) {
  for (const begin = Date.now(); Date.now() - begin < 20_000; ) {
    const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid).trim()], { encoding: 'utf8' });
    if (stdout.trim() === '' || stdout.startsWith('Z')) return true;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}

/** Waits until a condition holds. */
export async function waitUntil(what, holds) {
  const begin = Date.now();
  for (;;) {
    const found = await holds();
    if (found) return found;
    assert.ok(Date.now() - begin < PATIENCE_MS, `${what}: not within ${PATIENCE_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Runs a test for every command. */
export async function testEachHost(t, test) {
  assert.ok(hosts.length > 0);
  for (const host of hosts) await t.test(host.name, (inner) => test(inner, host));
}
