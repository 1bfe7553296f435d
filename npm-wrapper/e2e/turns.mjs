// Turns of a scripted model together with the expected result of each call: `[tool, args, expected]`.
import assert from 'node:assert/strict';

/** The turns as the model plays them. */
export function modelTurns(turns) {
  return turns.map((turn) => (typeof turn === 'string' ? turn : turn.map(([tool, args]) => [tool, args])));
}

/**
 * Asserts that the model received the expected results, call by call. `names` are the calls' names, for calls that are not plain.
 */
export function assertResults(told, turns, names = []) {
  const calls = turns.filter((turn) => typeof turn !== 'string').flat();
  calls.forEach(([tool, args, expected], index) => {
    assert.match(told[index] ?? '(nothing)', expected, `${names[index] ?? `${tool} ${JSON.stringify(args)}`}: ${told[index]}`);
  });
  assert.equal(told.length, calls.length);
}
