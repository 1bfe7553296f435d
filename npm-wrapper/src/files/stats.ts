// Converts file metadata to the facts that the contract defines.
import type { Kind, Marks } from '../../generated/interfaces/tollgate-hooks-workspace.js';
import type { StatResult } from './walk.js';

/** The facts about a file, as defined in the contract. */
export interface FileFacts {
  kind: Kind;
  hardLinks: number;
  marks: Marks;
  size: bigint;
}

const MAX_NAMES = 0xffff_ffffn;

const NO_MARKS: Marks = { device: 0n, inode: 0n, changedNs: 0n, modifiedNs: 0n };

export function fileFactsOf(found: StatResult): FileFacts {
  if (found === 'missing' || found === 'unreadable') return { kind: found, hardLinks: 0, marks: NO_MARKS, size: 0n };
  const kind = found.isFile() ? 'file' : found.isDirectory() ? 'directory' : 'other';
  const unsigned = (value: bigint) => BigInt.asUintN(64, value);
  return {
    kind,
    // A folder counts as one link; the link count of the file system means its subfolders.
    hardLinks: kind === 'directory' ? 1 : Number(found.nlink < MAX_NAMES ? found.nlink : MAX_NAMES),
    marks: { device: unsigned(found.dev), inode: unsigned(found.ino), changedNs: found.ctimeNs, modifiedNs: found.mtimeNs },
    size: kind === 'file' ? found.size : 0n,
  };
}
