// Turns of a scripted model together with what it has to be told of each call: `[tool, args, expected]`.
import assert from 'node:assert/strict';

/** The turns as the model plays them. */
export function spoken(turns) {
  return turns.map((turn) => (typeof turn === 'string' ? turn : turn.map(([tool, args]) => [tool, args])));
}

/** Asserts that the model was told what is expected, call by call. `names` are those of the calls, where they are not plain. */
export function assertTold(told, turns, names = []) {
  const calls = turns.filter((turn) => typeof turn !== 'string').flat();
  calls.forEach(([tool, args, expected], index) => {
    assert.match(told[index] ?? '(nothing)', expected, `${names[index] ?? `${tool} ${JSON.stringify(args)}`}: ${told[index]}`);
  });
  assert.equal(told.length, calls.length);
}
