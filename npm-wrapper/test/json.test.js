// Members of objects, as they were written.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { member } from './imports.js';

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
