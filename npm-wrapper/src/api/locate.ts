// Finds the workspace that governs a payload of an agent program, and the one that a command is for.
import * as path from 'node:path';
import { Guest } from '../component/guest.js';
import { importsOf } from '../component/imports.js';
import { parseBytes, payloadBytes, requireString, toBytes } from '../component/json.js';
import { withSlashes } from '../files/path.js';
import { RootsWithoutWorkspace } from '../files/roots.js';
import { homeFolder, stateFolder } from '../files/state.js';
import { systemRandom } from '../component/wasi.js';

/** The environment in which a payload was received. */
export interface Surroundings {
  /** The current folder. Default: that of the process. */
  cwd?: string | undefined;
  /** The home folder, as in the gate's option `home`. */
  home?: string | undefined;
  /** The state folder, as in the gate's option `state`. */
  state?: string | undefined;
  /** The environment variables. Default: those of the process. */
  variables?: Readonly<Record<string, string | undefined>> | undefined;
}

/**
 * Finds the workspace that governs a payload of an agent program, if any. A gate for it can answer the payload.
 *
 * @param program such as `claude-code` or `opencode`
 * @param event the event, if the payload does not name it
 * @param payload JSON, as bytes, text or a value
 */
export function locate(
  program: string,
  event: string | undefined,
  payload: Uint8Array | string | object,
  surroundings: Surroundings = {},
): string | undefined {
  return new Locator(surroundings).locate(requireString(program, 'program'), event, payloadBytes(payload));
}

/** @internal Answers requests that do not need a workspace. */
export class Locator {
  readonly #surroundings: Surroundings;
  readonly #guest: Guest;

  constructor(surroundings: Surroundings = {}) {
    this.#surroundings = surroundings;
    this.#guest = new Guest(importsOf(new RootsWithoutWorkspace(surroundings.home), () => {}, Date.now, systemRandom, {}));
  }

  /** The agent programs that the gate can answer. */
  names(): string[] {
    return this.#guest.call(({ programs }) => programs.names());
  }

  /** The answer that a program expects in a folder that is not governed. */
  silence(program: string): string {
    return this.#guest.call(({ programs }) => programs.silence(program));
  }

  /** The workspace that a command in a folder is for, or why there is none. */
  findWorkspace(cwd: string): { workspace: string } | { workspace: null; why: string } {
    const home = this.#surroundings.home ?? homeFolder();
    const line = {
      op: 'find-workspace',
      cwd: withSlashes(cwd),
      home: home === undefined ? null : withSlashes(path.resolve(home)),
    };
    const answer = this.#guest.call(({ operations }) => operations.perform(toBytes(line, 'cwd')));
    return parseBytes(answer) as ReturnType<Locator['findWorkspace']>;
  }

  locate(program: string, event: string | undefined, payload: Uint8Array): string | undefined {
    const { cwd = currentFolder(), home, state, variables: environment = process.env } = this.#surroundings;
    return this.#guest.call(({ programs }) => {
      const variables = programs.variables(program).flatMap((name): [string, string][] => {
        const value = environment[name];
        return value === undefined || value === '' ? [] : [[name, value]];
      });
      return programs.locate(program, event, payload, {
        cwd: withSlashes(cwd),
        state: withSlashes(stateFolder(home, state)),
        variables,
      });
    });
  }
}

/** The current folder of the process, or the root folder if it no longer exists. */
function currentFolder(): string {
  try {
    return process.cwd();
  } catch {
    return '/';
  }
}
