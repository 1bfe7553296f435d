// Lists folders.
import * as fs from 'node:fs';
import type { Listing, Reach } from '../../generated/interfaces/tollgate-hooks-workspace.js';
import { errnoOf } from './fault.js';
import { fileFactsOf } from './stats.js';
import { type StatResult, linkTarget, statPath } from './walk.js';

/** One step while listing a folder: report an entry, or list a subfolder. */
interface ListingStep {
  key: string;
  name: string;
  /** What to report; missing for the step that lists the subfolder. */
  found?: fs.BigIntStats;
}

/**
 * This many more names than the limit are looked up in one folder, so that the first ones in order are listed even if there are a few
 * too many. A folder may contain millions. `host-test/src/files/listing.rs` has the same number.
 */
const SURPLUS_NAMES = 10_000;

/** The characters that names may contain in place of invalid Unicode. */
const UNCERTAIN = /[\uD800-\uDFFF\uFFFD]/;

/** Characters that sort differently in UTF-16 and in UTF-8. */
const SORTS_DIFFERENTLY = /[\uD800-\uFFFF]/;

const nameText = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Lists the entries below a folder, sorted bytewise by path. */
export function listFolder(folder: string, reach: Reach): Listing {
  const skip = new Set(reach.skip);
  const listing: Listing = { entries: [], truncated: false };
  const top = folder.endsWith('/') ? folder : `${folder}/`;
  let hasMore = false;
  if (reach.depth > 0) visit('', reach.depth, stepsIn('', reach.depth > 1));
  // Names that were listed may be gone by now.
  listing.truncated ||= hasMore;
  return listing;

  function visit(prefix: string, depth: number, steps: ListingStep[]): void {
    for (const { name, found } of steps) {
      if (listing.truncated) return;
      const path = prefix + name;
      if (found === undefined) {
        visit(`${path}/`, depth - 1, readableSteps(`${path}/`, depth > 2));
      } else if (listing.entries.length >= reach.limit) {
        listing.truncated = true;
      } else {
        const { kind, hardLinks, marks, size } = fileFactsOf(found);
        const link = found.isSymbolicLink() ? linkTarget(top + path) : undefined;
        listing.entries.push({ path, kind, hardLinks, marks, size, ...(link !== undefined && { link }) });
      }
    }
  }

  /** A folder that cannot be read is reported but not listed. */
  function readableSteps(prefix: string, deeper: boolean): ListingStep[] {
    try {
      return stepsIn(prefix, deeper);
    } catch {
      listing.unseen ??= prefix;
      return [];
    }
  }

  /**
   * The steps for a folder, in order.
   *
   * A folder `a` is reported as `a` and listed as `a/`. So `a-b`, whose `-` sorts before `/`, comes between the two, as it does
   * when full paths are sorted.
   */
  function stepsIn(prefix: string, deeper: boolean): ListingStep[] {
    const folder = top + prefix;
    const steps: ListingStep[] = [];
    let isPlain = true;
    let isSorted = true;
    let last = '';
    const add = (step: ListingStep): void => {
      isSorted &&= last < step.key;
      last = step.key;
      steps.push(step);
    };
    const names = namesIn(folder, prefix);
    const max = reach.limit + SURPLUS_NAMES;
    hasMore ||= names.length > max;
    for (const name of names.slice(0, max)) {
      isPlain &&= !SORTS_DIFFERENTLY.test(name);
      const found = statListed(folder + name);
      // The entry was removed in the meantime.
      if (found === 'missing') continue;
      if (found === 'unreadable') {
        listing.unseen ??= prefix + name;
        continue;
      }
      add({ key: name, name, found });
      if (deeper && found.isDirectory() && !skip.has(name)) add({ key: `${name}/`, name });
    }
    // Most systems list names in order.
    if (isPlain && isSorted) return steps;
    return steps.sort((one, other) => (isPlain ? compare(one.key, other.key) : compareBytes(one.key, other.key)));
  }

  /** The names in a folder that are UTF-8. */
  function namesIn(folder: string, prefix: string): string[] {
    const names = fs.readdirSync(folder);
    if (!names.some((name) => UNCERTAIN.test(name))) return names;
    // Without file types, because Bun does not return names as bytes together with types.
    return fs.readdirSync(folder, { encoding: 'buffer' }).flatMap((bytes) => {
      const name = decodeName(bytes);
      if (name === undefined) listing.unseen ??= prefix + bytes.toString();
      return name ?? [];
    });
  }
}

/** What exists under a listed name. If it cannot be looked up, it is unreadable, unless it no longer exists. */
function statListed(path: string): StatResult {
  const found = statPath(path);
  if (found !== 'missing') return found;
  try {
    fs.lstatSync(path);
    return statPath(path);
  } catch (error) {
    return errnoOf(error) === 'ENOENT' ? 'missing' : 'unreadable';
  }
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function compareBytes(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

/** Names that are not UTF-8 cannot be represented in the contract's strings. */
function decodeName(name: Buffer): string | undefined {
  try {
    return nameText.decode(name);
  } catch {
    return undefined;
  }
}
