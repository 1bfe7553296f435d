// Which processes stand above this one, and which variables are set: facts for the gate, which knows what they mean.
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';

/** How far up is looked. A longer line of processes is a circle. */
const MAX_ABOVE = 64;

/** The first words of a process; those behind say nothing about what it is. */
const MAX_WORDS = 8;

/** A word is cut here. */
const MAX_CHARS = 400;

/** The first major number of pseudo-terminals. */
const PSEUDO_TERMINAL = 136;

/** A process, as the gate is told of it. */
export interface ProcessAbove {
  id: number;
  name: string;
  words: string[];
}

interface Found extends ProcessAbove {
  parent: number;
  /** The names of the variables that it was started with. */
  variables: string[];
}

type Find = (id: number) => Found | undefined;

/** What stands above this process and, where it matters, who stands at the other end of the terminal. */
export function surroundings(withTerminal: boolean): { above: ProcessAbove[]; variables: string[] } {
  const find = process.platform === 'linux' ? inProc : listed();
  const line = lineAbove(find, process.pid);
  for (const other of withTerminal && process.platform === 'linux' ? atOtherEnd() : []) {
    const own = find(other);
    const known = new Set(line.map(({ id }) => id));
    line.push(...[...(own === undefined ? [] : [own]), ...lineAbove(find, other)].filter(({ id }) => !known.has(id)));
  }
  const variables = new Set([...Object.keys(process.env), ...line.flatMap((found) => found.variables)]);
  return { above: line.map(({ id, name, words }) => ({ id, name, words })), variables: [...variables].sort() };
}

/** The processes above one, the nearest first. */
function lineAbove(find: Find, id: number): Found[] {
  const line: Found[] = [];
  for (
    let next = find(id)?.parent ?? 0;
    next !== 0 && line.length < MAX_ABOVE && !line.some(({ id: known }) => known === next);
  ) {
    const found = find(next);
    if (found === undefined) break;
    line.push(found);
    next = found.parent;
  }
  return line;
}

/** A process's own account of itself: its name, and the numbers behind it. A name may hold anything, brackets included. */
export function stat(id: number | 'self'): { name: string; fields: string[] } | undefined {
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

function inProc(id: number): Found | undefined {
  const found = stat(id);
  if (found === undefined) return undefined;
  const words = read(`/proc/${id}/cmdline`).replace(/\0+$/, '').split('\0');
  const set = read(`/proc/${id}/environ`)
    .split('\0')
    .filter((variable) => variable.includes('='));
  const variables = set.map((variable) => variable.slice(0, variable.indexOf('=')));
  return { id, parent: Number(found.fields[1]), name: found.name, words: cut(words), variables };
}

/** The processes at the other end of this one's terminal: a terminal's window, or a program that plays one. */
function atOtherEnd(): number[] {
  const device = Number(stat('self')?.fields[4]);
  const [major, index] = [(device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xf_ff00)];
  if (major !== PSEUDO_TERMINAL) return [];
  const ids = names('/proc').filter((name) => /^\d+$/.test(name));
  return ids.filter((id) => holds(id, index)).map(Number);
}

/** Whether a process has the other end of a pseudo-terminal open. */
function holds(id: string, index: number): boolean {
  return names(`/proc/${id}/fd`).some((name) => {
    if (!/^\/dev\/(pts\/)?ptmx$/.test(link(`/proc/${id}/fd/${name}`))) return false;
    return read(`/proc/${id}/fdinfo/${name}`)
      .split('\n')
      .some((line) => /^tty-index:\s*(\d+)$/.exec(line)?.[1] === String(index));
  });
}

/** A file of a process that may be gone, or somebody else's; the same holds for the two below. */
function read(path: string): string {
  return tried(() => fs.readFileSync(path, 'utf8'), '');
}

function names(path: string): string[] {
  return tried(() => fs.readdirSync(path), []);
}

function link(path: string): string {
  return tried(() => fs.readlinkSync(path), '');
}

function tried<T>(look: () => T, otherwise: T): T {
  try {
    return look();
  } catch {
    return otherwise;
  }
}

/** What the system's own list of processes says, for systems without `/proc`. */
function listed(): Find {
  const all = new Map<number, Found>();
  for (const line of list().split('\n')) {
    const [id, parent, ...words] = line.trim().split(/\s+/);
    if (words.length === 0 || !/^\d+$/.test(id ?? '') || !/^\d+$/.test(parent ?? '')) continue;
    const name = (words[0] ?? '').split('/').pop() ?? '';
    all.set(Number(id), { id: Number(id), parent: Number(parent), name, words: cut(words), variables: [] });
  }
  return (id) => all.get(id);
}

function list(): string {
  const windows =
    'Get-CimInstance Win32_Process | ForEach-Object { "$($_.ProcessId) $($_.ParentProcessId) $($_.Name) $($_.CommandLine)" }';
  const [program = '', ...words] =
    process.platform === 'win32'
      ? ['powershell.exe', '-NoProfile', '-NonInteractive', '-Command', windows]
      : ['/bin/ps', '-axww', '-o', 'pid=', '-o', 'ppid=', '-o', 'command='];
  return tried(
    () => execFileSync(program, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 64 << 20 }),
    '',
  );
}

function cut(words: string[]): string[] {
  return words.slice(0, MAX_WORDS).map((word) => word.slice(0, MAX_CHARS));
}
