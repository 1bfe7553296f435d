// Describes the parent processes and environment variables for the gate, which decides what they mean.
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';

/** At most this many parents are followed; a longer chain must be a cycle. */
const MAX_ANCESTORS = 64;

/** At most this many arguments of a process are reported; later ones do not identify it. */
const MAX_WORDS = 8;

/** Arguments are truncated to this length. */
const MAX_CHARS = 400;

/** The first major device number of pseudo-terminals. */
const PSEUDO_TERMINAL = 136;

/** A process, as it is reported to the gate. */
export interface AncestorProcess {
  id: number;
  name: string;
  words: string[];
}

interface ProcessDetails extends AncestorProcess {
  parent: number;
  /** The names of the variables in its environment. */
  variables: string[];
}

type FindProcess = (id: number) => ProcessDetails | undefined;

/** The parent processes and, if `withTerminal` is set, the processes at the other end of the terminal. */
export function describeAncestry(withTerminal: boolean): { above: AncestorProcess[]; variables: string[] } {
  const find = process.platform === 'linux' ? readProcess : newProcessLookup();
  const line = ancestorsOf(find, process.pid);
  for (const other of withTerminal && process.platform === 'linux' ? terminalOwners() : []) {
    const own = find(other);
    const known = new Set(line.map(({ id }) => id));
    line.push(...[...(own === undefined ? [] : [own]), ...ancestorsOf(find, other)].filter(({ id }) => !known.has(id)));
  }
  const variables = new Set([...Object.keys(process.env), ...line.flatMap((found) => found.variables)]);
  return { above: line.map(({ id, name, words }) => ({ id, name, words })), variables: [...variables].sort() };
}

/** The parents of a process, nearest first. */
function ancestorsOf(find: FindProcess, id: number): ProcessDetails[] {
  const line: ProcessDetails[] = [];
  for (
    let next = find(id)?.parent ?? 0;
    next !== 0 && line.length < MAX_ANCESTORS && !line.some(({ id: known }) => known === next);
  ) {
    const found = find(next);
    if (found === undefined) break;
    line.push(found);
    next = found.parent;
  }
  return line;
}

/** The name and the fields after it in `/proc/ID/stat`. A name can contain any character, including parentheses. */
export function readProcessStat(id: number | 'self'): { name: string; fields: string[] } | undefined {
  const text = read(`/proc/${id}/stat`);
  const [begin, end] = [text.indexOf('('), text.lastIndexOf(')')];
  return begin < 0 || end < begin
    ? undefined
    : {
        name: text.slice(begin + 1, end),
        fields: text
          .slice(end + 1)
          .trim()
          .split(/\s+/),
      };
}

function readProcess(id: number): ProcessDetails | undefined {
  const found = readProcessStat(id);
  if (found === undefined) return undefined;
  const words = read(`/proc/${id}/cmdline`).replace(/\0+$/, '').split('\0');
  const set = read(`/proc/${id}/environ`)
    .split('\0')
    .filter((variable) => variable.includes('='));
  const variables = set.map((variable) => variable.slice(0, variable.indexOf('=')));
  return { id, parent: Number(found.fields[1]), name: found.name, words: truncateWords(words), variables };
}

/** The processes that hold the other end of the terminal: a terminal emulator, or a program that simulates one. */
function terminalOwners(): number[] {
  const device = Number(readProcessStat('self')?.fields[4]);
  const [major, index] = [(device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xf_ff00)];
  if (major !== PSEUDO_TERMINAL) return [];
  const ids = namesIn('/proc').filter((name) => /^\d+$/.test(name));
  return ids.filter((id) => ownsTerminal(id, index)).map(Number);
}

/** Whether a process has the controlling end of a pseudo-terminal open. */
function ownsTerminal(id: string, index: number): boolean {
  return namesIn(`/proc/${id}/fd`).some((name) => {
    if (!/^\/dev\/(pts\/)?ptmx$/.test(linkTargetOf(`/proc/${id}/fd/${name}`))) return false;
    return read(`/proc/${id}/fdinfo/${name}`)
      .split('\n')
      .some((line) => /^tty-index:\s*(\d+)$/.exec(line)?.[1] === String(index));
  });
}

/** Reads a file of a process that may have ended or belong to another user, like the two functions below. */
function read(path: string): string {
  return valueOr(() => fs.readFileSync(path, 'utf8'), '');
}

function namesIn(path: string): string[] {
  return valueOr(() => fs.readdirSync(path), []);
}

function linkTargetOf(path: string): string {
  return valueOr(() => fs.readlinkSync(path), '');
}

function valueOr<T>(look: () => T, otherwise: T): T {
  try {
    return look();
  } catch {
    return otherwise;
  }
}

/** Reads the process list of the system, for systems without `/proc`. */
function newProcessLookup(): FindProcess {
  const all = new Map<number, ProcessDetails>();
  for (const line of listProcesses().split('\n')) {
    const [id, parent, ...words] = line.trim().split(/\s+/);
    if (words.length === 0 || !/^\d+$/.test(id ?? '') || !/^\d+$/.test(parent ?? '')) continue;
    const name = (words[0] ?? '').split('/').pop() ?? '';
    all.set(Number(id), { id: Number(id), parent: Number(parent), name, words: truncateWords(words), variables: [] });
  }
  return (id) => all.get(id);
}

function listProcesses(): string {
  const windows =
    'Get-CimInstance Win32_Process | ForEach-Object { "$($_.ProcessId) $($_.ParentProcessId) $($_.Name) $($_.CommandLine)" }';
  const [program = '', ...words] =
    process.platform === 'win32'
      ? ['powershell.exe', '-NoProfile', '-NonInteractive', '-Command', windows]
      : ['/bin/ps', '-axww', '-o', 'pid=', '-o', 'ppid=', '-o', 'command='];
  return valueOr(
    () => execFileSync(program, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 64 << 20 }),
    '',
  );
}

function truncateWords(words: string[]): string[] {
  return words.slice(0, MAX_WORDS).map((word) => word.slice(0, MAX_CHARS));
}
