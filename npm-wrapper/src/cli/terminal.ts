// The controlling terminal of the process. Standard input does not count, because any program can write to it.
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { readProcessStat } from './process_ancestry.js';

/** The most bytes that are read of an answer. A longer answer does not confirm. */
const MAX_ANSWER = 256;

/** An open terminal. */
export interface Terminal {
  input: number;
  output: number;
}

/** Opens the controlling terminal, if there is one and this process may read from it. */
export function openTerminal(): Terminal | undefined {
  const [input, output] = process.platform === 'win32' ? ['\\\\.\\CONIN$', '\\\\.\\CONOUT$'] : ['/dev/tty', '/dev/tty'];
  try {
    const terminal = { input: fs.openSync(input, 'r+'), output: fs.openSync(output, 'r+') };
    return isForeground() ? terminal : undefined;
  } catch {
    return undefined;
  }
}

/** Asks a question. Only `y` and `yes` confirm. */
export function askForConfirmation({ input, output }: Terminal, question: string): boolean {
  const answer = Buffer.alloc(MAX_ANSWER);
  try {
    fs.writeSync(output, `${question} [y/N] `);
    const said = answer.subarray(0, fs.readSync(input, answer)).toString().split('\n')[0] ?? '';
    return /^(y|yes)$/i.test(said.trim());
  } catch {
    return false;
  }
}

/** A background process that reads from its terminal is suspended, possibly forever. */
function isForeground(): boolean {
  if (process.platform === 'win32') return true;
  // The process group of this process, and the foreground group of its terminal.
  const [own, front] =
    process.platform === 'linux'
      ? [readProcessStat('self')?.fields[2], readProcessStat('self')?.fields[5]]
      : execFileSync('/bin/ps', ['-o', 'pgid=', '-o', 'tpgid=', '-p', String(process.pid)], { encoding: 'utf8' })
          .trim()
          .split(/\s+/);
  return own !== undefined && own === front;
}
