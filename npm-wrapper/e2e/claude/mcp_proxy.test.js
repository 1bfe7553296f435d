// `tollgate mcp-proxy` between the real Claude Code, which has no hooks here, and a real MCP server.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { modelTurns } from '../turns.mjs';
import { FILES, NOTE, summarizeEntry, readVerifiedLedger, writeFiles } from '../workspace.mjs';
import { resultsIn } from './messages.mjs';
import { play } from './session.mjs';

/** Installed beside the programs that sessions are played in. */
const server = path.join(
  process.env.TOLLGATE_E2E,
  '../../mcp-servers/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js',
);

/** Points Claude Code at the proxy, and the proxy at the server. */
function prepare({ workspace, home, env }) {
  const files = { command: process.execPath, args: [server, workspace], connectTimeoutMs: 60_000 };
  writeFiles(home, { '.tollgate/config.json': JSON.stringify({ mcpServers: { files } }) });
  const proxy = { command: process.env.TOLLGATE, args: ['mcp-proxy', '--workspace', workspace], env: { HOME: home } };
  writeFiles(workspace, { '.mcp.json': JSON.stringify({ mcpServers: { gate: proxy } }) });
  const settings = path.join(home, '.claude/settings.json');
  const allowing = JSON.parse(fs.readFileSync(settings, 'utf8'));
  allowing.permissions.allow.push('mcp__gate');
  fs.writeFileSync(settings, JSON.stringify(allowing));
  env.MCP_TIMEOUT = '120000';
}

/** What the model does, with what it has to be told of each call. */
function work(root) {
  const save = (name, content) => ['mcp__gate__write_file', { path: path.join(root, name), content }];
  return [
    [[...save('src/auth/new.ts', 'new\n'), /no intent is active; call select_active_intent first/]],
    [['mcp__gate__select_active_intent', { intent_id: 'INT-001' }, /^The active intent is INT-001/]],
    [[...save('src/billing/pay.ts', 'stolen\n'), /`src\/billing\/pay\.ts` is not in the scope of INT-001/]],
    [[...save('src/auth/new.ts', '// [[rate-limits]]\n'), /Successfully wrote to/]],
    'All done.',
  ];
}

test('a write through the proxy is ruled on and entered, in a program without hooks', async (t) => {
  const scripts = (root) => [{ when: 'Please do the work', turns: modelTurns(work(root)) }];
  const played = await play({ files: FILES, prompts: ['Please do the work'], prepare, scripts, hooks: false });
  t.after(played.discard);
  const { workspace, requests } = played;
  const told = resultsIn(requests.at(-1));
  const calls = work(workspace)
    .filter((turn) => typeof turn !== 'string')
    .flat();
  calls.forEach(([tool, args, expected], index) => {
    assert.match(told[index]?.text ?? '(nothing)', expected, `${tool} ${JSON.stringify(args)}`);
  });
  // What is known about a concept that the call names comes with the answer.
  assert.ok(told.at(-1).text.includes(NOTE), told.at(-1).text);
  assert.equal(fs.readFileSync(path.join(workspace, 'src/billing/pay.ts'), 'utf8'), 'pay\n');
  assert.equal(fs.readFileSync(path.join(workspace, 'src/auth/new.ts'), 'utf8'), '// [[rate-limits]]\n');
  const entries = readVerifiedLedger(played).map(summarizeEntry);
  assert.deepEqual(entries, ['mcp__files__write_file src/auth/new.ts true PASS']);
});
