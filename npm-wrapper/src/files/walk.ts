import * as fs from 'node:fs';
import { isRefusal } from './fault.js';
import { anchorOf, below, folding, isName, namesOf, pathOf, type Place, placeOf, slashed } from './path.js';

/** A path with more links than this is treated as a cycle, as in the kernel. */
const MAX_LINKS = 40;

/** What exists at the end of a path. */
export type Found = fs.BigIntStats | 'missing' | 'unreadable';

/** The result of resolving a path. */
export interface Walk {
  /** The absolute path with every link followed; `undefined` if it cannot be resolved. */
  real: string | undefined;
  /** The absolute path without following a link in the last name. */
  entry: string | undefined;
  /** The target of the link at `entry`. */
  link: string | undefined;
  /** What exists at `real`. */
  found: Found;
}

/** Folders that are known to exist while one list of questions is answered: many paths share the same few folders. */
export type Folders = Set<string>;

const nowhere: Walk = { real: undefined, entry: undefined, link: undefined, found: 'missing' };
const linkText = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A path that is not plain: it contains an empty name, `.` or `..`, or an invalid character. */
const NOT_PLAIN = /(?:^|\/)\.{0,2}(?:\/|$)|\0/;

/** Resolves paths like the operating system does, relative to a folder whose own path contains no links. */
export class Walker {
  readonly #place: Place;
  readonly #top: string;
  /** Folders that need not be looked up again, if there are any. */
  readonly #known: Folders | undefined;

  /**
   * @param folder a canonical absolute path
   * @param isOwn whether only the user can create links there, so that a folder in it stays a folder
   */
  constructor(
    readonly folder: string,
    isOwn = false,
  ) {
    this.#place = placeOf(folder);
    this.#top = folder.endsWith('/') ? folder : `${folder}/`;
    this.#known = isOwn ? new Set() : undefined;
  }

  /**
   * Resolves a path name by name: follows links where they occur, applies `..` after the preceding link, and keeps missing names.
   */
  walk(asked: string, folders?: Folders): Walk {
    return (folding ? undefined : this.#walkPlain(asked, folders)) ?? this.#walkAny(asked, folders);
  }

  /** Resolves the common case, plain names below the folder without links; `undefined` for others. */
  #walkPlain(asked: string, folders: Folders | undefined): Walk | undefined {
    const path = asked.startsWith(this.#top) ? asked.slice(this.#top.length) : asked;
    if (NOT_PLAIN.test(path)) return undefined;
    const real = this.#top + path;
    for (let end = path.indexOf('/'); end !== -1; end = path.indexOf('/', end + 1)) {
      const folder = this.#top + path.slice(0, end);
      if (this.#known?.has(folder) || folders?.has(folder)) continue;
      const seen = lookBriefly(folder);
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
      // The folder's own path contains no links, so it needs no lookup.
      at = [...start.names];
      anchor = start.anchor;
      ahead = namesOf(inside, undefined).reverse();
    } else {
      ahead = namesOf(path, anchor).reverse();
    }
    return follow(anchor ?? start.anchor, at, ahead, folders);
  }
}

/** @param ahead the remaining names in reverse order */
function follow(anchor: string, at: string[], ahead: string[], folders?: Folders): Walk {
  let links = 0;
  let entry: string | undefined;
  let link: string | undefined;
  let found: Found | undefined;
  // Nothing exists or is accessible from this depth on, so there is nothing to look up.
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
    const seen = last ? look(here) : lookBriefly(here);
    if (seen === 'missing' || seen === 'unreadable') {
      unseen = at.length;
      unseenAs = seen;
    } else if (seen.isSymbolicLink()) {
      links += 1;
      const target = links > MAX_LINKS ? undefined : linkTarget(here);
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

/** What exists at a path, without following links. */
export function look(path: string): Found {
  try {
    return fs.lstatSync(path, { bigint: true, throwIfNoEntry: false }) ?? 'missing';
  } catch (error) {
    return isRefusal(error) ? 'unreadable' : 'missing';
  }
}

/** Like `look`, for names along the way: cheaper without big integers. */
function lookBriefly(path: string): fs.Stats | 'missing' | 'unreadable' {
  try {
    return fs.lstatSync(path, { throwIfNoEntry: false }) ?? 'missing';
  } catch (error) {
    return isRefusal(error) ? 'unreadable' : 'missing';
  }
}

/** The target of a link; `undefined` if it cannot be represented in the contract's strings. */
export function linkTarget(path: string): string | undefined {
  try {
    return slashed(linkText.decode(fs.readlinkSync(path, { encoding: 'buffer' })));
  } catch {
    return undefined;
  }
}

/** The spelling stored in the file system for the first `existing` names, if it ignores case. */
function stored(path: string, existing: number, anchor: string, names: readonly string[]): string {
  if (!folding || existing <= 0) return path;
  try {
    const kept = placeOf(fs.realpathSync.native(pathOf(anchor, names.slice(0, existing))));
    return pathOf(kept.anchor, [...kept.names, ...names.slice(existing)]);
  } catch {
    return path;
  }
}

/** The stored spelling of a link's own path: its real path would follow the link. */
function storedLink(link: string | undefined): string | undefined {
  if (!folding || link === undefined) return link;
  const { anchor, names } = placeOf(link);
  const name = names.pop() ?? '';
  const parent = stored(pathOf(anchor, names), names.length, anchor, names);
  const same = (other: string) => other.normalize().toLowerCase() === name.normalize().toLowerCase();
  try {
    const siblings = fs.readdirSync(parent);
    const kept = siblings.includes(name) ? name : (siblings.find(same) ?? name);
    return `${parent.replace(/\/$/, '')}/${kept}`;
  } catch {
    return link;
  }
}
