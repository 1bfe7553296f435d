// `tollgate mcp-serve`, called by an MCP client and with raw lines.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { createTollgate, version } from 'tollgate';
import { createGovernedWorkspace } from './workspace_folder.js';

const command = fileURLToPath(new URL('../bin/tollgate.js', import.meta.url));
const { workspace, home, discard } = createGovernedWorkspace();
after(discard);
const args = [command, 'mcp-serve', '--workspace', workspace, '--home', home];

test('every tool of the gate is offered, and answers from the gate', async () => {
  const client = new Client({ name: 'test', version: '0' });
  await client.connect(new StdioClientTransport({ command: process.execPath, args }));
  after(() => client.close());
  assert.deepEqual(client.getServerVersion(), { name: 'tollgate', version });
  const gate = createTollgate({ workspace, home });
  const offered = gate.perform({ op: 'own-tools' });
  assert.equal(client.getInstructions(), offered.instructions);
  const { tools } = await client.listTools();
  const told = tools.map(({ name, title, description, inputSchema, annotations }) => ({
    name,
    title,
    description,
    schema: inputSchema,
    changes: !annotations.readOnlyHint,
  }));
  assert.deepEqual(told, offered.tools);

  const said = async (name, given) => {
    const { content, isError = false, structuredContent } = await client.callTool({ name, arguments: given });
    return { text: content[0].text, isError, structuredContent };
  };
  const listed = await said('list_intents', {});
  assert.deepEqual(JSON.parse(listed.text), listed.structuredContent);
  const [{ id }] = listed.structuredContent.intents;
  assert.match((await said('select_active_intent', { intent_id: id })).text, new RegExp(`^The active intent is ${id} `));
  for (const [tool, given, why] of [
    ['select_active_intent', { intent_id: 'nobody' }, /there is no intent `nobody`/],
    ['select_active_intent', {}, /needs `intent_id`/],
    ['recent_trace', { limit: 0 }, /give a whole number from 1 to 100/],
  ]) {
    const { text, isError } = await said(tool, given);
    assert.ok(isError, tool);
    assert.match(text, why);
  }
  await assert.rejects(client.callTool({ name: 'delete_intent', arguments: {} }), /`delete_intent` is not a tool of Tollgate/);
  // For hosts without hooks.
  assert.ok(gate.perform({ op: 'list-sessions' }).sessions.some(({ session, intent }) => session === 'mcp' && intent === id));
  await gate.close();
});

test('garbage is passed over and the end of input is the end', () => {
  const message = (fields) => JSON.stringify({ jsonrpc: '2.0', ...fields });
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '0' } };
  const initialize = message({ id: 1, method: 'initialize', params });
  const initialized = message({ method: 'notifications/initialized' });
  const call = message({ id: 2, method: 'tools/call', params: { name: 'list_intents', arguments: {} } });
  for (const [lines, expected] of [
    [[], []],
    [['garbage'], []],
    [
      ['garbage', initialize, '{', '\u0001', initialized, '{}', call],
      [1, 2],
    ],
  ]) {
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      input: lines.map((line) => `${line}\n`).join(''),
      encoding: 'utf8',
      timeout: 30_000,
    });
    assert.equal(status, 0, stderr);
    const ids = stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line).id);
    assert.deepEqual(ids, expected, stdout);
  }
});
