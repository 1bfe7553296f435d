// Extensions in Node: what is read from the environment, what runs, and skills as prompts of the MCP server.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { createTollgate } from 'tollgate';
import { createTemporaryFolder } from './workspace_folder.js';

const sample = fileURLToPath(new URL('../../examples/house-rules', import.meta.url));
const command = fileURLToPath(new URL('../bin/tollgate.js', import.meta.url));

/** A workspace and a home folder; the sample extension is in either. */
function createWorkspace(inWorkspace) {
  const { folder, discard } = createTemporaryFolder();
  after(discard);
  const [workspace, home] = [path.join(folder, 'workspace'), path.join(folder, 'home')];
  for (const made of [workspace, home]) fs.mkdirSync(path.join(made, '.tollgate'), { recursive: true });
  fs.cpSync(sample, path.join(inWorkspace ? workspace : home, '.tollgate/extensions/house-rules'), { recursive: true });
  return { workspace, home };
}

const license = { tool_name: 'write', args: { filePath: 'LICENSE' } };

test('an extension of the user comes and goes, in a gate that is running', async () => {
  const at = createWorkspace(false);
  const gate = createTollgate({ ...at, variables: { HOUSE_RULES_TOKEN: 'a secret of mine', OTHER: 'not asked for' } });
  const proceeds = async () => (await gate.hooks.event('before_tool', 's', license)).proceed;
  assert.equal(await proceeds(), true);
  assert.equal(gate.perform({ op: 'extensions', do: 'enable', id: 'house-rules' }).state, 'active');
  assert.equal(await proceeds(), false);
  const shown = gate.perform({ op: 'extensions', do: 'show', id: 'house-rules' });
  assert.deepEqual(
    shown.settings.map(({ name, value, from }) => [name, value, from]),
    [
      ['protected', 'LICENSE', 'default'],
      ['token', '[REDACTED]', 'environment'],
    ],
  );
  assert.doesNotMatch(JSON.stringify(shown), /a secret of mine|not asked for/);
  gate.perform({ op: 'extensions', do: 'disable', id: 'house-rules' });
  assert.equal(await proceeds(), true);
  await gate.close();
});

test('an extension of the workspace runs as it was approved, and no longer when a file changed', async () => {
  const at = createWorkspace(true);
  const gate = createTollgate(at);
  const { hooks } = gate;
  assert.equal((await hooks.event('before_tool', 's', license)).proceed, true);
  const { digest } = gate.perform({ op: 'extensions', do: 'show', id: 'house-rules' });
  assert.equal(gate.perform({ op: 'extensions', do: 'approve', id: 'house-rules', digest }).state, 'active');
  const { proceed, systemMessage } = await hooks.event('before_tool', 's', license);
  assert.deepEqual([proceed, systemMessage], [false, 'LICENSE is protected by the rules of the house; leave it as it is.']);
  const file = path.join(at.workspace, '.tollgate/extensions/house-rules/hooks/protected.mjs');
  fs.writeFileSync(file, "export const protectedIn = () => 'anything';\n");
  assert.equal((await hooks.event('before_tool', 's', license)).proceed, true);
  assert.equal(gate.perform({ op: 'extensions', do: 'show', id: 'house-rules' }).state, 'changed');
  await gate.close();
});

test('the first request of a gate may be about what is approved', async () => {
  const at = createWorkspace(true);
  const ask = async (line) => {
    const gate = createTollgate(at);
    const answer = gate.perform(line);
    await gate.close();
    return answer;
  };
  const state = async () => (await ask({ op: 'extensions', do: 'list' })).extensions[0].state;
  const skills = async () => (await ask({ op: 'skills', do: 'list' })).skills.map(({ name }) => name);
  assert.deepEqual([await state(), await skills()], ['disabled', []]);
  assert.equal((await ask({ op: 'extensions', do: 'approve', id: 'house-rules' })).state, 'active');
  assert.deepEqual([await state(), await skills()], ['active', ['explain-rule', 'release-notes']]);
  assert.match(await ask('{"op":"hooks","do":"list"}'), /"trust":"approved"/);
});

test('a secret stands in a file that only the user can read', () => {
  const at = createWorkspace(false);
  const gate = createTollgate(at);
  gate.perform({ op: 'extensions', do: 'set', id: 'house-rules', key: 'token', value: 'correct horse' });
  const file = path.join(at.home, '.tollgate/secrets.json');
  assert.match(fs.readFileSync(file, 'utf8'), /correct horse/);
  if (process.platform !== 'win32') assert.equal(fs.statSync(file).mode & 0o777, 0o600);
});

test('a hook written for Claude Code stops a call of another program', async () => {
  const at = createWorkspace(false);
  fs.mkdirSync(path.join(at.workspace, '.claude/hooks'), { recursive: true });
  const script = '#!/bin/sh\ncase "$(cat)" in *\'"tool_name":"Bash"\'*rm*) echo no rm >&2; exit 2;; esac\n';
  fs.writeFileSync(path.join(at.workspace, '.claude/hooks/check.sh'), script);
  const handler = { type: 'command', command: '$CLAUDE_PROJECT_DIR/.claude/hooks/check.sh' };
  const settings = { hooks: { PreToolUse: [{ matcher: 'Bash', hooks: [handler] }] } };
  fs.writeFileSync(path.join(at.workspace, '.claude/settings.json'), JSON.stringify(settings));
  const gate = createTollgate(at);
  const { hooks } = gate;
  const { taken } = gate.perform({ op: 'hooks', do: 'import', take: true });
  assert.equal(taken.length, 1);
  gate.perform({ op: 'hooks', do: 'approve', id: taken[0].hook.id });
  const run = (program, line) => hooks.event('before_tool', 's', { program, tool_name: 'bash', args: { command: line } });
  assert.equal((await run('opencode', 'ls')).proceed, true);
  const { proceed, systemMessage } = await run('opencode', 'rm x');
  assert.deepEqual([proceed, systemMessage], [false, 'no rm']);
  assert.equal((await run('claude-code', 'rm x')).proceed, true, 'Claude Code runs it itself');
  await gate.close();
});

test('skills are prompts of the MCP server', async () => {
  const at = createWorkspace(true);
  const gate = createTollgate(at);
  gate.perform({ op: 'extensions', do: 'approve', id: 'house-rules' });
  await gate.close();
  const client = new Client({ name: 'test', version: '0' });
  const args = [command, 'mcp-serve', '--workspace', at.workspace, '--home', at.home];
  await client.connect(new StdioClientTransport({ command: process.execPath, args }));
  after(() => client.close());
  const { prompts } = await client.listPrompts();
  assert.deepEqual(
    prompts.map(({ name }) => name),
    ['explain-rule', 'release-notes'],
  );
  const { messages } = await client.getPrompt({ name: 'explain-rule', arguments: { topic: 'tests' } });
  assert.match(messages[0].content.text, /^Explain the rule about tests to somebody who is new here/);
  await assert.rejects(client.getPrompt({ name: 'explain-rule', arguments: {} }), /needs the parameter `topic`/);
});
