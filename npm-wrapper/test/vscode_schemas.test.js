// The schemas that editors use for completion and validation.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { test } from 'node:test';
import { Ajv } from 'ajv';
import { createTollgate } from 'tollgate';
import { createTemporaryFolder, writeFiles } from './workspace_folder.js';

function isRegex(text) {
  try {
    new RegExp(text);
    return true;
  } catch {
    return false;
  }
}

function schema(name) {
  const text = fs.readFileSync(new URL(`../schemas/${name}.schema.json`, import.meta.url), 'utf8');
  // Strict mode does not know the editor's own keywords for snippets and messages.
  return new Ajv({ strict: false, formats: { regex: isRegex } }).compile(JSON.parse(text));
}

const hook = (fields) => ({ hooks: [{ id: 'a', trigger: 'before_tool', command: ['x'], ...fields }] });
const without = (...names) => ({
  hooks: [Object.fromEntries(Object.entries(hook({}).hooks[0]).filter(([name]) => !names.includes(name)))],
});

const HOOKS = [
  [true, 'nothing', { hooks: [] }],
  [true, 'a bare list', hook({}).hooks],
  [true, 'a hook', hook({})],
  [true, 'a version', { schemaVersion: 1, ...hook({}) }],
  [true, 'other names for the same', { hooks: [{ name: 'a', event: 'before_tool', prompt: 'Look.' }] }],
  [true, 'an event of somebody', hook({ trigger: 'deployed' })],
  [true, 'a program with arguments', hook({ command: 'npm', args: ['test'] })],
  [true, 'a shell', hook({ command: 'npm test | tee log', shell: true })],
  [true, 'files of a script', hook({ command: ['sh', 'hooks/a.sh'], files: ['hooks/lib/**'] })],
  [true, 'a script alone', hook({ files: [] })],
  [false, 'files of a prompt', { hooks: [{ id: 'a', trigger: 'before_tool', prompt: 'Look.', files: [] }] }],
  [false, 'files that are no list', hook({ files: 'hooks/**' })],
  [false, 'too many files', hook({ files: Array.from({ length: 33 }, () => 'a') })],
  [true, 'a component', { hooks: [{ id: 'a', trigger: 'before_tool', component: 'hooks/a.wasm' }] }],
  [true, 'a commit', hook({ trigger: 'gitCommit', allowGit: true, repoRoot: '.' })],
  [
    true,
    'everything',
    hook({
      pattern: 'src/**',
      enabled: false,
      concurrency: 1,
      timeoutMs: 1000,
      debounceMs: 0,
      metadata: { a: 1 },
      secretPatterns: ['k=\\w+'],
      retry: { count: 0, backoffMs: 0, backoffFactor: 1, jitter: true },
    }),
  ],
  [false, 'no list', {}],
  [false, 'something else beside the list', { ...hook({}), secretPatterns: ['x'] }],
  [false, 'an unknown field', hook({ timeout: 5 })],
  [false, 'an id and a name', hook({ name: 'a' })],
  [false, 'arguments of a prompt', { hooks: [{ id: 'a', trigger: 'before_tool', prompt: 'Look.', args: [] }] }],
  [false, 'a list for a shell', hook({ shell: true })],
  [false, 'too long an id', hook({ id: 'a'.repeat(129) })],
  [false, 'too much at once', hook({ concurrency: 257 })],
  [false, 'an unknown field of retry', hook({ retry: { times: 1 } })],
  [false, 'another version', { schemaVersion: 2, hooks: [] }],
  [false, 'no id', without('id')],
  [false, 'no trigger', without('trigger')],
  [false, 'nothing to run', without('command')],
  [false, 'two things to run', hook({ prompt: 'Look.' })],
  [false, 'an empty command', hook({ command: [] })],
  [false, 'a list with arguments', hook({ args: ['x'] })],
  [false, 'a push without leave', hook({ trigger: 'gitPush', repoRoot: '.' })],
  [false, 'no concurrency', hook({ concurrency: 0 })],
  [false, 'a short time', hook({ timeoutMs: 999 })],
  [false, 'half a time', hook({ timeoutMs: 1000.5 })],
  [false, 'a negative retry', hook({ retry: { count: -1 } })],
  [false, 'waits that shrink', hook({ retry: { backoffFactor: 0.5 } })],
  [false, 'a pattern that is none', hook({ secretPatterns: ['('] })],
  [false, 'a commit without leave', hook({ trigger: 'gitCommit', repoRoot: '.' })],
  [false, 'a commit refused', hook({ trigger: 'gitCommit', allowGit: false, repoRoot: '.' })],
  [false, 'a commit of no repository', hook({ trigger: 'gitCommit', allowGit: true })],
];

