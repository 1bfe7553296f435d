import * as fs from 'node:fs';
import { isRefusal } from './fault.js';
import { anchorOf, below, folding, isName, namesOf, pathOf, type Place, placeOf, slashed } from './path.js';

/** Links followed before a path counts as a circle; the kernel's own limit. */
const MOST_LINKS = 40;

/** What stood at the end of a walk. */
export type Found = fs.BigIntStats | 'missing' | 'unreadable';

/** Where a walk ended. */
export interface Walk {
  /** The absolute path with every link followed; none where it leads nowhere. */
  real: string | undefined;
  /** The same with the last name's own link not followed. */
  entry: string | undefined;
  /** What the link at `entry` says. */
  link: string | undefined;
  /** What stands at `real`. */
  found: Found;
}

/** Folders that were seen while one list of questions is answered: many paths lead through the same few. */
export type Folders = Set<string>;

const nowhere: Walk = { real: undefined, entry: undefined, link: undefined, found: 'missing' };
const linkText = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A path that is not plain: an empty name, `.` or `..`, or a character that no name has. */
const NOT_PLAIN = /(?:^|\/)\.{0,2}(?:\/|$)|\0/;

/** Walks paths as the operating system would, beginning at a folder whose own path has no links. */
export class Walker {
  readonly #place: Place;
  readonly #top: string;
  /** Folders that need no second look, where there are any. */
  readonly #known: Folders | undefined;

  /**
   * @param folder absolute, with every link followed already
   * @param isOwn whether nobody but the user can put links there, so that a folder below it stays one
   */
  constructor(
    readonly folder: string,
    isOwn = false,
  ) {
    this.#place = placeOf(folder);
    this.#top = folder.endsWith('/') ? folder : `${folder}/`;
    this.#known = isOwn ? new Set() : undefined;
  }

