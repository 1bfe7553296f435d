// The import tollgate:hooks/records: writes the gate's own files.
import * as fs from 'node:fs';
import type * as contract from '../../generated/interfaces/tollgate-hooks-records.js';
import { CAUTIOUS_FLAGS, digestOf } from './content.js';
import { errnoOf, FileFault, faultOf } from './fault.js';
import type { LogSink } from '../component/log.js';
import type { Roots } from './roots.js';
import { statPath } from './walk.js';

const { O_APPEND, O_CREAT, O_EXCL, O_WRONLY } = fs.constants;

/** Error codes that mean that the file system does not support hard links. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/** The number of temporary files this process has created. */
let temporaryCount = 0;

/** The target of a write. */
interface Target {
  path: string;
  folder: string;
  /** Creates the folder of the file. */
  makeFolder: () => void;
  name: string;
  mode: number;
  /** What exists at the path. */
  existing: 'nothing' | 'file' | 'something else';
}

/** The import `tollgate:hooks/records`: writes the gate's own files. */
export function recordsImport(roots: Roots, log: LogSink): typeof contract {
  /** Calls `use` if the path may be written, after following links. */
  function withTarget(root: contract.Root, path: string, use: (target: Target) => void): void {
    const { real, found } = roots.resolve(root, path);
    if (real === undefined) throw new FileFault('other');
    if (!roots.isWritable(root, real) || found === 'unreadable') throw new FileFault('denied');
    const existing = found === 'missing' ? 'nothing' : found.isFile() ? 'file' : 'something else';
    const cut = real.lastIndexOf('/');
    const mode = roots.isPrivate(root, real) ? 0o600 : 0o666;
    const folder = real.slice(0, cut);
    const makeFolder = () => roots.makeFolder(root, folder);
    try {
      use({ path: real, folder, makeFolder, name: real.slice(cut + 1), mode, existing });
    } catch (error) {
      throw faultOf(error, path, log);
    }
  }

  return {
    append: (root, path, bytes) =>
      withTarget(root, path, (target) => {
        if (target.existing === 'something else') throw new FileFault('other');
        const flags = O_WRONLY | O_APPEND | O_CREAT | CAUTIOUS_FLAGS;
        const descriptor = retryInNewFolder(target, () => fs.openSync(target.path, flags, target.mode));
        try {
          // A single write, so that lines appended by others cannot end up in the middle of this one.
          if (fs.writeSync(descriptor, bytes) < bytes.byteLength) throw new FileFault('full');
        } finally {
          fs.closeSync(descriptor);
        }
      }),

    replace: (root, path, bytes, expected) =>
      withTarget(root, path, (target) => {
        if (expected.tag === 'absent' && target.existing !== 'nothing') throw new FileFault('exists');
        if (expected.tag === 'digest' && target.existing !== 'file') throw new FileFault('changed');
        if (target.existing === 'something else') throw new FileFault('other');
        const temporary = writeTemporary(target, bytes);
        try {
          if (expected.tag === 'absent') {
            linkInto(temporary, target.path);
            return;
          }
          if (expected.tag === 'digest' && currentDigest(target.path) !== expected.val) throw new FileFault('changed');
          fs.renameSync(temporary, target.path);
        } catch (error) {
          fs.rmSync(temporary, { force: true });
          throw error;
        }
      }),

    remove: (root, path) =>
      withTarget(root, path, (target) => {
        fs.unlinkSync(target.path);
      }),
  };
}

/** Calls `make`, and again after creating the folder if it did not exist. */
function retryInNewFolder<T>(target: Target, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
    target.makeFolder();
    return make();
  }
}

/** Writes a temporary file next to the target and returns its path. */
function writeTemporary(target: Target, bytes: Uint8Array): string {
  const [temporary, descriptor] = retryInNewFolder(target, () => createTemporary(target));
  try {
    try {
      for (let done = 0; done < bytes.byteLength; ) done += fs.writeSync(descriptor, bytes, done);
    } finally {
      fs.closeSync(descriptor);
    }
    return temporary;
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw error;
  }
}

/** A killed process with the same id may have left a file with this name, so existing names are skipped. */
function createTemporary({ folder, name, mode }: Target): [string, number] {
  for (;;) {
    temporaryCount += 1;
    const path = `${folder}/.${name}.${process.pid}-${temporaryCount}.tmp`;
    try {
      return [path, fs.openSync(path, O_WRONLY | O_CREAT | O_EXCL | CAUTIOUS_FLAGS, mode)];
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error;
    }
  }
}

/** Gives a finished file its name and fails if the name exists. A hard link, because a rename would replace the file. */
function linkInto(temporary: string, path: string): void {
  try {
    fs.linkSync(temporary, path);
  } catch (error) {
    if (!NO_LINKS.has(errnoOf(error) ?? '')) throw error;
    fs.copyFileSync(temporary, path, fs.constants.COPYFILE_EXCL);
  }
  try {
    fs.unlinkSync(temporary);
  } catch {
    // The file has its name; what remains of the temporary one is not part of the state.
  }
}

/** The digest of the current file, if it exists. */
function currentDigest(path: string): string | undefined {
  return statPath(path) === 'missing' ? undefined : digestOf(path);
}
