// Commands that take long to analyse still get an answer, and never an allow without a reason. `fixtures/bombs.json` describes
// them as formulas.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { after, test } from 'node:test';
import { createTollgate } from 'tollgate';
import { createGovernedWorkspace, writeFiles } from './workspace_folder.js';

const bombs = JSON.parse(fs.readFileSync(new URL('../../fixtures/bombs.json', import.meta.url), 'utf8'));
const { workspace, home, discard } = createGovernedWorkspace();
after(discard);
writeFiles(workspace, { 'src/auth/a.ts': 'a\n', 'src/billing/pay.ts': 'a\n', 'src/billing/tax.ts': 'a\n' });

/** Each part is a text and its number of repetitions; `{i}` in the text is replaced with the counter. */
function expandParts(parts) {
  return parts
    .map(([text, times]) => Array.from({ length: times }, (_, count) => text.replaceAll('{i}', String(count))).join(''))
    .join('');
}

test('bombs are not allowed', async () => {
  const gate = await createTollgate({ workspace, home });
  gate.selectIntent('s', 'INT-001');
  for (const { name, parts } of bombs) {
    const { verdict } = await gate.preTool({ session: 's', call: name, tool: 'bash', args: { command: expandParts(parts) } });
    assert.ok(verdict === 'ask' || verdict === 'deny', `${name}: ${verdict}`);
  }
});
