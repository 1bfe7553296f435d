// An agent in Copilot that tries to evade the gate. `cargo xtask test` runs this.
import * as path from 'node:path';
import { test } from 'node:test';
import { resultsIn } from '../chat.mjs';
import { assertControlIsHeld } from '../control.mjs';
import { play } from './session.mjs';

const save = (root, name) => ['create', { path: path.join(root, name), file_text: 'new\n' }];

test('an agent in Copilot does not free itself', async (t) => {
  await assertControlIsHeld(t, {
    play: ({ files, turns }) => play({ files, prompts: ['Go'], scripts: (root) => [{ when: 'Go', turns: turns(root) }] }),
    resultsIn,
    select: ['tollgate-select_active_intent', { intent_id: 'INT-001' }, /INT-001/],
    change: (root) => [...save(root, 'src/auth/new.ts'), /^Created file/],
    stray: (root) => [...save(root, 'src/billing/new.ts'), /is not in the scope of INT-001/],
    shell: (command) => ['bash', { command, description: 'Runs it' }],
  });
});
