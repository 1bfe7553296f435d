// An agent in Codex that tries to evade the gate. `cargo xtask test` runs this.
import { test } from 'node:test';
import { assertControlIsHeld } from '../control.mjs';
import { resultsIn } from './responses.mjs';
import { play } from './session.mjs';

const added = (name) => ['apply_patch', `*** Begin Patch\n*** Add File: ${name}\n+new\n*** End Patch\n`];

test('an agent in Codex does not free itself', async (t) => {
  await assertControlIsHeld(t, {
    play: ({ files, turns }) => play({ files, prompts: ['Go'], scripts: (root) => [{ when: 'Go', turns: turns(root) }] }),
    resultsIn,
    select: ['mcp__tollgate/select_active_intent', { intent_id: 'INT-001' }, /INT-001/],
    change: () => [...added('src/auth/new.ts'), /^Exit code: 0\n/],
    stray: () => [...added('src/billing/new.ts'), /is not in the scope of INT-001/],
    shell: (cmd) => ['exec_command', { cmd }],
  });
});
