/** The words of hooks in the public interface. */

/** What became of an event whose answer is awaited. */
export interface HookAnswer {
  /** Whether to go on. */
  proceed: boolean;
  /** What the model, or the person, should be told. */
  systemMessage: string | null;
  /** The event's data, as the last hook left it. */
  data: Record<string, unknown>;
}

/** How far a run has come. */
export type HookStatus = 'queued' | 'running' | 'success' | 'failed' | 'timeout' | 'canceled' | 'skipped';

/** One run of a hook. */
export interface HookRecord {
  /** The run's own id; `cancel` takes it. */
  id: string;
  /** The hook's id. */
  hook: string;
  /** The event that set it off. */
  trigger: string;
  /** The file that the event was about, relative to the workspace. */
  file?: string | undefined;
  /** The agent session that the event belonged to. */
  session?: string | undefined;
  /** How many events it answers, where they came faster than it could run. */
  events?: number | undefined;
  /** RFC 3339; none while it waits. */
  started?: string | undefined;
  /** RFC 3339; none while it is under way. */
  ended?: string | undefined;
  status: HookStatus;
  exitCode?: number | undefined;
  /** How often it was tried. */
  attempts: number;
  /** Why it ended as it did, where there is something to say. */
  reason?: string | undefined;
  /** What it printed, secrets left out. */
  output?: string | undefined;
  durationMs?: number | undefined;
}

/** A hook of the workspace that wants to run and that nobody has approved. */
export interface HookApproval {
  /** The hook's id. */
  hook: string;
  /** What would be approved; `{"op":"hooks","do":"approve","id","digest"}` approves just this. */
  digest: string;
  /** `new` where nobody has approved it yet, `changed` where it is no longer what was approved. */
  why: string;
  /** What a person has to be told about that besides. */
  notice?: string | undefined;
  /** What a person should see before the decision. */
  shows: {
    /** The hook as it stands in its file. */
    declaration: Record<string, unknown>;
    /** The words that would be run; none for a prompt. */
    runs?: string[] | undefined;
    /** The program behind the first of them, every link followed. */
    interpreter?: string | undefined;
    /** The script of the workspace among them, and its digest. */
    script?: [path: string, digest: string] | null | undefined;
    /** The files that are copied with the script, and their digests. */
    files?: [path: string, digest: string][] | undefined;
    /** Other files of the workspace that the words name: changes are noticed, but they are read where they stand. */
    in_place?: [path: string, digest: string][] | undefined;
    /** Whether nobody can vouch for what else it reads and runs, so that later changes of that run unasked. */
    unchecked?: boolean | undefined;
    /** What is checked and what is not, in a sentence. */
    note?: string | undefined;
    /** The text of the script: the very bytes of its digest. */
    script_text?: string | undefined;
    /** The texts of the other files that are copied, as far as there is room. */
    texts?: [path: string, text: string][] | undefined;
    /** The files whose text is not shown: too long, or not text. */
    not_shown?: string[] | undefined;
    /** The same of what was approved before. */
    before: Record<string, unknown> | null;
  };
}

/** What a prompt brought. */
export interface PromptOutput {
  /** 0 where none is told. */
  exitCode?: number | undefined;
  stdout: string;
  stderr?: string | undefined;
}

/** What hooks are given to work with. */
export interface HooksOptions {
  /** Answers prompts. Without it, the command that the user's settings name does. */
  runPrompt?: ((prompt: string, options: { hook: string; signal: AbortSignal }) => Promise<PromptOutput>) | undefined;
  /** Told whenever a run begins, goes on or ends. */
  onRecord?: ((record: HookRecord) => void) | undefined;
  /** Told to begin or to stop passing an event to `notify`. A returned text says why that cannot be. */
  onListen?: ((trigger: string, on: boolean) => string | undefined) | undefined;
  /** Told once of every hook that waits for a person's approval. */
  onApproval?: ((approval: HookApproval) => void) | undefined;
}
