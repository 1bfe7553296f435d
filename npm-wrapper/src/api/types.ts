/** Types of the public interface. They are plain data, so that they can be logged, sent and compared. */

import type { LedgerEntry } from './ledger.js';

/** One tool call, as proposed by the agent. */
export interface ToolCall {
  /** The agent session that makes the call. */
  session: string;
  /** The call's id, unique within its session. */
  call: string;
  /** The tool, as the agent program spells it. */
  tool: string;
  /** The arguments: one object that can be serialized as JSON. */
  args: object;
  /** The sub-agent within the session, if the agent program reports it. It uses the session's intent. */
  agent?: string | undefined;
  /** The agent program that defines the tool name, such as `opencode`. Default: any known program. */
  host?: string | undefined;
  /** The working directory of the call, absolute or relative to the workspace. Default: the workspace. */
  cwd?: string | undefined;
}

/** What happens to a path. */
export type Operation = 'read' | 'create' | 'modify' | 'delete' | 'execute';

/** One effect of a call on one path. */
export interface Effect {
  /** Relative to the workspace with `/` as separator, `.` for the workspace itself; absolute outside of it. */
  path: string;
  operation: Operation;
}

/** The content hash of a file when the call was checked. */
export interface PreHash {
  /** The file, as in its effect. */
  path: string;
  /** `sha256:` and 64 lower-case hex digits. */
  digest: string;
}

/** The reason for a ruling. */
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
  /** A change outside the intent's scope. */
  | 'out_of_scope'
  /** A change to files that control the gate itself. */
  | 'control_file'
  /** A change to a file that has changed since the session last saw it. */
  | 'stale_write'
  /** A change to a file that another session is writing to. */
  | 'write_in_flight'
  /** The effects of the call are unknown. */
  | 'unknown_effects'
  /** A program that the settings do not allow. */
  | 'program'
  /** An invalid patch. */
  | 'invalid_patch'
  /** An invalid path. */
  | 'invalid_path'
  /** Invalid arguments. */
  | 'invalid_arguments'
  /** The gate itself failed, so a person decides. */
  | 'gate_fault';

/** A verdict and its reason. */
export interface Ruling {
  /** Whether the call may run. A host that cannot ask a person treats `ask` as `deny`. */
  verdict: 'allow' | 'ask' | 'deny';
  /** A stable code for programs. */
  code: RulingCode;
  /** For people: what is wrong and what to do about it. Empty on a plain allow. */
  reason: string;
  /** The effects of the call, as far as they are known. */
  effects: Effect[];
  /** One for each existing file that the call would change. */
  preHashes: PreHash[];
}

/** How a call ended. */
export type Outcome =
  /** It ran. The tool's result, if available. */
  | { status: 'done'; result?: unknown }
  /** It ran and failed, with this error message. */
  | { status: 'failed'; error: string }
  /** It did not run, for this reason. */
  | { status: 'refused'; reason: string };

/** The result of recording a call. */
export interface Settlement {
  /** The new ledger entries. */
  entries: LedgerEntry[];
  /** A message for the agent, if there is one. */
  notice?: string | undefined;
}

/** A program to run for a lookup, without a shell. */
export interface LookupProgram {
  argv: string[];
  stdin: string;
  /** The names of inherited variables. */
  inherit: string[];
  /** Additional variables. */
  set: [name: string, value: string][];
}

/** A tool of an MCP server to call. */
export interface McpRequest {
  server: string;
  tool: string;
  arguments: Record<string, unknown>;
  /** How to start the server; missing if only the embedder can connect to it. */
  start?: LookupProgram | undefined;
}

/** What to ask: a program, a tool of an MCP server, or a function of the embedder. */
export type LookupRequest = ({ kind: 'run' } & LookupProgram) | ({ kind: 'mcp' } & McpRequest) | { kind: 'function' };

/** One thing to look up outside the gate. */
export interface Lookup {
  /** The concept, as spelled in the call. */
  concept: string;
  /** The source to ask. */
  source: string;
  /** How to ask it. */
  request: LookupRequest;
  /** How long to wait for this answer. */
  timeoutMs: number;
}

/** What to look up for a call. */
export interface LookupPlan {
  /** The concepts in the call, in order of first appearance. */
  concepts: string[];
  /** Lookups to run in parallel. */
  lookups: Lookup[];
  /** How long to wait for all of them; then call `augment` with what has arrived. */
  totalMs: number;
  /** Why there is nothing to look up, if so. */
  skipped?: string | undefined;
}

/** The answer: Markdown, nothing known, not available, too late, or an error message of the source. */
export type LookupAnswer = { text: string } | 'unknown' | 'unavailable' | 'late' | { failed: string };

/** The answer of one source about one concept. */
export interface Finding {
  /** As in the lookup. */
  concept: string;
  /** As in the lookup. */
  source: string;
  answer: LookupAnswer;
}

/** How concepts are looked up outside the gate. */
export interface LookupOptions {
  /** Functions for the sources that the settings declare with `"function": true`; they return Markdown, or nothing. */
  functions?:
    | Record<string, (concept: string, signal: AbortSignal) => Promise<string | undefined> | string | undefined>
    | undefined;
  /**
   * Calls a tool of an MCP server that you are connected to. Default: the gate connects to declared servers when they are first
   * needed, and keeps the connections until it is closed; others are unavailable.
   */
  mcpTool?:
    | ((server: string, tool: string, args: unknown, signal: AbortSignal) => Promise<string | undefined> | string | undefined)
    | undefined;
}

/** How a person is asked about calls of tools of MCP servers. */
export interface McpOptions {
  /**
   * Asks a person whether a call may run; undefined if no one can be asked, and then it does not run. `request` is the number of
   * the request that contains the call.
   */
  ask?: ((message: string, request: number) => Promise<boolean | undefined>) | undefined;
  /** Called when the tools of servers have changed since they were last listed. */
  onToolsChanged?: (() => void) | undefined;
}

/** A call together with what is known about its concepts. */
export interface Augmented {
  /** The arguments to run the tool with; unchanged if they must not be changed. */
  args: Record<string, unknown>;
  /** Only the text that was added to the arguments, if any. */
  added?: string | undefined;
  /** A message for the model in addition to the call, if the arguments must not be changed. */
  additionalContext?: string | undefined;
  /** The concepts for which something was found. */
  concepts: string[];
  /** Why nothing was added, if so. */
  skipped?: string | undefined;
}

/** The main fields of an intent. */
export interface Intent {
  /** As in `active_intents.yaml`. */
  id: string;
  name: string;
  status: IntentStatus;
}

/** The status of an intent. */
export type IntentStatus = 'PLANNED' | 'IN_PROGRESS' | 'COMPLETED' | 'BLOCKED' | 'ABANDONED';

/** The answer to a payload of an agent program. */
export interface ProgramAnswer {
  /** What to print on standard output, or to pass to the plugin; may be empty. */
  text: string;
  /** Why the tool must not run, if so: for hosts that cannot deliver the text. */
  refused?: string | undefined;
}
