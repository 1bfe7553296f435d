import * as fs from 'node:fs';
import type { Listing, Reach } from '../../generated/interfaces/tollgate-hooks-workspace.js';
import { lookOf } from './stats.js';
import { type Found, linkTarget, look } from './walk.js';

/** One thing to do in a folder: tell of a child, or go into it. */
interface Step {
  key: Buffer;
  name: string;
  /** What to tell; none where the child is to be entered. */
  found?: Found;
}

const SLASH = Buffer.from('/');
const nameText = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The names below a folder, sorted by their whole path, byte by byte. */
export function listingOf(folder: string, reach: Reach): Listing {
  const skip = new Set(reach.skip);
  const listing: Listing = { entries: [], truncated: false };
  const top = folder.endsWith('/') ? folder : `${folder}/`;
  if (reach.depth > 0) visit('', reach.depth, stepsIn('', reach.depth > 1));
  return listing;

  function visit(prefix: string, depth: number, steps: Step[]): void {
    for (const { name, found } of steps) {
      if (listing.truncated) return;
      const path = prefix + name;
      if (found === undefined) {
        visit(`${path}/`, depth - 1, readable(`${path}/`, depth > 2));
      } else if (listing.entries.length >= reach.limit) {
        listing.truncated = true;
      } else {
        const { kind, hardLinks, marks, size } = lookOf(found);
        const isLink = found !== 'missing' && found !== 'unreadable' && found.isSymbolicLink();
        const link = isLink ? linkTarget(top + path) : undefined;
        listing.entries.push({ path, kind, hardLinks, marks, size, ...(link !== undefined && { link }) });
      }
    }
  }

  /** A folder that cannot be entered is told of and stays closed. */
  function readable(prefix: string, deeper: boolean): Step[] {
    try {
      return stepsIn(prefix, deeper);
    } catch {
      listing.unseen ??= prefix;
      return [];
    }
  }

  /**
   * What to do in a folder, in order.
   *
   * A folder `a` is told of as `a` and entered as `a/`: so `a-b`, whose `-` sorts before `/`, comes between the two, just
   * as it does when whole paths are sorted.
   */
  function stepsIn(prefix: string, deeper: boolean): Step[] {
    const folder = top + prefix;
    const steps: Step[] = [];
    // Without file types, because Bun gives no bytes along with those.
    for (const key of fs.readdirSync(folder, { encoding: 'buffer' })) {
      const name = decoded(key);
      if (name === undefined) {
        listing.unseen ??= prefix + key.toString();
        continue;
      }
      const found = look(folder + name);
      // What has gone since is no name any more.
      if (found === 'missing') continue;
      if (found === 'unreadable') listing.unseen ??= prefix + name;
      steps.push({ key, name, found });
      const isFolder = found !== 'unreadable' && found.isDirectory();
      if (deeper && isFolder && !skip.has(name)) steps.push({ key: Buffer.concat([key, SLASH]), name });
    }
    return steps.sort((one, other) => Buffer.compare(one.key, other.key));
  }
}

/** A name that is no UTF-8 cannot be said in the contract's strings. */
function decoded(name: Buffer): string | undefined {
  try {
    return nameText.decode(name);
  } catch {
    return undefined;
  }
}