  /** Walks a path name by name: links where they stand, `..` after the link before it, missing names as they are. */
  walk(asked: string, folders?: Folders): Walk {
    return (folding ? undefined : this.#walkPlain(asked, folders)) ?? this.#walkAny(asked, folders);
  }

  /** Walks what most paths are: plain names below the folder, and no links. None for all others. */
  #walkPlain(asked: string, folders: Folders | undefined): Walk | undefined {
    const path = asked.startsWith(this.#top) ? asked.slice(this.#top.length) : asked;
    if (NOT_PLAIN.test(path)) return undefined;
    const real = this.#top + path;
    for (let end = path.indexOf('/'); end !== -1; end = path.indexOf('/', end + 1)) {
      const folder = this.#top + path.slice(0, end);
      if (this.#known?.has(folder) || folders?.has(folder)) continue;
      const seen = glance(folder);
      if (seen === 'missing' || seen === 'unreadable') return { real, entry: real, link: undefined, found: seen };
      if (!seen.isDirectory()) return undefined;
      (this.#known ?? folders)?.add(folder);
    }
    const found = look(real);
    if (found !== 'missing' && found !== 'unreadable') {
      if (found.isSymbolicLink()) return undefined;
      if (found.isDirectory()) folders?.add(real);
    }
    return { real, entry: real, link: undefined, found };
  }

  #walkAny(asked: string, folders: Folders | undefined): Walk {
    const path = slashed(asked);
    const start = this.#place;
    let anchor = anchorOf(path, start.anchor);
    let at: string[] = [];
    let ahead: string[];
    const inside = anchor === undefined ? path : below(this.folder, path);
    if (inside !== undefined) {
      // The folder's own names are known to be no links, so they need no look.
      at = [...start.names];
      anchor = start.anchor;
      ahead = namesOf(inside, undefined).reverse();
    } else {
      ahead = namesOf(path, anchor).reverse();
    }
    return follow(anchor ?? start.anchor, at, ahead, folders);
  }
}

/** @param ahead the names still to walk, last one first */
function follow(anchor: string, at: string[], ahead: string[], folders?: Folders): Walk {
  let links = 0;
  let entry: string | undefined;
  let link: string | undefined;
  let found: Found | undefined;
  // From this depth on nothing stands, or nothing can be seen, so there is nothing to look at.
  let unseen = Infinity;
  let unseenAs: Found = 'missing';
  for (let name = ahead.pop(); name !== undefined; name = ahead.pop()) {
    found = undefined;
    if (name === '..') {
      at.pop();
      if (at.length < unseen) unseen = Infinity;
      continue;
    }
    if (!isName(name)) return nowhere;
    at.push(name);
    if (at.length > unseen) continue;
    const here = pathOf(anchor, at);
    const last = ahead.length === 0;
    if (!last && folders?.has(here)) continue;
    const seen = last ? look(here) : glance(here);
    if (seen === 'missing' || seen === 'unreadable') {
      unseen = at.length;
      unseenAs = seen;
    } else if (seen.isSymbolicLink()) {
      links += 1;
      const target = links > MOST_LINKS ? undefined : linkTarget(here);
      if (last && entry === undefined) {
        entry = here;
        link = target;
      }
      if (target === undefined) return { real: undefined, entry: storedLink(entry), link, found: 'missing' };
      at.pop();
      const elsewhere = anchorOf(target, anchor);
      if (elsewhere !== undefined) {
        at.length = 0;
        anchor = elsewhere;
      }
      ahead.push(...namesOf(target, elsewhere).reverse());
    } else if (last) {
      found = seen as fs.BigIntStats;
      if (seen.isDirectory()) folders?.add(here);
    } else if (seen.isDirectory()) {
      folders?.add(here);
    } else {
      return nowhere;
    }
  }
  const end = pathOf(anchor, at);
  found ??= at.length >= unseen ? unseenAs : look(end);
  const real = stored(end, Math.min(unseen - 1, at.length), anchor, at);
  return { real, entry: entry === undefined ? real : storedLink(entry), link, found };
}

/** What stands at a path, with no link followed. */
export function look(path: string): Found {
  try {
    return fs.lstatSync(path, { bigint: true, throwIfNoEntry: false }) ?? 'missing';
  } catch (error) {
    return isRefusal(error) ? 'unreadable' : 'missing';
  }
}

/** As `look`, for names along the way: without the big numbers it is cheaper. */
function glance(path: string): fs.Stats | 'missing' | 'unreadable' {
  try {
    return fs.lstatSync(path, { throwIfNoEntry: false }) ?? 'missing';
  } catch (error) {
    return isRefusal(error) ? 'unreadable' : 'missing';
  }
}

/** Where a link points; none where that cannot be said in the contract's strings. */
export function linkTarget(path: string): string | undefined {
  try {
    return slashed(linkText.decode(fs.readlinkSync(path, { encoding: 'buffer' })));
  } catch {
    return undefined;
  }
}

/** The spelling that the file system keeps for the first `existing` names, where it does not tell case apart. */
function stored(path: string, existing: number, anchor: string, names: readonly string[]): string {
  if (!folding || existing <= 0) return path;
  try {
    const kept = placeOf(fs.realpathSync.native(pathOf(anchor, names.slice(0, existing))));
    return pathOf(kept.anchor, [...kept.names, ...names.slice(existing)]);
  } catch {
    return path;
  }
}

/** The stored spelling of a link's own path: asking for its real path would follow it. */
function storedLink(link: string | undefined): string | undefined {
  if (!folding || link === undefined) return link;
  const { anchor, names } = placeOf(link);
  const name = names.pop() ?? '';
  const parent = stored(pathOf(anchor, names), names.length, anchor, names);
  const same = (other: string) => other.normalize().toLowerCase() === name.normalize().toLowerCase();
  try {
    const present = fs.readdirSync(parent);
    const kept = present.includes(name) ? name : (present.find(same) ?? name);
    return `${parent.replace(/\/$/, '')}/${kept}`;
  } catch {
    return link;
  }
}
