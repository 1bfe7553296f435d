import * as fs from 'node:fs';
import * as path from 'node:path';
import { TollgateError } from '../index.js';
import type { Log } from './log.js';

/**
 * What becomes of a call when the gate itself fails.
 *
 * A gate that answers says so itself, with the code `gate_fault`. This is for a gate that does not answer at all: the call
 * runs, unless the workspace is governed and its settings are strict.
 */
export class Faults {
  readonly #workspace: string;
  readonly #log: Log;
  #strict = false;

  constructor(workspace: string, log: Log) {
    this.#workspace = workspace;
    this.#log = log;
    this.#look();
  }

  /** Writes a fault down. */
  note(doing: string, error: unknown): void {
    this.#log('error', `${doing} failed: ${told(error)}`);
  }

  /** Writes a fault down, and says why the call must not run, where it must not. */
  met(doing: string, error: unknown): string | undefined {
    this.note(doing, error);
    this.#look();
    if (!this.#strict || !fs.existsSync(path.join(this.#workspace, '.orchestration'))) return undefined;
    const remedy = 'try again, or have a person look at the log';
    return `${doing} failed (${codeOf(error)}); the settings are strict, so the call does not run; ${remedy}`;
  }

  /** Settings that cannot be used leave the last good ones in force. */
  #look(): void {
    try {
      const text = fs.readFileSync(path.join(this.#workspace, '.tollgate', 'config.json'), 'utf8');
      this.#strict = (JSON.parse(text) as { strict?: unknown } | null)?.strict === true;
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') this.#strict = false;
    }
  }
}

function codeOf(error: unknown): string {
  return error instanceof TollgateError ? error.code : 'internal';
}

/** A fault in words. Causes are left out: they may quote what the call said. */
function told(error: unknown): string {
  return error instanceof Error ? `${codeOf(error)}: ${error.message}` : 'something that is no error was thrown';
}
