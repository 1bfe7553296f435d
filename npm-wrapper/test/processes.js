// Inspects other processes.
import * as fs from 'node:fs';

/** Whether a process exists and has not ended. */
export function isAlive(pid) {
  try {
    return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
