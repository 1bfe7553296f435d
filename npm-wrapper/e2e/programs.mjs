// Finds and runs the real programs that are installed for these tests.
import { spawn } from 'node:child_process';
import * as path from 'node:path';

/** The folder that contains the packages. */
export const packages = path.join(process.env.TOLLGATE_E2E, 'node_modules');

/** A run that takes longer than this is ended. */
const MAX_RUN_MS = 240_000;

/** Runs a program to its end and returns its output. An exit code other than 0 is an error. */
export async function runSuccessfully(program, words, options) {
  const { code, output, log } = await runToEnd(program, words, options);
  if (code === 0) return { output, log };
  throw new Error(`${path.basename(program)} ended with ${code}:\n${output.slice(-4000)}\n${log.slice(-8000)}`);
}

/** Runs a program to its end, whatever its exit code. */
export function runToEnd(program, words, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const texts = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr']) child[name].setEncoding('utf8').on('data', (text) => (texts[name] += text));
    const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), MAX_RUN_MS);
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code, output: texts.stdout, log: texts.stderr });
    });
  });
}
