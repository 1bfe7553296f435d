// The complete list of a program's tools, which the gate is tested with.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';

/** Asserts that `fixtures/tools` lists every tool that a program offered to its model, except those of MCP servers. */
export function assertListed(program, offered) {
  const file = new URL(`../../fixtures/tools/${program}.json`, import.meta.url);
  const listed = JSON.parse(fs.readFileSync(file, 'utf8')).tools.map(({ name }) => name);
  const missing = offered.filter(
    (name) => !listed.includes(name) && !/^mcp_|_active_intent$|^(list_intents|intent_context|recent_trace)$/.test(name),
  );
  assert.deepEqual(missing, [], `tools of ${program} that fixtures/tools/${program}.json does not list`);
}
