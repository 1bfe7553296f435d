import { Guest } from '../component/guest.js';
import { importsOf } from '../component/imports.js';
import { payloadBytes, text } from '../component/json.js';
import { slashed } from '../files/path.js';
import { Anywhere } from '../files/roots.js';
import { stateFolder } from '../files/state.js';
import { systemRandom } from '../component/wasi.js';

/** Where a program's payload was heard. */
export interface Surroundings {
  /** The current folder; the process's own where none is named. */
  cwd?: string | undefined;
  /** The home folder, as the gate's option `home`. */
  home?: string | undefined;
  /** As the gate's option `state`. */
  state?: string | undefined;
  /** The environment; the process's own where none is named. */
  variables?: Readonly<Record<string, string | undefined>> | undefined;
}

/**
 * The workspace that governs what a program's payload tells of; none where nothing does. A gate on it answers the payload.
 *
 * @param program such as `claude-code` or `opencode`
 * @param event the event's name, where the payload does not tell it
 * @param payload JSON: its bytes, its text, or what it is the text of
 */
export function locate(
  program: string,
  event: string | undefined,
  payload: Uint8Array | string | object,
  surroundings: Surroundings = {},
): string | undefined {
  return new Locator(surroundings).locate(text(program, 'program'), event, payloadBytes(payload));
}

/** @internal What can be asked of the component before there is a gate. */
export class Locator {
  readonly #surroundings: Surroundings;
  readonly #guest: Guest;

  constructor(surroundings: Surroundings = {}) {
    this.#surroundings = surroundings;
    this.#guest = new Guest(importsOf(new Anywhere(surroundings.home), () => {}, Date.now, systemRandom));
  }

  /** The programs that the gate speaks to. */
  names(): string[] {
    return this.#guest.call(({ programs }) => programs.names());
  }

  /** What a program reads where nothing governs it. */
  silence(program: string): string {
    return this.#guest.call(({ programs }) => programs.silence(program));
  }

  locate(program: string, event: string | undefined, payload: Uint8Array): string | undefined {
    const { cwd = currentFolder(), home, state, variables: environment = process.env } = this.#surroundings;
    return this.#guest.call(({ programs }) => {
      const variables = programs.variables(program).flatMap((name): [string, string][] => {
        const value = environment[name];
        return value === undefined || value === '' ? [] : [[name, value]];
      });
      return programs.locate(program, event, payload, { cwd: slashed(cwd), state: slashed(stateFolder(home, state)), variables });
    });
  }
}

/** The process's folder; the one of all folders where it is gone. */
function currentFolder(): string {
  try {
    return process.cwd();
  } catch {
    return '/';
  }
}
