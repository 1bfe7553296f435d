// Objects on their way in and out.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { member, wellFormed } from './imports.js';

for (const [object, expected] of [
  ['{"answer":{"b":1.0,"2":0,"1":12345678901234567890}}', '{"b":1.0,"2":0,"1":12345678901234567890}'],
  ['{ "a" : [1,{"answer":2}] , "answer" : "x,}\\\\" , "b":1}', '"x,}\\\\"'],
  ['{"type":"answer","answer":"\\"}"}', '"\\"}"'],
  ['{"x\\"answer":1,"answer":null}', 'null'],
  ['{"answer":3', undefined],
  ['{"other":{"answer":1},"list":["answer"]}', undefined],
  ['{}', undefined],
  ['{"answer', undefined],
]) {
  test(`the answer in ${object} is ${expected}`, () => {
    assert.equal(member(object, 'answer'), expected);
  });
}

for (const [value, expected] of [
  ['\ud800', '\ufffd'],
  ['a\udfff\\ud800 \ud83d\ude00', 'a\ufffd\\ud800 \ud83d\ude00'],
  ['\\\ud800\n', '\\\ufffd\n'],
  ['\\ud800', '\\ud800'],
]) {
  test(`${JSON.stringify(value)} is sent as ${JSON.stringify(expected)}`, () => {
    assert.equal(JSON.parse(new TextDecoder().decode(wellFormed({ value }, 'x'))).value, expected);
  });
}
