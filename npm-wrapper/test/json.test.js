// Objects passed to the gate.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toWellFormedBytes } from './imports.js';

for (const [value, expected] of [
  ['\ud800', '\ufffd'],
  ['a\udfff\\ud800 \ud83d\ude00', 'a\ufffd\\ud800 \ud83d\ude00'],
  ['\\\ud800\n', '\\\ufffd\n'],
  ['\\ud800', '\\ud800'],
]) {
  test(`${JSON.stringify(value)} is sent as ${JSON.stringify(expected)}`, () => {
    assert.equal(JSON.parse(new TextDecoder().decode(toWellFormedBytes({ value }, 'x'))).value, expected);
  });
}