const handler = (fields) => ({ type: 'command', command: 'check.sh', ...fields });

HOOKS.push(
  [true, "a hook in Claude Code's format", hook({ trigger: 'PreToolUse', format: 'claude-code', matcher: 'Write|Edit' })],
  [true, "a file in Claude Code's format", { hooks: { PreToolUse: [{ matcher: 'Bash', hooks: [handler({ timeout: 5 })] }] } }],
  [true, 'no hook in that format', { hooks: {} }],
  [false, 'another format', hook({ trigger: 'PreToolUse', format: 'cursor' })],
  [false, 'a matcher without a format', hook({ matcher: 'Bash' })],
  [false, 'an event that only Claude Code has', { hooks: { Notification: [{ hooks: [handler({})] }] } }],
  [false, 'a handler of another type', { hooks: { Stop: [{ hooks: [{ type: 'prompt', prompt: 'p' }] }] } }],
  [false, 'a handler with a condition', { hooks: { PreToolUse: [{ hooks: [handler({ if: 'Bash(rm *)' })] }] } }],
);

const extension = (fields) => ({ name: 'x', version: '1.0.0', ...fields });
const skill = { name: 'k', description: 'd', prompt: 'p' };
const setting = { name: 't', description: 'd' };

const EXTENSION = [
  [true, 'a name and a version', extension({})],
  [
    true,
    'everything',
    extension({
      schemaVersion: 1,
      description: 'What it is for',
      mcpServers: {
        local: { command: 'node', args: ['server.mjs'], env: { TOKEN: '${settings.t}' }, cwd: '.' },
        remote: { url: 'https://a.example/mcp', allowedHosts: ['a.example'], headers: { Authorization: 'Bearer ${settings.t}' } },
      },
      hooks: [{ name: 'h', event: 'before_tool', command: ['node', 'hooks/h.mjs'] }],
      settings: [
        { ...setting, sensitive: true, envVar: 'X_T' },
        { name: 'n', description: 'd', type: 'number', default: 1 },
      ],
      skills: [{ ...skill, prompt: 'Do {{it}}.', parameters: [{ name: 'it', required: true }] }],
    }),
  ],
  [true, "hooks of Claude Code's", extension({ hooks: { PreToolUse: [{ hooks: [handler({})] }] } })],
  [false, 'no name', { version: '1' }],
  [false, 'no version', { name: 'x' }],
  [false, 'a name with a blank', extension({ name: 'a b' })],
  [false, 'a name with a control character', extension({ name: 'a\u001b' })],
  [false, 'an unknown field', extension({ hook: [] })],
  [false, 'a server without arguments', extension({ mcpServers: { s: { command: 'x' } } })],
  [false, 'a server without a command', extension({ mcpServers: { s: { args: [] } } })],
  [false, 'a server whose host is not named', extension({ mcpServers: { s: { url: 'https://a.example/' } } })],
  [false, 'a server with two ways', extension({ mcpServers: { s: { command: 'x', args: [], url: 'https://a.example/' } } })],
  [false, 'a hook without a command', extension({ hooks: [{ name: 'h', event: 'e' }] })],
  [false, 'a hook without a name', extension({ hooks: [{ event: 'e', command: ['x'] }] })],
  [false, 'hooks in a file that lies elsewhere', extension({ hooks: '../hooks.json' })],
  [false, 'a setting without a description', extension({ settings: [{ name: 't' }] })],
  [false, 'a variable that is none', extension({ settings: [{ ...setting, envVar: 'A=B' }] })],
  [false, 'a default of the wrong type', extension({ settings: [{ ...setting, type: 'number', default: 'one' }] })],
  [false, 'a secret with a default', extension({ settings: [{ ...setting, sensitive: true, default: 'x' }] })],
  [false, 'a skill without a prompt', extension({ skills: [{ name: 'k', description: 'd' }] })],
  [false, 'a component that lies elsewhere', extension({ components: [{ name: 'c', path: '/c.wasm' }] })],
];

