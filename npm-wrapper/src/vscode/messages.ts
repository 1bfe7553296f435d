/** Messages between the extension host and the thread of the gates. They are plain data, because they are copied. */

import type { HookApproval, HookRecord, PromptOutput } from '../api/hook_types.js';

/** How to open the gate of a folder. */
export interface FolderGateOptions {
  /** The folder's name in messages. */
  folder: string;
  /** The path of the folder. */
  workspace: string;
  /** The home folder. Default: the user's home folder. */
  home?: string | undefined;
  /** Whether hooks may run: only if the person trusts the workspace. */
  hooks: boolean;
  /** Whether the editor answers prompts itself. */
  prompts: boolean;
  /** The triggers that the editor can observe. */
  triggers: string[];
}

/** Messages from the extension host. */
export type ThreadRequest =
  | { type: 'open'; opening: FolderGateOptions }
  | { type: 'close'; folder: string; id: number }
  | { type: 'call'; id: number; folder: string; method: string; args: unknown[] }
  | { type: 'prompted'; prompt: number; done: PromptResult };

/** The result of a prompt. */
export type PromptResult = PromptOutput | { failed: string };

/** Messages from the thread. */
export type ThreadMessage =
  | { type: 'answer'; id: number; value: unknown }
  | { type: 'refusal'; id: number; code: string; message: string }
  | { type: 'log'; folder: string; level: 'debug' | 'info' | 'warn' | 'error'; message: string; details?: unknown }
  | { type: 'listen'; folder: string; trigger: string; on: boolean }
  | { type: 'record'; folder: string; record: HookRecord }
  | { type: 'approval'; folder: string; approval: HookApproval }
  | { type: 'prompt'; folder: string; prompt: number; hook: string; text: string }
  | { type: 'unprompt'; prompt: number };
