/** The words of the public interface. Plain data, so that it can be logged, sent and compared. */

import type { LedgerEntry } from './ledger.js';

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

/** Why a call was ruled on as it was. */
export type RulingCode =
  /** Every change is in the intent's scope. */
  | 'in_scope'
  /** Nothing is changed. */
  | 'read_only'
  /** The workspace has no `.orchestration/`. */
  | 'ungoverned'
  /** The intents cannot be read. */
  | 'intents_unreadable'
  /** The session has not selected an intent. */
  | 'no_active_intent'
  /** The selected intent is not in the file. */
  | 'unknown_intent'
  /** The selected intent is completed or abandoned. */
  | 'intent_closed'
  /** A change that the intent does not own. */
  | 'out_of_scope'
  /** A change to what governs the gate itself. */
  | 'control_file'
  /** A change to a file that is no longer what the session last saw. */
  | 'stale_write'
  /** A change to a file that another session is writing to. */
  | 'write_in_flight'
  /** What the call does cannot be known. */
  | 'unknown_effects'
  /** A program that the settings do not let run. */
  | 'program'
  /** A patch that cannot be read. */
  | 'invalid_patch'
  /** A path that leads nowhere or is none. */
  | 'invalid_path'
  /** Arguments that cannot be understood. */
  | 'invalid_arguments'
  /** A fault of the gate's own, so a person decides. */
  | 'gate_fault';

/** A verdict and why. */
export interface Ruling {
  /** Whether the call may run. A host that cannot ask a person treats `ask` as `deny`. */
  verdict: 'allow' | 'ask' | 'deny';
  /** Stable, for programs. */
  code: RulingCode;
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
  entries: LedgerEntry[];
  /** What the agent should be told, where there is something. */
  notice?: string | undefined;
}

/** A program to run for a lookup. No shell: the words are the arguments. */
export interface LookupProgram {
  argv: string[];
  stdin: string;
  /** The variables that it inherits, by name. */
  inherit: string[];
  /** The variables that it is given. */
  set: [name: string, value: string][];
}

/** A tool of an MCP server to call. */
export interface McpRequest {
  server: string;
  tool: string;
  arguments: Record<string, unknown>;
  /** How to start the server; none where only the embedder can know it. */
  start?: LookupProgram | undefined;
}

/** Who is asked: a program, a tool of an MCP server, or the embedder's function of the source's name. */
export type LookupRequest = ({ kind: 'run' } & LookupProgram) | ({ kind: 'mcp' } & McpRequest) | { kind: 'function' };

/** One thing to look up outside the gate. */
export interface Lookup {
  /** The concept, as the call spells it. */
  concept: string;
  /** The source that is asked. */
  source: string;
  /** Who is asked. */
  request: LookupRequest;
  /** How long to wait for this answer. */
  timeoutMs: number;
}

/** What to look up for a call. */
export interface LookupPlan {
  /** The concepts that the call names, in order of first appearance. */
  concepts: string[];
  /** To be looked up all at once. */
  lookups: Lookup[];
  /** How long to wait for all of them; then `augment` is called with what has arrived. */
  totalMs: number;
  /** Why there is nothing to do, where there is nothing to do. */
  skipped?: string | undefined;
}

/** What came back: Markdown, nothing known, nobody there, too late, or a failure in the source's own words. */
export type LookupAnswer = { text: string } | 'unknown' | 'unavailable' | 'late' | { failed: string };

/** The answer of one source about one concept. */
export interface Finding {
  /** As in the lookup. */
  concept: string;
  /** As in the lookup. */
  source: string;
  answer: LookupAnswer;
}

/** Who can be asked outside the gate. */
export interface LookupOptions {
  /** Functions for the sources that the settings declare with `"function": true`; they answer with Markdown, or nothing. */
  functions?:
    | Record<string, (concept: string, signal: AbortSignal) => Promise<string | undefined> | string | undefined>
    | undefined;
  /**
   * Calls a tool of an MCP server that you are connected to. Without it, the servers that the user's settings name are started
   * when they are first asked, and kept until the gate is closed; others are not there.
   */
  mcpTool?:
    | ((server: string, tool: string, args: unknown, signal: AbortSignal) => Promise<string | undefined> | string | undefined)
    | undefined;
}

/** A call with what is known about its concepts. */
export interface Augmented {
  /** The arguments to run the tool with; equal to the call's where nothing may be changed. */
  args: Record<string, unknown>;
  /** What was added to the arguments, where something was: the text alone. */
  added?: string | undefined;
  /** What the model should be told beside the call, where the arguments may not be changed. */
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
  status: IntentStatus;
}

/** How far an intent has come. */
export type IntentStatus = 'PLANNED' | 'IN_PROGRESS' | 'COMPLETED' | 'BLOCKED' | 'ABANDONED';

/** The answer to an agent program's payload. */
export interface ProgramAnswer {
  /** What to print on standard output, or to hand to the plugin that asked; may be empty. */
  text: string;
  /** Why the tool must not run, where it must not: for whoever cannot deliver the text. */
  refused?: string | undefined;
}