const CONFIG = [
  [true, 'nothing', {}],
  [true, 'a key of others', { others: 1 }],
  [
    true,
    'everything',
    {
      tools: { mcp__github__create_issue: 'read', my_tool: { effect: 'write', paths: ['where'] }, 'deploy_*': 'execute' },
      programs: 'allow',
      unknown: 'ask',
      strict: false,
      record: { failed: true, rejected: false },
      augment: {
        sources: [
          'notes',
          { name: 'vault', notes: 'docs/wiki' },
          'maenifold',
          { name: 'wiki', command: ['wiki', '--about', '{concept}'] },
          { name: 'graph', mcp: { server: 'graph', tool: 'about', arguments: { name: '{concept}' } } },
          { name: 'mine', function: true },
        ],
        literal: false,
        budget_chars: 8000,
      },
    },
  ],
  [
    true,
    'limits of hooks',
    { hooks: { timeout: 30000, concurrency: 8, queue: 10000, when_full: 'refuse' }, secretPatterns: ['ACME-[0-9]{6}'] },
  ],
  [true, 'extensions', { extensions: { autoEnable: true, enabled: ['a'], disabled: ['b'], settings: { a: { key: 'value' } } } }],
  [false, 'an unknown setting of extensions', { extensions: { auto: true } }],
  [false, 'an extension with an unfit name', { extensions: { enabled: ['a b'] } }],
  [false, 'settings of an extension that are none', { extensions: { settings: { a: 1 } } }],
  [false, 'an unknown limit of hooks', { hooks: { timeoutMs: 30000 } }],
  [false, 'too short a limit', { hooks: { timeout: 10 } }],
  [false, 'an unknown effect', { tools: { a: 'burn' } }],
  [false, 'an unknown policy', { programs: 'maybe' }],
  [false, 'an unknown setting of augment', { augment: { source: [] } }],
  [false, 'an unknown source', { augment: { sources: ['nobody'] } }],
  [false, 'a source without a name', { augment: { sources: [{ notes: 'docs' }] } }],
  [false, 'a source with an unfit name', { augment: { sources: [{ name: 'a b', notes: 'docs' }] } }],
  [false, 'a source that asks nobody', { augment: { sources: [{ name: 'a' }] } }],
  [false, 'too small a budget', { augment: { budget_chars: 3 } }],
];

const intent = { id: 'INT-001', name: 'Login', status: 'IN_PROGRESS', owned_scope: ['src/**'] };

const INTENTS = [
  [true, 'a list of intents', { active_intents: [intent] }],
  [true, 'its other name', { intents: [intent] }],
  [true, 'a bare list', [intent]],
  [
    true,
    'everything',
    [{ ...intent, description: 'd', constraints: ['c'], acceptance_criteria: null, created_at: '2026-01-31T12:00:00Z' }],
  ],
  [false, 'text', 'intents'],
  [false, 'no status', { active_intents: [{ id: 'a', name: 'b' }] }],
  [false, 'an unknown status', { active_intents: [{ ...intent, status: 'DOING' }] }],
  [false, 'a misspelt field', { active_intents: [{ ...intent, scope: [] }] }],
  [false, 'an id with a blank', { active_intents: [{ ...intent, id: 'INT 1' }] }],
];

/** The problems that the gate itself reports about a file. */
function faultsOf(name, sample) {
  const { folder, discard } = createTemporaryFolder();
  try {
    const told = [];
    const log = (level, message) => told.push(message);
    const files = { intents: '.orchestration/active_intents.yaml', extension: '.tollgate/extensions/x/manifest.json' };
    const file = files[name] ?? `.tollgate/${name}.json`;
    writeFiles(folder, { '.orchestration/active_intents.yaml': 'active_intents: []', [file]: JSON.stringify(sample) });
    const gate = createTollgate({ workspace: folder, home: folder, log });
    const intents = gate.perform({ op: 'list-intents' });
    if (name === 'intents') return intents.diagnostics.filter(({ line }) => line !== null);
    gate.preTool({ session: 's1', call: 'c1', tool: 'read_file', args: { path: 'a' } });
    if (name === 'config') return told.filter((message) => message.includes('config.json'));
    return gate.perform({ op: name === 'extension' ? 'extensions' : 'hooks', do: 'list' }).faults;
  } finally {
    discard();
  }
}

for (const [name, rows] of [
  ['hooks', HOOKS],
  ['config', CONFIG],
  ['extension', EXTENSION],
  ['intents', INTENTS],
]) {
  const fits = schema(name);
  for (const [expected, what, sample] of rows) {
    test(`${name}: ${what} is ${expected ? 'right' : 'wrong'}`, () => {
      assert.equal(fits(sample), expected, JSON.stringify(fits.errors));
      const faults = faultsOf(name, sample);
      assert.equal(faults.length === 0, expected, `the gate says: ${JSON.stringify(faults)}`);
    });
  }
}
