import type { Tollgate } from './tollgate.js';

/** What came of an event: whether to go on, and what the model should be told. */
export interface EventAnswer {
  continue: boolean;
  systemMessage: string | null;
  data: Record<string, unknown>;
}

/** One run of a hook. */
export type HookRecord = Record<string, unknown>;

/** A hook of the workspace that wants to run and is not approved. */
export interface HookApproval {
  hook: string;
  digest: string;
  why: 'new' | 'changed';
}

/** What an embedder does for hooks. */
export interface HooksOptions {
  onRecord?: (record: HookRecord) => void;
  onApproval?: (approval: HookApproval) => void;
}

/** The hooks of one gate. */
export class Hooks {
  readonly #gate: Tollgate;

  constructor(gate: Tollgate, _options: HooksOptions = {}) {
    this.#gate = gate;
  }

  /** Tells the hooks of an event and waits for what they say. */
  async event(event: string, session: string, data: object = {}): Promise<EventAnswer> {
    const answer = this.#gate.perform({ op: 'event', event, session, data });
    const said = answer.system_message;
    return {
      continue: answer.continue !== false,
      systemMessage: typeof said === 'string' ? said : null,
      data: (answer.data ?? {}) as Record<string, unknown>,
    };
  }

  /** Tells the hooks of an event and does not wait. */
  notify(_event: string, _data?: object, _session?: string): void {}

  /** Ends what runs. */
  async shutdown(_options: { drain?: boolean } = {}): Promise<void> {}
}
