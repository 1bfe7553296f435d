// The plugin in the real OpenCode. `cargo xtask test` runs this. A run takes ten seconds, so each plays many turns.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, test } from 'node:test';
import { assertRecorded, installRecorder } from '../recorder.mjs';
import { assertListed } from '../tools.mjs';
import { assertResults, modelTurns } from '../turns.mjs';
import {
  ESCAPING,
  FILES,
  NOTE,
  STOPPED,
  WORKING,
  assertFiles,
  summarizeEntry,
  readVerifiedLedger,
  disableConfinement,
  writeFiles,
} from '../workspace.mjs';
import { resultsIn, systemOf } from '../chat.mjs';
import { installPackage, mcpServer, play, wrapper } from './session.mjs';

const SELECT = ['select_active_intent', { intent_id: 'INT-001' }];
const OUT =
  /^Tollgate: `src\/billing\/\S+` is not in the scope of INT-001 .*; keep to these files, or select the intent that owns it \(out_of_scope\)$/;

const patch = (...lines) => ['apply_patch', { patchText: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n') }];
const bash = (command) => ['bash', { command, description: 'Runs it' }];

/** The last request of the conversation that begins with these words. */
function lastOf(requests, words) {
  const begins = ({ messages }) => JSON.stringify(messages.find(({ role }) => role === 'user')).includes(words);
  return requests.filter(({ tools }) => (tools ?? []).length > 0).findLast(begins);
}

function assertLive({ log }, governed) {
  const said = log.split('\n').filter((line) => line.includes('is live'));
  assert.equal(said.length, 1, log);
  assert.match(said[0], /Tollgate \d+\.\d+\.\d+ \(sha256:[0-9a-f]{64}\) is live/);
  assert.equal(said[0].includes('not governed'), !governed);
  assert.doesNotMatch(log, /failed to load plugin|gate_fault|guest_trap/);
}

describe('OpenCode', { concurrency: 2 }, () => {
  test('writes, edits and commands, with the plugin as one file', async (t) => {
    const at = (root, name) => path.join(root, name);
    let turns;
    const played = await play({
      files: { ...FILES, '.opencode/plugin/tollgate.js': fs.readFileSync(path.join(wrapper, 'dist/opencode.bundle.js')) },
      prepare: installRecorder,
      scripts: (root) => {
        turns = [
          [
            [
              'write',
              { filePath: at(root, 'src/auth/new.ts'), content: 'new\n' },
              /^Tollgate: no intent is active; call select_active_intent first/,
            ],
          ],
          [
            ['list_intents', {}, /"INT-001"[^]*"active": null/],
            ['select_active_intent', { intent_id: 'INT-9' }, /^Tollgate: there is no intent `INT-9`; choose one of: INT-001/],
          ],
          [[...SELECT, /^The active intent is INT-001 \(Login hardening, IN_PROGRESS\)\./]],
          [['write', { filePath: at(root, 'src/auth/new.ts'), content: 'new\n' }, /^Wrote file/]],
          [
            ['write', { filePath: at(root, 'src/billing/pay.ts'), content: 'x' }, OUT],
            ['write', { filePath: 'src/auth/../billing/pay.ts', content: 'x' }, OUT],
            [
              'edit',
              { filePath: at(root, '.orchestration/active_intents.yaml'), oldString: 'auth', newString: '' },
              /governs the gate itself/,
            ],
          ],
          [
            [...bash('echo x > src/billing/pay.ts'), OUT],
            [...bash('cd src && sed -i s/pay/x/ billing/pay.ts'), OUT],
            [...bash('echo x | tee src/auth/ok.ts src/billing/pay.ts'), OUT],
            [...bash('rm src/auth/login.ts'), /^The user has specified a rule which prevents/],
            [...bash(ESCAPING), STOPPED],
          ],
          [
            [
              ...bash("echo 'as [[rate-limits]] says' > src/auth/note.txt; cat src/auth/note.txt; exit 3"),
              /^as \[\[rate-limits\]\] says\n/,
            ],
          ],
          [
            [
              'edit',
              { filePath: at(root, 'src/auth/login.ts'), oldString: 'absent', newString: 'x' },
              /^Could not find oldString/,
            ],
          ],
          [['read', { filePath: at(root, 'src/billing/pay.ts') }, /1: pay/]],
          [
            [
              'write',
              { filePath: at(root, 'src/auth/limits.ts'), content: '// [[rate-limits]]\n' },
              /^Wrote file[^]*Five attempts a minute/,
            ],
          ],
          [[...bash(WORKING), /^ONE\ntwo/]],
          [[...bash('sh build.sh'), STOPPED]],
          'All done.',
        ];
        return [{ when: 'Please do the work', turns: modelTurns(turns) }];
      },
    });
    t.after(played.discard);
    const { workspace, requests, output } = played;
    assertLive(played, true);
    const last = lastOf(requests, 'Please do the work');
    assertListed(
      'opencode',
      last.tools.map((tool) => tool.function.name),
    );
    assertResults(resultsIn(last), turns);
    assert.match(systemOf(last), /<active_intent>\nIntent: INT-001/);
    // The command was given the note as a comment, and did the same as without it.
    assert.match(output, /# Five attempts a minute per account\./);
    assert.equal(fs.readFileSync(at(workspace, 'src/auth/note.txt'), 'utf8'), 'as [[rate-limits]] says\n');
    // The written file stays as it is; the model is told after the result instead.
    assert.equal(fs.readFileSync(at(workspace, 'src/auth/limits.ts'), 'utf8'), '// [[rate-limits]]\n');
    assert.deepEqual(
      requests.filter((request) => systemOf(request).includes(NOTE)),
      [],
    );
    assert.equal(fs.readFileSync(at(workspace, 'src/billing/pay.ts'), 'utf8'), 'pay\n');
    assertFiles(workspace, {
      'src/auth/ok.ts': null,
      // The kernel stopped these, and let the other be.
      'src/billing/hidden.ts': null,
      'src/billing/made.ts': null,
      'src/auth/copy.ts': 'ONE\ntwo\n',
    });
    assertRecorded(played, {
      program: 'opencode',
      prompt: 'Please do the work',
      tool: 'write',
      argument: 'filePath',
      file: 'src/auth/new.ts',
      also: ['before_model', 'after_model', 'session_end'],
    });
    assert.deepEqual(readVerifiedLedger(played).map(summarizeEntry), [
      'write src/auth/new.ts true PASS',
      'bash src/auth/note.txt true PASS',
      'edit src/auth/login.ts false PASS',
      'write src/auth/limits.ts true PASS',
      'bash src/auth/copy.ts true PASS',
    ]);
  });

  test('where commands run unconfined, the model is told what the reader says', async (t) => {
    const turns = [
      [[...SELECT, /^The active intent is INT-001/]],
      [[...bash(ESCAPING), /a person has to decide/]],
      [[...bash('rm src/auth/login.ts'), /^The user has specified a rule which prevents/]],
      [[...bash('sh build.sh'), /src\/billing\/made\.ts/]],
      'All done.',
    ];
    const played = await play({
      files: { ...FILES, '.opencode/plugin/tollgate.js': fs.readFileSync(path.join(wrapper, 'dist/opencode.bundle.js')) },
      prepare: disableConfinement,
      scripts: [{ when: 'Please do the work', turns: modelTurns(turns) }],
    });
    t.after(played.discard);
    assertResults(resultsIn(lastOf(played.requests, 'Please do the work')), turns);
    assertFiles(played.workspace, { 'src/billing/hidden.ts': null, 'src/billing/made.ts': 'made\n' });
    assert.deepEqual(readVerifiedLedger(played).map(summarizeEntry), ['bash src/billing/made.ts true FAIL']);
  });

  test('patches, MCP tools and a sub-agent, with the plugin as a package', async (t) => {
    let own;
    let helps;
    const played = await play({
      model: 'gpt-5-scripted',
      files: {
        ...FILES,
        '.opencode/plugin/gate.js': "export { default } from 'tollgate/opencode';\n",
        ...installPackage('.opencode/node_modules/tollgate'),
      },
      settings: (root) => ({ mcp: { files: mcpServer(root) } }),
      scripts: (root) => {
        helps = [
          [[...patch('*** Add File: src/auth/child.ts', '+child'), /^Success/]],
          [[...patch('*** Add File: src/billing/child.ts', '+child'), OUT]],
          'The sub-agent is done.',
        ];
        own = [
          [[...SELECT, /^The active intent is INT-001/]],
          [[...patch('*** Update File: src/auth/login.ts', '@@', ' one', '-two', '+TWO'), /^Success/]],
          [
            [
              ...patch('*** Update File: src/auth/login.ts', '*** Move to: src/billing/login.ts', '@@', ' one', '-TWO', '+x'),
              OUT,
            ],
            [...patch('*** Add File: src/auth/a.ts', '+a', '*** Delete File: src/billing/pay.ts'), OUT],
          ],
          [
            ['files_write_file', { path: path.join(root, 'src/auth/mcp.txt'), content: 'mcp' }, /^Successfully wrote/],
            ['files_write_file', { path: path.join(root, 'src/billing/mcp.txt'), content: 'mcp' }, OUT],
          ],
          [
            [
              'files_edit_file',
              { path: path.join(root, 'src/auth/mcp.txt'), edits: [{ oldText: 'absent', newText: 'x' }] },
              /Could not find|match/,
            ],
          ],
          [
            [
              'task',
              { description: 'Help', prompt: 'SUBTASK: as [[rate-limits]] says', subagent_type: 'general' },
              /The sub-agent is done\./,
            ],
          ],
          [['clear_active_intent', {}, /^No intent is active now\.$/]],
          [[...patch('*** Add File: src/auth/late.ts', '+late'), /^Tollgate: no intent is active/]],
          'All done.',
        ];
        return [
          { when: 'SUBTASK', turns: modelTurns(helps) },
          { when: 'Please do the work', turns: modelTurns(own) },
        ];
      },
    });
    t.after(played.discard);
    const { workspace, requests } = played;
    assertLive(played, true);
    assertResults(resultsIn(lastOf(requests, 'Please do the work')), own);
    const child = lastOf(requests, 'SUBTASK');
    assertResults(resultsIn(child), helps);
    assert.match(systemOf(child), /<active_intent>\nIntent: INT-001/);
    assert.ok(JSON.stringify(child.messages.find(({ role }) => role === 'user')).includes(NOTE));
    for (const [name, text] of [
      ['src/auth/login.ts', 'one\nTWO\n'],
      ['src/billing/pay.ts', 'pay\n'],
    ]) {
      assert.equal(fs.readFileSync(path.join(workspace, name), 'utf8'), text);
    }
    const entries = readVerifiedLedger(played);
    assert.deepEqual(entries.map(summarizeEntry), [
      'apply_patch src/auth/login.ts true PASS',
      'files_write_file src/auth/mcp.txt true PASS',
      'files_edit_file src/auth/mcp.txt false PASS',
      'apply_patch src/auth/child.ts true PASS',
    ]);
    assert.notEqual(entries[3].session_id, entries[0].session_id);
  });

  test('a workspace without governance is left alone, with the plugin named in opencode.json', async (t) => {
    const given = { '.tollgate/concepts/rate-limits.md': `${NOTE}\n`, 'src/billing/pay.ts': 'pay\n' };
    const played = await play({
      files: (root) => {
        writeFiles(path.join(root, '../package'), installPackage(''));
        return given;
      },
      settings: { plugin: ['../package'] },
      scripts: (root) => [
        {
          when: 'Please do the work',
          turns: [
            [['write', { filePath: path.join(root, 'src/new.ts'), content: '[[rate-limits]]\n' }]],
            [bash("echo '[[rate-limits]]' > src/billing/pay.ts")],
            'All done.',
          ],
        },
      ],
    });
    t.after(played.discard);
    const { workspace, requests, output } = played;
    assertLive(played, false);
    const last = lastOf(requests, 'Please do the work');
    assert.deepEqual(
      last.tools.map((tool) => tool.function.name).filter((name) => name.includes('intent')),
      [],
    );
    assert.doesNotMatch(JSON.stringify(requests) + output, /active_intent|Five attempts/);
    for (const name of ['src/new.ts', 'src/billing/pay.ts']) {
      assert.equal(fs.readFileSync(path.join(workspace, name), 'utf8'), '[[rate-limits]]\n');
    }
    assert.ok(!fs.existsSync(path.join(workspace, '.orchestration')));
    assert.deepEqual(fs.readdirSync(path.join(workspace, '.tollgate')), ['concepts']);
  });

  test('a hook written for Claude Code stops a call', async (t) => {
    const at = (root, name) => path.join(root, name);
    // A hook from a repository that uses Claude Code: it reads `tool_name` and `tool_input` and knows nothing about OpenCode.
    const guard = [
      '#!/usr/bin/env node',
      "const { tool_name, tool_input } = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));",
      "const text = tool_input.content ?? tool_input.new_string ?? '';",
      "if (text.includes('hunter2')) {",
      '  console.error(`${tool_name} of ${tool_input.file_path}: no passwords in files`);',
      '  process.exit(2);',
      '}',
    ];
    const handler = { type: 'command', command: '"$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.cjs', timeout: 20 };
    const settings = { hooks: { PreToolUse: [{ matcher: 'Write|Edit', hooks: [handler] }] } };
    const files = {
      ...FILES,
      '.opencode/plugin/tollgate.js': fs.readFileSync(path.join(wrapper, 'dist/opencode.bundle.js')),
      '.claude/settings.json': JSON.stringify(settings),
      '.claude/hooks/guard.cjs': `${guard.join('\n')}\n`,
    };
    let turns;
    const played = await play({
      files,
      prepare: ({ person }) => person('hooks', 'import', '--yes'),
      scripts: (root) => {
        const file = at(root, 'src/auth/new.ts');
        const refused = /^Tollgate: (Write|Edit) of \S+\/src\/auth\/(new|login)\.ts: no passwords in files \(hook\)$/;
        turns = [
          [[...SELECT, /^The active intent is INT-001/]],
          [['write', { filePath: file, content: 'const password = "hunter2";\n' }, refused]],
          [['write', { filePath: file, content: 'const password = ask();\n' }, /^Wrote file/]],
          [['edit', { filePath: at(root, 'src/auth/login.ts'), oldString: 'one', newString: 'hunter2' }, refused]],
          'All done.',
        ];
        return [{ when: 'Please do the work', turns: modelTurns(turns) }];
      },
    });
    t.after(played.discard);
    assertLive(played, true);
    assertResults(resultsIn(lastOf(played.requests, 'Please do the work')), turns);
    assert.equal(fs.readFileSync(at(played.workspace, 'src/auth/new.ts'), 'utf8'), 'const password = ask();\n');
    assert.equal(fs.readFileSync(at(played.workspace, 'src/auth/login.ts'), 'utf8'), 'one\ntwo\n');
    assert.deepEqual(readVerifiedLedger(played).map(summarizeEntry), ['write src/auth/new.ts true PASS']);
  });
});
