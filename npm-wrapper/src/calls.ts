/** The words of the public interface. Plain data, so that it can be logged, sent and compared. */

/** One tool call, as the agent proposed it. */
export interface ToolCall {
  /** The agent session that makes the call. */
  session: string;
  /** The call's id, unique within its session. */
  call: string;
  /** The tool, as the host spells it. */
  tool: string;
  /** The arguments: one object that can be written as JSON. */
  args: object;
  /** The sub-agent within the session, where the host names one. It works for the session's intent. */
  agent?: string | undefined;
  /** The host whose tool names are meant, such as `opencode`; none means any known host's. */
  host?: string | undefined;
  /** The call's working directory, absolute or relative to the workspace; none means the workspace. */
  cwd?: string | undefined;
}

/** What is done to a path. */
export type Operation = 'read' | 'create' | 'modify' | 'delete' | 'execute';

/** One thing that a call does to one path. */
export interface Effect {
  /** Relative to the workspace with `/` between names, `.` for the workspace itself; absolute where it lies outside. */
  path: string;
  operation: Operation;
}

/** The content hash of one file, as it was when the call was ruled on. */
export interface PreHash {
  /** The file, spelled as in its effect. */
  path: string;
  /** `sha256:` and 64 lower-case hex digits. */
  digest: string;
}

/** A verdict and why. */
export interface Ruling {
  /** Whether the call may run. A host that cannot ask a person treats `ask` as `deny`. */
  verdict: 'allow' | 'ask' | 'deny';
  /** Stable, for programs: `in_scope`, `out_of_scope`, `no_active_intent`, … */
  code: string;
  /** For people: what is wrong and what to do about it. Empty on a plain allow. */
  reason: string;
  /** What the call would do, as far as it can be known. */
  effects: Effect[];
  /** One for each existing file that the call would change. */
  preHashes: PreHash[];
}

/** How a call ended. */
export type Outcome =
  /** It ran. The tool's result, where the host tells. */
  | { status: 'done'; result?: unknown }
  /** It ran and failed; the tool's own words. */
  | { status: 'failed'; error: string }
  /** It did not run; why. */
  | { status: 'refused'; reason: string };

/** What came of a call. */
export interface Settlement {
  /** The ledger entries, as they were entered. */
  entries: Record<string, unknown>[];
  /** What the agent should be told, where there is something. */
  notice?: string | undefined;
}

/** One thing to look up outside the gate. */
export interface Lookup {
  /** The concept, as the call spells it. */
  concept: string;
  /** The source that is asked. */
  source: string;
  /** What to do: run a command, call an MCP tool, call a function of the embedder. */
  request: unknown;
  /** After so long the answer is no longer waited for. */
  timeoutMs: number;
}

/** What to look up for a call. */
export interface LookupPlan {
  /** The concepts that the call names, in order of first appearance. */
  concepts: string[];
  /** To be looked up all at once. */
  lookups: Lookup[];
  /** After so long `augment` is called with what has arrived. */
  totalMs: number;
  /** Why there is nothing to do, where there is nothing to do. */
  skipped?: string | undefined;
}

/** The answer of one source about one concept. */
export interface Finding {
  /** As in the lookup. */
  concept: string;
  /** As in the lookup. */
  source: string;
  /** What came back: Markdown, nothing known, nobody there, too late, or a failure in the source's own words. */
  answer: { text: string } | 'unknown' | 'unavailable' | 'late' | { failed: string };
}

/** A call with what is known about its concepts. */
export interface Augmented {
  /** The arguments to run the tool with; equal to the call's where nothing may be changed. */
  args: Record<string, unknown>;
  /** What the model should be told beside the call. */
  additionalContext?: string | undefined;
  /** The concepts about which something was found. */
  concepts: string[];
  /** Why nothing was added, where nothing was added. */
  skipped?: string | undefined;
}

/** An intent, in short. */
export interface Intent {
  /** As in `active_intents.yaml`. */
  id: string;
  name: string;
  /** `PLANNED`, `IN_PROGRESS`, `COMPLETED`, `BLOCKED` or `ABANDONED`. */
  status: string;
}

/** Something the host shall do. */
export interface Command {
  /** Results are reported under it. */
  id: number;
  /** What to do: run, cancel, tell, ask a person. */
  body: unknown;
}

/** What follows from a step. */
export interface Turn {
  /** To be carried out in this order. */
  commands: Command[];
  /** When to step again though nothing happened; none means not until something does. */
  nextDeadlineMs?: number | undefined;
}
