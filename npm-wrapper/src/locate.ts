import { text, textBytes, wellFormed } from './json.js';
import { Guest } from './guest.js';
import { importsOf } from './imports.js';
import { slashed } from './path.js';
import { Anywhere } from './roots.js';
import { stateFolder } from './state.js';
import { systemRandom } from './wasi.js';

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
  { cwd = currentFolder(), home, state, variables: environment = process.env }: Surroundings = {},
): string | undefined {
  const name = text(program, 'program');
  const bytes = payload instanceof Uint8Array ? payload : typeof payload === 'string' ? textBytes(payload) : wellFormed(payload, 'payload');
  const guest = new Guest(importsOf(new Anywhere(home), () => {}, Date.now, systemRandom));
  return guest.call(({ programs }) => {
    const variables = programs.variables(name).flatMap((variable): [string, string][] => {
      const value = environment[variable];
      return value === undefined || value === '' ? [] : [[variable, value]];
    });
    return programs.locate(name, event, bytes, { cwd: slashed(cwd), state: slashed(stateFolder(home, state)), variables });
  });
}

/** The process's folder; that of all folders where it is gone. */
function currentFolder(): string {
  try {
    return process.cwd();
  } catch {
    return '/';
  }
}
