import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';

/** A process that stands above this one: facts for the gate, which knows what they mean. */
export interface ProcessAbove {
  id: number;
  name: string;
  words: string[];
}

/** How far up is looked. A longer line of processes is a circle. */
const MAX_ABOVE = 64;

/** The first words of a process; those behind say nothing about what it is. */
const MAX_WORDS = 8;

/** A word is cut here. */
const MAX_CHARS = 400;

interface Found extends ProcessAbove {
  parent: number;
  variables: string[];
}

/** Which processes stand above this one, and which variables are set, here or there. */
export function above(): { above: ProcessAbove[]; variables: string[] } {
  const find = process.platform === 'linux' ? inProc : listed();
  const line: ProcessAbove[] = [];
  const variables = new Set(Object.keys(process.env));
  for (let next = process.ppid; next !== 0 && line.length < MAX_ABOVE; ) {
    const found = find(next);
    if (found === undefined || line.some(({ id }) => id === next)) break;
    const { id, name, words, parent } = found;
    line.push({ id, name, words });
    for (const variable of found.variables) variables.add(variable);
    next = parent;
  }
  return { above: line, variables: [...variables].sort() };
}

function inProc(id: number): Found | undefined {
  const stat = text(`/proc/${id}/stat`);
  // A name may hold anything, brackets included.
  const [begin, end] = [stat.indexOf('('), stat.lastIndexOf(')')];
  if (begin < 0 || end < begin) return undefined;
  const parent = Number(stat.slice(end + 1).trim().split(/\s+/)[1]);
  const words = text(`/proc/${id}/cmdline`).replace(/\0+$/, '').split('\0');
  const variables = text(`/proc/${id}/environ`).split('\0').filter((set) => set.includes('=')).map((set) => set.slice(0, set.indexOf('=')));
  return { id, parent, name: stat.slice(begin + 1, end), words: cut(words), variables };
}

/** A file of a process that may be gone, or somebody else's. */
function text(path: string): string {
  try {
    return fs.readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** What the system's own list of processes says, for systems without `/proc`. */
function listed(): (id: number) => Found | undefined {
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
  const windows = 'Get-CimInstance Win32_Process | ForEach-Object { "$($_.ProcessId) $($_.ParentProcessId) $($_.Name) $($_.CommandLine)" }';
  const [program, words] =
    process.platform === 'win32'
      ? ['powershell.exe', ['-NoProfile', '-NonInteractive', '-Command', windows]]
      : ['/bin/ps', ['-axww', '-o', 'pid=', '-o', 'ppid=', '-o', 'command=']];
  try {
    return execFileSync(program as string, words as string[], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 64 << 20 });
  } catch {
    return '';
  }
}

function cut(words: string[]): string[] {
  return words.slice(0, MAX_WORDS).map((word) => word.slice(0, MAX_CHARS));
}
