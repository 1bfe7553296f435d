// Calls the component, and replaces an instance that has failed.
import type { Fault, Refusal } from '../../generated/interfaces/tollgate-hooks-sessions.js';
import { type Exports, type Imports, newInstance } from './component.js';
import { type ErrorCode, TollgateError } from '../api/error.js';

/** The error of an export. */
type ContractError = Fault | Refusal;

const CODES: Record<ContractError['tag'], ErrorCode> = {
  'not-kept': 'workspace_fault',
  'unknown-intent': 'unknown_intent',
  'intent-closed': 'intent_closed',
  'not-governed': 'not_governed',
};

/**
 * The component, one instance at a time.
 *
 * After a failure, the memory of an instance cannot be trusted, so it is dropped, and the next call creates a new one. Nothing is
 * lost, because everything that must outlive an instance is stored in files.
 */
export class Guest {
  readonly #imports: Imports;
  readonly #onStart: (exports: Exports) => void;
  #instance: Exports | undefined;
  #busy = false;
  /** Called when an instance has failed, before the caller gets the error. Must not throw. */
  readonly onFailure: ((error: TollgateError) => void)[] = [];

  /** @param onStart is called with every new instance before anything else */
  constructor(imports: Imports, onStart: (exports: Exports) => void = () => {}) {
    this.#imports = imports;
    this.#onStart = onStart;
  }

  /** Whether there is an instance. It may have work to do. */
  get isRunning(): boolean {
    return this.#instance !== undefined;
  }

  /** Calls `use` with the instance. */
  call<T>(use: (exports: Exports) => T): T {
    if (this.#busy) {
      throw new TollgateError('reentrant', 'the gate was called from inside one of its own callbacks; call it afterwards');
    }
    this.#busy = true;
    try {
      this.#instance ??= this.#start();
      return use(this.#instance);
    } catch (error) {
      if (error instanceof TollgateError) throw error;
      const refused = contractErrorOf(error);
      if (refused !== undefined) throw new TollgateError(CODES[refused.tag], refused.val, error);
      this.#instance = undefined;
      const said = error instanceof Error ? error.message : String(error);
      const trap = new TollgateError('guest_trap', `the gate failed and was restarted; the next call works (${said})`, error);
      for (const tell of this.onFailure) tell(trap);
      throw trap;
    } finally {
      this.#busy = false;
    }
  }

  #start(): Exports {
    const instance = newInstance(this.#imports);
    this.#onStart(instance);
    return instance;
  }
}

/** The error of the contract in what an export threw; `undefined` if the instance failed. */
function contractErrorOf(error: unknown): ContractError | undefined {
  // The error class of the generated code is created per instance and cannot be imported here.
  if (!(error instanceof Error) || !Object.hasOwn(error, 'payload')) return undefined;
  const { payload } = error as Error & { payload: unknown };
  const isRefused = typeof payload === 'object' && payload !== null && 'tag' in payload && String(payload.tag) in CODES;
  return isRefused ? (payload as ContractError) : undefined;
}
