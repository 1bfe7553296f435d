// An agent in OpenCode that tries to evade the gate. `cargo xtask test` runs this.
import * as path from 'node:path';
import { test } from 'node:test';
import { assertControlIsHeld } from '../control.mjs';
import { resultsIn } from '../chat.mjs';
import { installPackage, play } from './session.mjs';

const save = (root, name) => ['write', { filePath: path.join(root, name), content: 'new\n' }];

test('an agent in OpenCode does not free itself', async (t) => {
  await assertControlIsHeld(t, {
    play: async ({ files, turns }) => {
      const played = await play({
        files: { ...files, ...installPackage('.opencode/node_modules/tollgate') },
        scripts: (root) => [{ when: 'Please do the work', turns: turns(root) }],
        prepare: ({ person }) => person('init', '--host', 'opencode', '--yes'),
      });
      // Requests for titles offer no tools.
      return { ...played, requests: played.requests.filter(({ tools = [] }) => tools.length > 0) };
    },
    resultsIn,
    select: ['select_active_intent', { intent_id: 'INT-001' }, /INT-001/],
    change: (root) => [...save(root, 'src/auth/new.ts'), /^Wrote file/],
    stray: (root) => [...save(root, 'src/billing/new.ts'), /is not in the scope of INT-001/],
    shell: (command) => ['bash', { command, description: 'Runs it' }],
  });
});
