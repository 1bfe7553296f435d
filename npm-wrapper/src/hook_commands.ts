import * as path from 'node:path';
import type { HookApproval, HookRecord, HooksOptions } from './hook_types.js';
import { exitCode, run } from './process.js';
import type { Roots } from './roots.js';
import { type CopyOrder, copyOf } from './script.js';

/** What a program of a hook is run with. */
interface Surroundings {
  /** Relative to the workspace. */
  cwd: string;
  env: string[];
  set: Record<string, string>;
  output_bytes: number;
}

/** Run a program. */
export interface RunCommand extends Surroundings {
  type: 'run';
  hook: string;
  argv: string[];
  stdin: string;
  /** The script of the workspace and the files that it needs, where it has one. */
  script: CopyOrder | null;
}

/** Have a prompt answered, by the embedder's function or by a program. */
export interface PromptCommand extends Surroundings {
  type: 'prompt';
  hook: string;
  prompt: string;
  argv: string[] | null;
}

/** What the gate wants done. */
export type HookCommand =
  | RunCommand
  | PromptCommand
  | { type: 'cancel'; id: number }
  | { type: 'answer'; event: number | null; reply: string | null }
  | { type: 'record'; record: WrittenRecord }
  | { type: 'listen' | 'unlisten'; trigger: string }
  | ({ type: 'approval' } & HookApproval)
  | { type: 'stopped' };

/** A record, as the gate writes it. */
export type WrittenRecord = Omit<HookRecord, 'exitCode' | 'durationMs'> & { exit_code?: number; duration_ms?: number };

/** What came of a run or a prompt, in the gate's words. */
export type Done =
  | { exit: number; stdout: string; stderr: string; truncated: boolean }
  | { failed: string }
  | { missing: true }
  | { changed: string }
  | { canceled: true };

export function recordOf({ exit_code: exitCode, duration_ms: durationMs, ...same }: WrittenRecord): HookRecord {
  return { ...same, ...(exitCode === undefined ? {} : { exitCode }), ...(durationMs === undefined ? {} : { durationMs }) };
}

/** Runs a hook's program; where it is a script of the workspace, from a private copy of the bytes that were approved. */
export async function ran(command: RunCommand, roots: Roots, signal: AbortSignal): Promise<Done> {
  const { argv, script } = command;
  if (script === null) return programRan(command, argv, command.stdin, roots, signal);
  const copy = copyOf(roots, script, argv);
  if ('changed' in copy) return copy;
  try {
    return await programRan(command, copy.argv, command.stdin, roots, signal);
  } finally {
    copy.discard();
  }
}

/** Has a prompt answered. */
export async function prompted(
  command: PromptCommand,
  roots: Roots,
  runPrompt: HooksOptions['runPrompt'],
  signal: AbortSignal,
): Promise<Done> {
  const { hook, prompt, argv, output_bytes: most } = command;
  if (runPrompt === undefined) return argv === null ? { missing: true } : programRan(command, argv, prompt, roots, signal);
  // A function that does not listen to its signal is left alone.
  const canceled = new Promise<Done>((resolve) => {
    signal.addEventListener('abort', () => resolve({ canceled: true }), { once: true });
  });
  const answered = async (): Promise<Done> => {
    const answer = await runPrompt(prompt, { hook, signal });
    const [stdout, stderr] = [bounded(answer.stdout, most), bounded(answer.stderr, most)];
    const truncated = stdout.truncated || stderr.truncated;
    return { exit: answer.exitCode ?? 0, stdout: stdout.text, stderr: stderr.text, truncated };
  };
  return Promise.race([canceled, answered()]);
}

async function programRan(
  { cwd, env, set, output_bytes: outputBytes }: Surroundings,
  argv: readonly string[],
  input: string,
  roots: Roots,
  signal: AbortSignal,
): Promise<Done> {
  const folder = path.join(roots.project.folder, cwd);
  const ending = await run({ argv, input, folder, inherit: env, set, outputBytes }, signal);
  switch (ending.how) {
    case 'ended':
      return { exit: exitCode(ending), stdout: ending.stdout, stderr: ending.stderr, truncated: ending.truncated };
    case 'missing':
      return { missing: true };
    case 'failed':
      return { failed: ending.why };
    case 'canceled':
      return { canceled: true };
  }
}

/** A text of the embedder as one that the gate can read, at most so many bytes of it. */
function bounded(text: unknown, most: number): { text: string; truncated: boolean } {
  const bytes = Buffer.from(typeof text === 'string' ? text : '');
  const kept = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, most), { stream: true });
  return { text: kept, truncated: bytes.byteLength > most };
}
