// Turns of a scripted model together with the expected result of each call: `[tool, args, expected]`.
import assert from 'node:assert/strict';

/** The turns as the model plays them. */
export function spoken(turns) {
  return turns.map((turn) => (typeof turn === 'string' ? turn : turn.map(([tool, args]) => [tool, args])));
}

/**
 * Asserts that the model received the expected results, call by call. `names` are the calls' names, for calls that are not plain.
 */
export function assertTold(told, turns, names = []) {
  const calls = turns.filter((turn) => typeof turn !== 'string').flat();
  calls.forEach(([tool, args, expected], index) => {
    assert.match(told[index] ?? '(nothing)', expected, `${names[index] ?? `${tool} ${JSON.stringify(args)}`}: ${told[index]}`);
  });
  assert.equal(told.length, calls.length);
}

/** A session of two prompts in which the model does some work, with the help of a sub-agent. */
export function workWithHelp(work, help) {
  return {
    prompts: ['Please do the work', 'Please go on'],
    scripts: (root) => [
      { when: 'SUBTASK', turns: spoken(help(root)) },
      { when: 'Please do the work', turns: spoken(work(root)) },
    ],
  };
}
