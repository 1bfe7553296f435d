// An instance that fails is replaced, and the selected intent stays selected.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { createTollgate } from 'tollgate';
import { createGovernedWorkspace } from './workspace_folder.js';

const discards = [];
after(() => discards.forEach((discard) => discard()));

const write = { session: 's1', call: 'c1', tool: 'write_to_file', args: { path: 'src/auth/login.ts', content: 'x' } };

function gateWith(options) {
  const { workspace, home, discard } = createGovernedWorkspace();
  discards.push(discard);
  return { workspace, gate: createTollgate({ workspace, home, ...options }) };
}

for (const [what, thrown] of [
  ['an error', new Error('broken')],
  ['a text', 'denied'],
  ['something that looks like the contract', Object.assign(new Error('broken'), { payload: { tag: 'not-kept', val: 'x' } })],
]) {
  test(`a clock that throws ${what} fails one call`, () => {
    let [broken, now] = [false, 0];
    const clock = () => {
      if (broken) throw thrown;
      now += 1000;
      return now;
    };
    const { gate } = gateWith({ clock });
    gate.selectIntent('s1', 'INT-001');
    gate.preTool(write);
    broken = true;
    assert.throws(
      () => gate.postTool(write, { status: 'done' }),
      (error) => error.code === 'guest_trap' && error.cause.cause === thrown,
    );
    broken = false;
    assert.equal(gate.preTool(write).code, 'in_scope');
    assert.equal(gate.postTool(write, { status: 'done' }).entries.length, 1);
  });
}

test('a log function that throws fails one call', () => {
  let broken = true;
  const heard = [];
  const log = (level, message) => {
    if (broken) throw new Error('broken');
    heard.push([level, message]);
  };
  const { gate, workspace } = gateWith({ log });
  const intents = path.join(workspace, '.orchestration/active_intents.yaml');
  const good = fs.readFileSync(intents);
  gate.selectIntent('s1', 'INT-001');
  fs.writeFileSync(intents, 'active_intents: [');
  assert.throws(() => gate.preTool(write), { name: 'TollgateError', code: 'guest_trap' });
  broken = false;
  // The last good version survives the instance.
  assert.equal(gate.preTool(write).code, 'in_scope');
  assert.equal(heard[0][0], 'warn');
  assert.match(heard[0][1], /active_intents.yaml.*the last good version stays in force/);
  fs.writeFileSync(intents, good);
  assert.equal(gate.preTool(write).code, 'in_scope');
});

test('a callback cannot call the gate that is calling it', () => {
  let seen;
  const { gate } = gateWith({
    clock: () => {
      try {
        gate.context('s1');
      } catch (error) {
        seen = error;
      }
      return 0;
    },
  });
  gate.selectIntent('s1', 'INT-001');
  gate.preTool(write);
  assert.equal(gate.postTool(write, { status: 'done' }).entries.length, 1);
  assert.equal(seen.code, 'reentrant');
});
