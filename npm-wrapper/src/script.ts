import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { bytesAt, withFile } from './content.js';
import { untilExit } from './process.js';
import type { Roots } from './roots.js';

/** No script is longer; what is, was put in its place. */
const MOST_BYTES = 64n << 20n;

/** A copy that nobody else can write. */
export interface Copy {
  file: string;
  discard: () => void;
}

/**
 * A private copy of a script of the workspace, if its bytes still have this digest.
 *
 * The copy is what runs, so what was checked is what runs, whoever writes to the workspace meanwhile.
 */
export function copyOf(roots: Roots, script: { path: string; digest: string }): Copy | undefined {
  const bytes = bytesOf(roots, script.path);
  if (bytes === undefined || `sha256:${createHash('sha256').update(bytes).digest('hex')}` !== script.digest) return undefined;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tollgate-script-'));
  const remove = () => fs.rmSync(folder, { recursive: true, force: true });
  const forget = untilExit(remove);
  const discard = () => {
    forget();
    remove();
  };
  try {
    const file = path.join(folder, path.posix.basename(script.path));
    // Written at once and on this thread: a program that another thread starts meanwhile would inherit the open file, and
    // the operating system runs no file that somebody may still write.
    fs.writeFileSync(file, bytes, { mode: 0o500, flag: 'wx' });
    return { file, discard };
  } catch (error) {
    discard();
    throw error;
  }
}

/** The file's bytes; none where no such file lies in the workspace. */
function bytesOf(roots: Roots, file: string): Uint8Array | undefined {
  const { real } = roots.walk('project', file);
  if (real === undefined || !roots.inProject(real)) return undefined;
  try {
    return withFile(real, (descriptor, size) => (size > MOST_BYTES ? undefined : bytesAt(descriptor, 0n, size)));
  } catch {
    return undefined;
  }
}
