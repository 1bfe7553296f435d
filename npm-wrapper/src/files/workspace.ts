// The import tollgate:hooks/workspace: reads files in the folders of the gate.
import type * as contract from '../../generated/interfaces/tollgate-hooks-workspace.js';
import { readBytes, digestOf, withFile } from './content.js';
import { FileFault, faultOf } from './fault.js';
import { listFolder } from './listing.js';
import type { LogSink } from '../component/log.js';
import type { Roots } from './roots.js';
import { fileFactsOf } from './stats.js';
import type { KnownFolders } from './walk.js';

type Root = contract.Root;

/** The import `tollgate:hooks/workspace`: reads files of the roots. */
export function workspaceImport(roots: Roots, log: LogSink): typeof contract {
  /** Calls `use` with the canonical path of something that may be read. */
  function withReadable<T>(root: Root, path: string, use: (real: string) => T): T {
    const { real, found } = roots.resolve(root, path);
    if (real === undefined) throw new FileFault('other');
    if (!roots.isReadable(root, real)) throw new FileFault('denied');
    if (found === 'missing') throw new FileFault('missing');
    if (found === 'unreadable') throw new FileFault('denied');
    try {
      return use(real);
    } catch (error) {
      throw faultOf(error, path, log);
    }
  }

  /** Like `withReadable`, for regular files. Nothing else is ever opened, because opening a pipe waits for its other end. */
  function withReadableFile<T>(root: Root, path: string, use: (descriptor: number, size: bigint) => T): T {
    return withReadable(root, path, (real) => withFile(real, use));
  }

  function factsOf({ root, path, digest }: contract.Question, folders: KnownFolders): contract.Facts {
    const { real, entry, link, found } = roots.resolve(root, path, folders);
    const facts: contract.Facts = fileFactsOf(found);
    if (real !== undefined) facts.realPath = roots.toGuestPath(real);
    if (entry !== undefined) facts.entryPath = roots.toGuestPath(entry);
    if (link !== undefined) facts.link = link;
    if (digest && real !== undefined && facts.kind === 'file' && roots.isInProject(real)) {
      try {
        facts.digest = digestOf(real);
      } catch (error) {
        log('debug', `\`${path}\` has no digest: ${error instanceof Error ? error.message : 'it is no longer a file'}`);
      }
    }
    return facts;
  }

  return {
    inspect: (questions) => {
      const folders: KnownFolders = new Set();
      return questions.map((question) => factsOf(question, folders));
    },

    read: (root, path, limitBytes) =>
      withReadableFile(root, path, (descriptor, size) => {
        if (size > limitBytes) throw new FileFault('too-large');
        return readBytes(descriptor, 0n, size);
      }),

    readRange: (root, path, offset, limitBytes) =>
      withReadableFile(root, path, (descriptor, size) => {
        const left = size > offset ? size - offset : 0n;
        return readBytes(descriptor, offset, left < limitBytes ? left : limitBytes);
      }),

    readTail: (root, path, limitBytes) =>
      withReadableFile(root, path, (descriptor, size) => {
        const length = size < limitBytes ? size : limitBytes;
        return { offset: size - length, bytes: readBytes(descriptor, size - length, length) };
      }),

    list: (root, directory, reach) => withReadable(root, directory, (real) => listFolder(real, reach)),
  };
}
