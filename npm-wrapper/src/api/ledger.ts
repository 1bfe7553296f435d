/** One line of the ledger, `.orchestration/agent_trace.jsonl`. */
export interface LedgerEntry {
  /** UUID v4. */
  id: string;
  /** RFC 3339, UTC. */
  timestamp: string;
  /** The intent that the call was ruled under. */
  intent_id: string | null;
  session_id: string;
  /** The sub-agent, where the program names one. */
  agent?: string;
  /** The agent program, where it is known. */
  host?: string;
  /** The tool, as the program spells it. */
  tool_name: string;
  mutation_class: MutationClass;
  /** The file; null where no file is concerned. */
  file: FileChange | null;
  /** The hash of the content after the change. */
  content_hash: string | null;
  /** Whether the change was in the intent's scope. */
  scope_validation: 'PASS' | 'FAIL' | 'EXEMPT';
  success: boolean;
  /** What the tool said where it failed. */
  error: string | null;
  /** Set where the file was changed by two calls at once. */
  concurrent?: { session_id: string; entry_id: string };
  /** Set where the call may have made the change after it had ended: when it was allowed, and how many others may have. */
  late?: { call_id: string; began: string; others?: number };
  /** The entry whose change this one takes back. */
  reverts?: string;
  /** The person who gave a command that only a person may give: their account, the words of the command, and what it changed. */
  person?: { user: string; command: string[]; changed: string[] };
  /** The heads of the ledger that the first line of a write saw. */
  saw?: string[];
  /** The line before, of every other line of a write. */
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
  /** `sha256:` and hex; null where there was no file or it could not be hashed. */
  pre_hash: string | null;
  post_hash: string | null;
  /** The lines of the new content that differ from the old; empty where that is not known. */
  line_ranges: { start: number; end: number }[];
}
