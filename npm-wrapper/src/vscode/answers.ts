/** The fields of the gate's answers that the editor shows. */

import type { IntentDiagnostic } from '../api/intent_diagnostic.js';
import type { LedgerEntry } from '../api/ledger.js';

export interface IntentDetails {
  id: string;
  name: string;
  status: string;
  open: boolean;
  description: string | null;
  owned_scope: string[];
  constraints: string[];
  acceptance_criteria: string[];
}

export interface IntentList {
  governed: boolean;
  intents: IntentDetails[];
  diagnostics: IntentDiagnostic[];
}

export interface TracePage {
  entries: LedgerEntry[];
  before: number | null;
}

export interface HookDetails {
  id: string;
  trigger: string;
  source: 'user' | 'workspace';
  file: string;
  kind: string;
  enabled: boolean;
  disabled_reason?: string | null;
  trust: 'trusted' | 'approved' | 'new' | 'changed';
  digest?: string | null;
  pattern?: string | null;
}

/** A run of a hook, as stored in the log. */
export interface StoredHookRecord {
  hook: string;
  trigger: string;
  file?: string;
  started?: string;
  ended?: string;
  status: string;
  attempts: number;
  reason?: string;
  duration_ms?: number;
}

export interface HookFault {
  file: string;
  path?: string;
  line: number | null;
  column: number | null;
  message: string;
}

export interface HookList {
  hooks: HookDetails[];
  faults: HookFault[];
}

export interface ExtensionDetails {
  name: string;
  version?: string;
  description?: string;
  source: 'user' | 'workspace';
  folder: string;
  state: 'active' | 'disabled' | 'unapproved' | 'changed' | 'incomplete' | 'invalid';
  why?: string;
  hooks?: string[];
  servers?: string[];
  skills?: string[];
  settings?: string[];
}

/** An MCP server, as far as it is known. */
export interface ServerDetails {
  name: string;
  state: 'idle' | 'connecting' | 'connected' | 'unavailable' | 'refused' | 'disabled';
  why: string | null;
  transport: string;
  target: string;
  source: string;
  tools: number;
}

/** A tool of an MCP server. */
export interface ServerTool {
  server: string;
  tool: string;
  description: string;
}

export interface ExtensionList {
  extensions: ExtensionDetails[];
  faults: HookFault[];
}

/** An extension with everything that a person sees before approving it. */
export interface ExtensionReview extends Omit<ExtensionDetails, 'settings'> {
  digest?: string;
  problem?: string;
  shows?: { brings: string[]; files?: [string, string][]; texts?: [string, string][]; not_shown?: string[] };
  settings?: ExtensionSetting[];
}

export interface ExtensionSetting {
  name: string;
  description: string;
  type: 'string' | 'number' | 'boolean';
  required: boolean;
  sensitive: boolean;
  value?: unknown;
  from?: string;
}

export interface SkillDetails {
  name: string;
  description: string;
  file: string;
  parameters: { name: string; description?: string; required: boolean; default?: string; enum?: string[] }[];
}
