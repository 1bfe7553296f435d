import { TollgateError } from '../index.js';
import { isGoverned, letsFaultsPass } from '../on_fault.js';
import type { Log } from './log.js';

/**
 * What becomes of a call when the gate itself fails.
 *
 * A gate that answers says so itself, with the code `gate_fault`. This is for a gate that does not answer at all: in a governed
 * workspace the call does not run, because OpenCode has nobody ask a person, unless the user lets faults pass.
 */
export class Faults {
  readonly #workspace: string;
  readonly #home: string | undefined;
  readonly #log: Log;

  constructor(workspace: string, home: string | undefined, log: Log) {
    this.#workspace = workspace;
    this.#home = home;
    this.#log = log;
  }

  /** Writes a fault down. */
  note(doing: string, error: unknown): void {
    this.#log('error', `${doing} failed: ${told(error)}`);
  }

  /** Writes a fault down, and says why the call must not run, where it must not. */
  met(doing: string, error: unknown): string | undefined {
    this.note(doing, error);
    if (!isGoverned(this.#workspace) || letsFaultsPass(this.#workspace, this.#home)) return undefined;
    const remedy = 'nobody can be asked here, so it does not run: try again, or let a person run it';
    return `${doing} failed (${codeOf(error)}); so nothing is known about the call; ${remedy}`;
  }
}

function codeOf(error: unknown): string {
  return error instanceof TollgateError ? error.code : 'internal';
}

/** A fault in words. Causes are left out: they may quote what the call said. */
function told(error: unknown): string {
  return error instanceof Error ? `${codeOf(error)}: ${error.message}` : 'something that is not an error was thrown';
}
