import type { Tollgate } from './tollgate.js';

/** One run of a hook, as it stands. */
export interface HookRecord {
  id: string;
  hook: string;
  trigger: string;
  file?: string;
  started: string | number;
  ended?: string | number | null;
  status: 'queued' | 'running' | 'success' | 'failed' | 'timeout' | 'canceled' | 'skipped';
  exit_code?: number | null;
  attempts: number;
  reason?: string | null;
  output?: string | null;
  duration_ms?: number | null;
}

/** A hook of the workspace that wants to run and is not approved. */
export interface HookApproval {
  hook: string;
  digest: string;
  why: 'new' | 'changed';
  shows: {
    declaration: Record<string, unknown>;
    runs: string[];
    script: string | null;
    interpreter: string | null;
    before: Record<string, unknown> | null;
  };
}

/** What the hooks of a gate are given. */
export interface HooksOptions {
  runPrompt?: (
    prompt: string,
    opts: { hook: string; signal: AbortSignal },
  ) => Promise<{ exitCode?: number; stdout: string; stderr?: string }>;
  onRecord?: (record: HookRecord) => void;
  onListen?: (trigger: string, on: boolean) => string | undefined;
  onApproval?: (approval: HookApproval) => void;
}

/** The answer of the hooks to an event. */
export interface EventAnswer {
  continue: boolean;
  systemMessage: string | null;
  data: Record<string, unknown>;
}

/** The hooks of one gate. For the time being events are answered and nothing is run. */
export class Hooks {
  readonly #gate: Tollgate;

  constructor(gate: Tollgate, _options: HooksOptions = {}) {
    this.#gate = gate;
  }

  async event(event: string, session: string, data: object = {}): Promise<EventAnswer> {
    const answer = this.#gate.perform({ op: 'event', event, session, data }) as Record<string, unknown>;
    return {
      continue: answer.continue !== false,
      systemMessage: (answer.system_message as string | null | undefined) ?? null,
      data: (answer.data as Record<string, unknown> | undefined) ?? {},
    };
  }

  notify(_event: string, _data?: object, _session?: string): void {}

  async run(_id: string, _data?: object): Promise<HookRecord> {
    throw new Error('hooks are not run');
  }

  cancel(_run: string): void {}

  async shutdown(_options?: { drain?: boolean }): Promise<void> {}
}
