import type { Fault, Refusal } from '../../generated/interfaces/tollgate-hooks-sessions.js';
import { type Exports, type Imports, newInstance } from './component.js';
import { type ErrorCode, TollgateError } from '../api/error.js';

/** What an export answers instead of a result. */
type Refused = Fault | Refusal;

const CODES: Record<Refused['tag'], ErrorCode> = {
  'not-kept': 'workspace_fault',
  'unknown-intent': 'unknown_intent',
  'intent-closed': 'intent_closed',
  'not-governed': 'not_governed',
};

/**
 * The component, one instance at a time.
 *
 * An instance that failed cannot be trusted with its own memory any more, so it is dropped, and the next call makes a fresh
 * one. Nothing is lost by that: whatever has to outlive an instance is kept in files.
 */
export class Guest {
  readonly #imports: Imports;
  #instance: Exports | undefined;
  #busy = false;
  /** Told when an instance has failed, before whoever called learns of it. Throws nothing. */
  onLost: ((error: TollgateError) => void) | undefined;

  constructor(imports: Imports) {
    this.#imports = imports;
  }

  /** Whether there is an instance, which may want something done. */
  get isRunning(): boolean {
    return this.#instance !== undefined;
  }

  /** Runs `use` on the instance. */
  call<T>(use: (exports: Exports) => T): T {
    if (this.#busy) {
      throw new TollgateError('reentrant', 'the gate was called from inside one of its own callbacks; call it afterwards');
    }
    this.#busy = true;
    try {
      this.#instance ??= newInstance(this.#imports);
      return use(this.#instance);
    } catch (error) {
      if (error instanceof TollgateError) throw error;
      const refused = refusedIn(error);
      if (refused !== undefined) throw new TollgateError(CODES[refused.tag], refused.val, error);
      this.#instance = undefined;
      const said = error instanceof Error ? error.message : String(error);
      const trap = new TollgateError('guest_trap', `the gate failed and was restarted; the next call works (${said})`, error);
      this.onLost?.(trap);
      throw trap;
    } finally {
      this.#busy = false;
    }
  }
}

/** The contract's own error in what an export threw; none where the export did not answer at all. */
function refusedIn(error: unknown): Refused | undefined {
  // The glue's error class is made anew for every instance and cannot be named here.
  if (!(error instanceof Error) || !Object.hasOwn(error, 'payload')) return undefined;
  const { payload } = error as Error & { payload: unknown };
  const isRefused = typeof payload === 'object' && payload !== null && 'tag' in payload && String(payload.tag) in CODES;
  return isRefused ? (payload as Refused) : undefined;
}
