/** Types of the public interface for hooks. */

/** The answer of the hooks to an event. */
export interface HookAnswer {
  /** Whether the operation may continue. */
  proceed: boolean;
  /** A message for the model or the person. */
  systemMessage: string | null;
  /** The event's data, as changed by the hooks. */
  data: Record<string, unknown>;
}

/** The status of a run. */
export type HookStatus = 'queued' | 'running' | 'success' | 'failed' | 'timeout' | 'canceled' | 'skipped';

/** One run of a hook. */
export interface HookRecord {
  /** The id of the run, as `cancel` takes it. */
  id: string;
  /** The id of the hook. */
  hook: string;
  /** The event that triggered it. */
  trigger: string;
  /** The file the event is about, relative to the workspace. */
  file?: string | undefined;
  /** The agent session of the event. */
  session?: string | undefined;
  /** The number of events this run covers, if they came faster than it could run. */
  events?: number | undefined;
  /** RFC 3339; missing while it is queued. */
  started?: string | undefined;
  /** RFC 3339; missing until it has ended. */
  ended?: string | undefined;
  status: HookStatus;
  exitCode?: number | undefined;
  /** The number of attempts. */
  attempts: number;
  /** The reason for the status, if there is one. */
  reason?: string | undefined;
  /** Its output, with secrets removed. */
  output?: string | undefined;
  durationMs?: number | undefined;
}

/** A hook of the workspace that needs approval before it can run. */
export interface HookApproval {
  /** The id of the hook. */
  hook: string;
  /** What would be approved; `{"op":"hooks","do":"approve","id","digest"}` approves exactly this. */
  digest: string;
  /** Why approval is needed: `new`, or `changed` since it was approved. */
  why: string;
  /** Additional information for the person. */
  notice?: string | undefined;
  /** What a person should review. */
  shows: {
    /** The hook as declared. */
    declaration: Record<string, unknown>;
    /** The command line that would run; missing for a prompt. */
    runs?: string[] | undefined;
    /** The component that would be called, and what it gets; missing for programs and prompts. */
    component?:
      | {
          digest: string;
          bytes: number;
          contract: string;
          exports: string[];
          imports: string[];
          /** In words, such as `reads src/**`. */
          grants: string[];
          manifest: { name?: string; version?: string; description?: string };
        }
      | undefined;
    /** The program that the first argument resolves to. */
    interpreter?: string | undefined;
    /** The script of the workspace in the command line, and its digest. */
    script?: [path: string, digest: string] | null | undefined;
    /** The files that are copied with the script, and their digests. */
    files?: [path: string, digest: string][] | undefined;
    /** Other files of the workspace in the command line: changes are detected, but they are not copied. */
    in_place?: [path: string, digest: string][] | undefined;
    /** Whether it may read or run files that are not checked, so that later changes of those run without approval. */
    unchecked?: boolean | undefined;
    /** What is checked and what is not, in a sentence. */
    note?: string | undefined;
    /** The text of the script, exactly as covered by its digest. */
    script_text?: string | undefined;
    /** The texts of the other copied files, within a size limit. */
    texts?: [path: string, text: string][] | undefined;
    /** The files whose text is not included: too long, or not text. */
    not_shown?: string[] | undefined;
    /** The same information about the previous approval. */
    before: Record<string, unknown> | null;
  };
}

/** The answer to a prompt. */
export interface PromptOutput {
  /** Default: 0. */
  exitCode?: number | undefined;
  stdout: string;
  stderr?: string | undefined;
}

/** Options for hooks. */
export interface HooksOptions {
  /** Answers prompts. Default: the command from the user's settings. */
  runPrompt?: ((prompt: string, options: { hook: string; signal: AbortSignal }) => Promise<PromptOutput>) | undefined;
  /** Called whenever the status of a run changes. */
  onRecord?: ((record: HookRecord) => void) | undefined;
  /** Called to start or stop passing an event to `notify`. Returns a reason if the event cannot be observed. */
  onListen?: ((trigger: string, on: boolean) => string | undefined) | undefined;
  /** Called once for every hook that needs approval. */
  onApproval?: ((approval: HookApproval) => void) | undefined;
}
