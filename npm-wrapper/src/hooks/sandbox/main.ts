import { readLine, writeLine } from './lines.js';
import { type HookRequest, HookInstances } from './hooks.js';

/**
 * The process that runs hooks if the native command is not installed.
 *
 * `transpile FILE HEX FOLDER` generates the code of a component and exits. `run` answers questions, one per line, until the input
 * ends. Neither is trusted: the parent process ends them if they take too long.
 */
async function main([job, ...words]: string[]): Promise<void> {
  if (job === 'transpile') {
    const [file = '', hex = '', folder = ''] = words;
    const { transpile } = await import('./transpile.js');
    await transpile(file, hex, folder);
    return;
  }
  // Anything that generated code prints would be mistaken for an answer.
  for (const name of ['log', 'debug', 'info', 'warn', 'error', 'trace'] as const) console[name] = () => {};
  const hooks = new HookInstances();
  for (let line = readLine(); line !== undefined; line = readLine()) {
    writeLine({ answer: await hooks.answer(JSON.parse(line) as HookRequest) });
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`hook: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
