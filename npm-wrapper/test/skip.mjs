// Cases that cannot run on this machine. `cargo xtask test` counts them at its end: `TOLLGATE_SKIPS` is the file that it reads.
import * as fs from 'node:fs';

/** Reports that a case does not run here. */
export function reportSkip(reason) {
  const why = reason.replaceAll('\n', ' ');
  console.error(`SKIPPED: ${why}`);
  if (process.env.TOLLGATE_SKIPS !== undefined) fs.appendFileSync(process.env.TOLLGATE_SKIPS, `${why}\n`);
}
