// Runs all tests, or those whose file name contains one of the arguments: `npm test -- hooks mcp`. By default, Node would leave one
// processor unused.
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import { fileURLToPath } from 'node:url';

const wanted = process.argv.slice(2);
const files = fs
  .readdirSync(new URL('.', import.meta.url))
  .filter((name) => name.endsWith('.test.js') && (wanted.length === 0 || wanted.some((word) => name.includes(word))))
  .sort();
if (files.length === 0) {
  console.error(`no file of tests has a name with ${wanted.map((word) => `\`${word}\``).join(' or ')} in it`);
  process.exit(2);
}
const reporters = [process.stdout.isTTY ? 'spec' : 'tap', './test/skip_reporter.mjs'].flatMap((name, nth) => [
  `--test-reporter=${name}`,
  `--test-reporter-destination=${nth === 0 ? 'stdout' : 'stderr'}`,
]);
const { status } = spawnSync(
  process.execPath,
  ['--test', `--test-concurrency=${os.availableParallelism()}`, ...reporters, ...files.map((name) => `test/${name}`)],
  { cwd: fileURLToPath(new URL('..', import.meta.url)), stdio: 'inherit' },
);
process.exit(status ?? 1);
