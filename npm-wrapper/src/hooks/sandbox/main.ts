import { readLine, writeLine } from './lines.js';
import { type Asked, Hooks } from './hooks.js';

/**
 * The process that runs hooks where the native command is not installed.
 *
 * `transpile FILE HEX FOLDER` makes code of a component and ends. `run` answers questions, a line each, until there are no more. Neither
 * is trusted: the parent process ends them if they take too long.
 */
async function main([job, ...words]: string[]): Promise<void> {
  if (job === 'transpile') {
    const [file = '', hex = '', folder = ''] = words;
    const { transpile } = await import('./transpile.js');
    await transpile(file, hex, folder);
    return;
  }
  // What generated code prints would be taken for an answer.
  for (const name of ['log', 'debug', 'info', 'warn', 'error', 'trace'] as const) console[name] = () => {};
  const hooks = new Hooks();
  for (let line = readLine(); line !== undefined; line = readLine()) {
    writeLine({ answer: await hooks.answer(JSON.parse(line) as Asked) });
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`hook: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
