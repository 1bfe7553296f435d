// Collects what the gate needs to know about agent programs: settings files, signs of an installation, commands on the search
// path.
//
// The gate cannot read the home folder, so this module reads the files and passes their content on.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { withSlashes, isWindows } from '../files/path.js';
import { homeFolder } from '../files/state.js';
import { type Answer, ask, type OpenGate } from './workspace.js';

/** Settings files are smaller than this. A bundled plugin may be larger; it is recognized by its name. */
const MAX_BYTES = 1 << 20;

/** At most this many files of a folder are read. */
const MAX_FILES = 200;

interface InspectionRequest {
  files: string[];
  folders: { path: string; endings: string[] }[];
  signs: string[];
  commands: string[];
}

/** The result, in the form the gate expects. */
export interface Inspection {
  files: Record<string, string | null | { fault: string }>;
  links: Record<string, string>;
  signs: string[];
  on_path: string[];
}

/** The folders, variables and platform. `home` is the home folder given on the command line. */
export function environmentOf({ gate, root }: OpenGate, home: string | undefined): Answer {
  const { variables } = ask(gate, { op: 'wiring', do: 'programs' }) as { variables?: string[] };
  const set = (variables ?? []).flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  const folder = home ?? homeFolder();
  return {
    workspace: withSlashes(root),
    start: withSlashes(realOf(process.cwd())),
    home: folder === undefined ? null : withSlashes(realOf(folder)),
    home_is_named: home !== undefined,
    variables: Object.fromEntries(set),
    windows: isWindows,
  };
}

/** Reads the files and looks up the commands that a request is about. */
export function inspect({ gate }: OpenGate, question: Answer): Inspection {
  const { files, folders, signs, commands } = ask(gate, { ...question, do: 'files' }) as unknown as InspectionRequest;
  const listed = folders.flatMap(({ path: folder, endings }) => filesIn(folder, endings));
  const paths = [...new Set([...files, ...listed])];
  const links = paths.flatMap((file) => {
    const real = withSlashes(realOf(file));
    return real === file ? [] : [[file, real]];
  });
  return {
    files: Object.fromEntries(paths.map((file) => [file, contentOf(file)])),
    links: Object.fromEntries(links),
    signs: signs.filter((sign) => fs.existsSync(sign)),
    on_path: commands.filter((name) => findOnPath(name) !== undefined),
  };
}

/** The text of a file, `null` if it does not exist, or the reason why it cannot be read. */
function contentOf(file: string): string | null | { fault: string } {
  try {
    if (fs.statSync(file).size > MAX_BYTES) return { fault: `it is longer than ${MAX_BYTES >> 20} MiB` };
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(fs.readFileSync(file));
  } catch (error) {
    return errorCodeOf(error) === 'ENOENT' ? null : { fault: error instanceof Error ? error.message : String(error) };
  }
}

/** The files in a folder whose names have one of these endings. */
function filesIn(folder: string, endings: string[]): string[] {
  try {
    const names = fs.readdirSync(folder).filter((name) => endings.some((ending) => name.endsWith(ending)));
    return names
      .sort()
      .slice(0, MAX_FILES)
      .map((name) => `${folder}/${name}`);
  } catch {
    return [];
  }
}

/** The canonical path of a file that may not exist. */
export function realOf(file: string): string {
  try {
    return fs.realpathSync.native(file);
  } catch {
    return path.resolve(file);
  }
}

/** The search path of agent programs: npm prepends package folders to it for commands that it runs. */
export function searchPath(): string {
  const all = process.env.PATH ?? '';
  if (process.env.npm_execpath === undefined) return all;
  const isAdded = (folder: string) => /[\\/](?:node_modules[\\/]\.bin|node-gyp-bin)[\\/]?$/.test(folder);
  return all
    .split(path.delimiter)
    .filter((folder) => !isAdded(folder))
    .join(path.delimiter);
}

/** Finds a program on the search path. */
export function findOnPath(program: string): string | undefined {
  const folders = searchPath()
    .split(path.delimiter)
    .filter((folder) => folder !== '');
  const names = isWindows ? [`${program}.exe`, `${program}.cmd`] : [program];
  return folders.flatMap((folder) => names.map((name) => path.join(folder, name))).find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

export function errorCodeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
