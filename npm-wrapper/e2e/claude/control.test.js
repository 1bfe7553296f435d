// An agent in Claude Code that tries to evade the gate. `cargo xtask test` runs this.
import * as path from 'node:path';
import { test } from 'node:test';
import { assertControlIsHeld } from '../control.mjs';
import { resultsIn } from './messages.mjs';
import { play } from './session.mjs';

const save = (root, name) => ['Write', { file_path: path.join(root, name), content: 'new\n' }];

test('an agent in Claude Code does not free itself', async (t) => {
  await assertControlIsHeld(t, {
    play: ({ files, turns }) => play({ files, prompts: ['Go'], scripts: (root) => [{ when: 'Go', turns: turns(root) }] }),
    resultsIn: (request) => resultsIn(request).map(({ text }) => text),
    select: ['mcp__tollgate__select_active_intent', { intent_id: 'INT-001' }, /INT-001/],
    change: (root) => [...save(root, 'src/auth/new.ts'), /^File created successfully/],
    stray: (root) => [...save(root, 'src/billing/new.ts'), /is not in the scope of INT-001/],
    shell: (command) => ['Bash', { command, description: 'Runs it' }],
  });
});
