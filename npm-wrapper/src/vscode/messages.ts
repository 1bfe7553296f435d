/** What passes between the extension host and the thread that the gates live in. Plain data, because it is copied. */

import type { HookApproval, HookRecord, PromptOutput } from '../api/hook_types.js';

/** How the gate of one folder is opened. */
export interface Opening {
  /** The folder's name between the threads. */
  folder: string;
  /** Where it stands. */
  workspace: string;
  /** The home folder; the user's own where none is named. */
  home?: string | undefined;
  /** Whether hooks may run: not before the person trusts the workspace. */
  hooks: boolean;
  /** Whether the editor runs prompts itself. */
  prompts: boolean;
  /** The triggers that the editor can tell of. */
  triggers: string[];
}

/** From the extension host. */
export type Order =
  | { type: 'open'; opening: Opening }
  | { type: 'close'; folder: string; id: number }
  | { type: 'call'; id: number; folder: string; method: string; args: unknown[] }
  | { type: 'prompted'; prompt: number; done: PromptResult };

/** What a prompt came to. */
export type PromptResult = PromptOutput | { failed: string };

/** From the thread. */
export type Report =
  | { type: 'answer'; id: number; value: unknown }
  | { type: 'refusal'; id: number; code: string; message: string }
  | { type: 'log'; folder: string; level: 'debug' | 'info' | 'warn' | 'error'; message: string; details?: unknown }
  | { type: 'listen'; folder: string; trigger: string; on: boolean }
  | { type: 'record'; folder: string; record: HookRecord }
  | { type: 'approval'; folder: string; approval: HookApproval }
  | { type: 'prompt'; folder: string; prompt: number; hook: string; text: string }
  | { type: 'unprompt'; prompt: number };
