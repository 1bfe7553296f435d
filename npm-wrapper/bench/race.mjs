// Measures two ways of doing the same, alternately.

/** The tenth percentile of each in milliseconds, measured alternately: the time without much interference from other load. */
export function race(rounds, one, other, between = () => {}) {
  const times = [[], []];
  const warm = Math.ceil(rounds / 10);
  for (let round = 0; round < rounds + warm; round += 1) {
    [one, other].forEach((work, which) => {
      const start = performance.now();
      work(round);
      if (round >= warm) times[which].push(performance.now() - start);
    });
    between(round);
  }
  return times.map((list) => list.sort((a, b) => a - b)[Math.floor(list.length / 10)]);
}

/** Prints a row for `cargo xtask bench`. */
export function row(name, ours, baseline, unit) {
  console.log(JSON.stringify({ row: name, ours, baseline, unit }));
}

/** Prints the result of a race whose first side is the baseline. */
export function raced(name, [baseline, ours]) {
  row(name, ours * 1e3, baseline * 1e3, 'µs');
}
