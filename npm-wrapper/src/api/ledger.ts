/** One line of the ledger, `.orchestration/agent_trace.jsonl`. */
export interface LedgerEntry {
  /** UUID v4. */
  id: string;
  /** RFC 3339, UTC. */
  timestamp: string;
  /** The intent that the call was checked against. */
  intent_id: string | null;
  session_id: string;
  /** The sub-agent, if the agent program reports it. */
  agent?: string;
  /** The agent program, if known. */
  host?: string;
  /** The tool, as the agent program spells it. */
  tool_name: string;
  mutation_class: MutationClass;
  /** The file; null if the entry is not about a file. */
  file: FileChange | null;
  /** The hash of the content after the change. */
  content_hash: string | null;
  /** Whether the change was in the intent's scope. */
  scope_validation: 'PASS' | 'FAIL' | 'EXEMPT';
  success: boolean;
  /** The error message of the tool, if it failed. */
  error: string | null;
  /** Set if two calls changed the file at the same time. */
  concurrent?: { session_id: string; entry_id: string };
  /**
   * Set if the call may have made the change after it had ended: when it was allowed, and how many other calls may have made it.
   */
  late?: { call_id: string; began: string; others?: number };
  /** The entry that this one reverts. */
  reverts?: string;
  /** The person who ran a command that only a person may run: the account, the command line, and what it changed. */
  person?: { user: string; command: string[]; changed: string[] };
  /** The heads of the ledger that the first line of a write was based on. */
  saw?: string[];
  /** The previous line, for every other line of a write. */
  follows?: string;
}

/** The kind of a change. */
export type MutationClass =
  | 'AST_REFACTOR'
  | 'INTENT_EVOLUTION'
  | 'BUG_FIX'
  | 'DOCUMENTATION'
  | 'CONFIGURATION'
  | 'FILE_CREATION'
  | 'FILE_DELETION';

/** The file that an entry is about. */
export interface FileChange {
  /** Relative to the workspace. */
  relative_path: string;
  /** `sha256:` and hex digits; null if there was no file or it could not be hashed. */
  pre_hash: string | null;
  post_hash: string | null;
  /** The lines of the new content that differ from the old; empty if unknown. */
  line_ranges: { start: number; end: number }[];
}

/** A fault or a note of a verification. */
export interface VerificationRemark {
  /** Relative to the workspace. */
  file: string;
  line: number | null;
  what: string;
}

/** The answer to `{"op":"verify"}`. */
export interface Verification {
  ok: boolean;
  /** The files of the ledger. */
  files: string[];
  lines: number;
  entries: number;
  /** The hashes at the end of the ledger. They prove later that nothing was cut off. */
  heads: string[];
  faults: VerificationRemark[];
  notes: VerificationRemark[];
}
