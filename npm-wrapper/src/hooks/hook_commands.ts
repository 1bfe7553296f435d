// Runs the programs and prompts of hooks, and reads the gate's records of them.
import * as path from 'node:path';
import type { Ending, Prompt, Run, Surroundings } from '../../generated/interfaces/tollgate-hooks-engine.js';
import type { HookRecord, HooksOptions } from '../api/hook_types.js';
import { parseBytes } from '../component/json.js';
import { exitCode, run } from '../programs/process.js';
import type { Roots } from '../files/roots.js';
import { copyScript } from './script.js';

/** A record in the gate's format. */
type GateRecord = Omit<HookRecord, 'exitCode' | 'durationMs'> & { exit_code?: number; duration_ms?: number };

/** Converts a record of the gate to the format of this package. */
export function recordOf(written: Uint8Array | Record<string, unknown>): HookRecord {
  const record = (written instanceof Uint8Array ? parseBytes(written) : written) as GateRecord;
  const { exit_code: exitCode, duration_ms: durationMs, ...same } = record;
  return { ...same, ...(exitCode === undefined ? {} : { exitCode }), ...(durationMs === undefined ? {} : { durationMs }) };
}

/** Runs a hook's program; a script of the workspace runs from a private copy of the approved bytes. */
export async function runProgram(
  { argv, stdin, copy: wanted, surroundings }: Run,
  roots: Roots,
  signal: AbortSignal,
): Promise<Ending> {
  if (wanted === undefined) return runIn(surroundings, argv, stdin, roots, signal);
  const copy = copyScript(roots, wanted, argv);
  if ('changed' in copy) return { tag: 'changed', val: copy.changed };
  try {
    return await runIn(surroundings, copy.argv, stdin, roots, signal);
  } finally {
    copy.discard();
  }
}

/** Answers a prompt. */
export async function answerPrompt(
  { text, argv, surroundings }: Prompt,
  roots: Roots,
  runPrompt: HooksOptions['runPrompt'],
  signal: AbortSignal,
): Promise<Ending> {
  if (runPrompt === undefined) return argv.length === 0 ? { tag: 'missing' } : runIn(surroundings, argv, text, roots, signal);
  // A function that ignores its signal is abandoned.
  const canceled = new Promise<Ending>((resolve) => {
    signal.addEventListener('abort', () => resolve({ tag: 'canceled' }), { once: true });
  });
  const answered = async (): Promise<Ending> => {
    const output = await runPrompt(text, { hook: surroundings.hook, signal });
    const max = Number(surroundings.outputBytes);
    const [stdout, stderr] = [truncateOutput(output.stdout, max), truncateOutput(output.stderr, max)];
    const truncated = stdout.truncated || stderr.truncated;
    return { tag: 'exited', val: { code: output.exitCode ?? 0, stdout: stdout.text, stderr: stderr.text, truncated } };
  };
  return Promise.race([canceled, answered()]);
}

async function runIn(
  { cwd, inherit, set, outputBytes }: Surroundings,
  argv: readonly string[],
  input: string,
  roots: Roots,
  signal: AbortSignal,
): Promise<Ending> {
  const folder = path.join(roots.project.folder, cwd);
  const ending = await run({ argv, input, folder, inherit, set, outputBytes: Number(outputBytes) }, signal);
  switch (ending.how) {
    case 'ended': {
      const { stdout, stderr, truncated } = ending;
      return { tag: 'exited', val: { code: exitCode(ending), stdout, stderr, truncated } };
    }
    case 'missing':
      return { tag: 'missing' };
    case 'failed':
      return { tag: 'failed', val: ending.why };
    case 'canceled':
      return { tag: 'canceled' };
  }
}

/** Output of the embedder as text that the gate can read, truncated to this many bytes. */
function truncateOutput(text: unknown, max: number): { text: string; truncated: boolean } {
  const bytes = Buffer.from(typeof text === 'string' ? text : '');
  const kept = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, max), { stream: true });
  return { text: kept, truncated: bytes.byteLength > max };
}
