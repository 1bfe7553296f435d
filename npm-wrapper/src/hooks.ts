import type { HookAnswer, HookRecord, HooksOptions } from './hook_types.js';
import type { Tollgate } from './tollgate.js';

/** The hooks of one gate. For the time being events are answered and nothing is run. */
export class Hooks {
  readonly #gate: Tollgate;

  constructor(gate: Tollgate, _options: HooksOptions = {}) {
    this.#gate = gate;
  }

  async event(event: string, session: string, data: object = {}): Promise<HookAnswer> {
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

  reload(): void {}

  cancel(_run: string): void {}

  async shutdown(_options?: { drain?: boolean }): Promise<void> {}
}
