// `tollgate extensions`: lists, shows and checks extensions. The native command can also change them.
import { type Cell, count, escape, type Output, say } from './output.js';
import { ask, withGate, type OpenGate, CommandError } from './workspace.js';

const USAGE = `Usage: tollgate extensions list|show NAME|check [FOLDER] [--workspace DIR] [--home DIR] [--state DIR] [--json]

  list            List the extensions with their state and contents; exits with 1 if a manifest is not valid
  show NAME       Show one extension: everything that it provides, and its settings
  check [FOLDER]  Validate manifests; exits with 1 if one is not valid

The native \`tollgate\` also has enable, disable, approve, revoke, set and new.`;

interface ManifestFault {
  file: string;
  path: string;
  line: number;
  column: number;
  message: string;
}

interface Setting {
  name: string;
  required: boolean;
  value?: unknown;
  from?: string;
  fault?: string;
}

interface Extension {
  name: string;
  version?: string;
  description?: string;
  source: string;
  state: string;
  why?: string;
  folder: string;
  hooks?: string[];
  servers?: string[];
  skills?: string[];
  settings?: unknown[];
  components?: string[];
  digest?: string;
  problem?: string;
  shows?: { brings: string[]; files?: [string, string][] };
  faults?: ManifestFault[];
}

const KINDS = [
  ['hooks', 'hook'],
  ['servers', 'server'],
  ['skills', 'skill'],
  ['settings', 'setting'],
  ['components', 'component'],
] as const;

export function main(args: string[]): Promise<number> {
  return withGate(args, {}, USAGE, (opened, [command, ...words]) => {
    if (command === 'list' && words.length === 0) return list(opened);
    if (command === 'check' && words.length < 2) return check(opened, words[0]);
    if (command === 'show' && words[0] !== undefined && words.length === 1) return show(opened, words[0]);
    throw new CommandError(`invalid arguments\n${USAGE}`);
  });
}

function list({ gate, json, output }: OpenGate): boolean {
  const answer = ask(gate, { op: 'extensions', do: 'list' });
  const { extensions, faults } = answer as unknown as { extensions: Extension[]; faults: ManifestFault[] };
  if (json) output.line(JSON.stringify(answer));
  else if (extensions.length === 0 && faults.length === 0) {
    say('there are no extensions in `.tollgate/extensions/`, here or in your home folder');
  } else {
    const titles = ['NAME', 'VERSION', 'STATE', 'PROVIDES', 'FOLDER'].map((title): Cell => [title, 'bold']);
    if (extensions.length > 0) output.rows([titles, ...extensions.map(rowOf)]).forEach(output.line);
    for (const { name, state, why } of extensions)
      if (state !== 'invalid' && why !== undefined) output.line(`${escape(name)}: ${escape(why)}`);
    printFaults(faults, output);
  }
  return faults.length === 0;
}

function rowOf(extension: Extension): Cell[] {
  const { name, version = '', state, folder } = extension;
  const style = state === 'active' ? 'green' : state === 'disabled' ? 'dim' : state === 'invalid' ? 'red' : 'yellow';
  const counted = KINDS.map(([kind, one]) => [extension[kind]?.length ?? 0, one] as const).filter(([many]) => many > 0);
  const brings = counted.map(([many, one]) => count(many, one, `${one}s`)).join(', ');
  return [[name], [version], [state, style], [brings], [folder]];
}

function check({ gate, json, output }: OpenGate, folder: string | undefined): boolean {
  const answer = ask(gate, { op: 'extensions', do: 'check', path: folder ?? null });
  const { checked, faults } = answer as unknown as { checked: number; faults: ManifestFault[] };
  if (json) output.line(JSON.stringify(answer));
  else {
    printFaults(faults, output);
    output.line(`${count(checked, 'extension', 'extensions')}, ${count(faults.length, 'error', 'errors')}`);
  }
  return faults.length === 0;
}

function printFaults(faults: ManifestFault[], output: Output): void {
  for (const { file, path, line, column, message } of faults)
    output.line(`${escape(file)}:${line}:${column}: ${output.paint('red', 'error')}: \`${escape(path)}\` ${escape(message)}`);
}

function show({ gate, json, output }: OpenGate, name: string): boolean {
  const answer = ask(gate, { op: 'extensions', do: 'show', id: name });
  if (json) {
    output.line(JSON.stringify(answer));
    return true;
  }
  const {
    version = '',
    source,
    folder,
    state,
    why,
    description,
    shows,
    settings,
    digest,
    problem,
    faults,
  } = answer as unknown as Extension;
  output.line(`${output.paint('bold', escape(name))} ${escape(version)} (${source} extension, ${escape(folder)}): ${state}`);
  const row = (title: string, value = '') => {
    if (value !== '') output.line(`  ${title.padEnd(12)} ${escape(value)}`);
  };
  row('about', description);
  row('state', why);
  for (const line of shows?.brings ?? []) row('provides', line);
  for (const setting of (settings ?? []) as Setting[]) {
    const unset = setting.required ? 'not set, and required' : 'not set';
    const value = typeof setting.value === 'string' ? setting.value : JSON.stringify(setting.value);
    const from = setting.from === undefined || setting.from === 'none' ? '' : ` (${setting.from})`;
    row('set', `${setting.name} = ${value ?? unset}${from}`);
    row('problem', setting.fault);
  }
  for (const [file, of] of shows?.files?.slice(0, 20) ?? []) row('file', `${file} ${of}`);
  row('digest', digest);
  row('problem', problem);
  for (const fault of faults ?? [])
    row('error', `${fault.file}:${fault.line}:${fault.column}: \`${fault.path}\` ${fault.message}`);
  return true;
}
