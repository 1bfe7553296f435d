// Resolves paths like the operating system does.
import * as fs from 'node:fs';
import { isRefusal } from './fault.js';
import {
  anchorOf,
  relativePath,
  ignoresCase,
  isName,
  namesOf,
  joinPath,
  type AbsolutePath,
  splitPath,
  withSlashes,
} from './path.js';

/** A path with more links than this is treated as a cycle, as in the kernel. */
const MAX_LINKS = 40;

/** What exists at the end of a path. */
export type StatResult = fs.BigIntStats | 'missing' | 'unreadable';

/** The result of resolving a path. */
export interface ResolvedPath {
  /** The absolute path with every link followed; `undefined` if it cannot be resolved. */
  real: string | undefined;
  /** The absolute path without following a link in the last name. */
  entry: string | undefined;
  /** The target of the link at `entry`. */
  link: string | undefined;
  /** What exists at `real`. */
  found: StatResult;
}

/** Folders that are known to exist while one list of questions is answered: many paths share the same few folders. */
export type KnownFolders = Set<string>;

const UNRESOLVED: ResolvedPath = { real: undefined, entry: undefined, link: undefined, found: 'missing' };
const linkText = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A path that is not plain: it contains an empty name, `.` or `..`, or an invalid character. */
const NOT_PLAIN = /(?:^|\/)\.{0,2}(?:\/|$)|\0/;

/** Resolves paths like the operating system does, relative to a folder whose own path contains no links. */
export class PathResolver {
  readonly #path: AbsolutePath;
  readonly #top: string;
  /** Folders that need not be looked up again, if there are any. */
  readonly #known: KnownFolders | undefined;

  /**
   * @param folder a canonical absolute path
   * @param isOwn whether only the user can create links there, so that a folder in it stays a folder
   */
  constructor(
    readonly folder: string,
    isOwn = false,
  ) {
    this.#path = splitPath(folder);
    this.#top = folder.endsWith('/') ? folder : `${folder}/`;
    this.#known = isOwn ? new Set() : undefined;
  }

  /**
   * Resolves a path name by name: follows links where they occur, applies `..` after the preceding link, and keeps missing names.
   */
  resolve(path: string, folders?: KnownFolders): ResolvedPath {
    return (ignoresCase ? undefined : this.#resolvePlain(path, folders)) ?? this.#resolveAny(path, folders);
  }

  /** Resolves the common case, plain names below the folder without links; `undefined` for others. */
  #resolvePlain(asked: string, folders: KnownFolders | undefined): ResolvedPath | undefined {
    const path = asked.startsWith(this.#top) ? asked.slice(this.#top.length) : asked;
    if (NOT_PLAIN.test(path)) return undefined;
    const real = this.#top + path;
    for (let end = path.indexOf('/'); end !== -1; end = path.indexOf('/', end + 1)) {
      const folder = this.#top + path.slice(0, end);
      if (this.#known?.has(folder) || folders?.has(folder)) continue;
      const seen = statBriefly(folder);
      if (seen === 'missing' || seen === 'unreadable') return { real, entry: real, link: undefined, found: seen };
      if (!seen.isDirectory()) return undefined;
      (this.#known ?? folders)?.add(folder);
    }
    const found = statPath(real);
    if (found !== 'missing' && found !== 'unreadable') {
      if (found.isSymbolicLink()) return undefined;
      if (found.isDirectory()) folders?.add(real);
    }
    return { real, entry: real, link: undefined, found };
  }

  #resolveAny(asked: string, folders: KnownFolders | undefined): ResolvedPath {
    const path = withSlashes(asked);
    const start = this.#path;
    let anchor = anchorOf(path, start.anchor);
    let at: string[] = [];
    let ahead: string[];
    const inside = anchor === undefined ? path : relativePath(this.folder, path);
    if (inside !== undefined) {
      // The folder's own path contains no links, so it needs no lookup.
      at = [...start.names];
      anchor = start.anchor;
      ahead = namesOf(inside, undefined).reverse();
    } else {
      ahead = namesOf(path, anchor).reverse();
    }
    return resolveNames(anchor ?? start.anchor, at, ahead, folders);
  }
}

/** @param ahead the remaining names in reverse order */
function resolveNames(anchor: string, at: string[], ahead: string[], folders?: KnownFolders): ResolvedPath {
  let links = 0;
  let entry: string | undefined;
  let link: string | undefined;
  let found: StatResult | undefined;
  // Nothing exists or is accessible from this depth on, so there is nothing to look up.
  let unseen = Infinity;
  let unseenAs: StatResult = 'missing';
  for (let name = ahead.pop(); name !== undefined; name = ahead.pop()) {
    found = undefined;
    if (name === '..') {
      at.pop();
      if (at.length < unseen) unseen = Infinity;
      continue;
    }
    if (!isName(name)) return UNRESOLVED;
    at.push(name);
    if (at.length > unseen) continue;
    const here = joinPath(anchor, at);
    const last = ahead.length === 0;
    if (!last && folders?.has(here)) continue;
    const seen = last ? statPath(here) : statBriefly(here);
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
      if (target === undefined) return { real: undefined, entry: storedLinkSpelling(entry), link, found: 'missing' };
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
      return UNRESOLVED;
    }
  }
  const end = joinPath(anchor, at);
  found ??= at.length >= unseen ? unseenAs : statPath(end);
  const real = storedSpelling(end, Math.min(unseen - 1, at.length), anchor, at);
  return { real, entry: entry === undefined ? real : storedLinkSpelling(entry), link, found };
}

/** What exists at a path, without following links. */
export function statPath(path: string): StatResult {
  try {
    return fs.lstatSync(path, { bigint: true, throwIfNoEntry: false }) ?? 'missing';
  } catch (error) {
    return isRefusal(error) ? 'unreadable' : 'missing';
  }
}

/** Like `statPath`, for names along the way: cheaper without big integers. */
function statBriefly(path: string): fs.Stats | 'missing' | 'unreadable' {
  try {
    return fs.lstatSync(path, { throwIfNoEntry: false }) ?? 'missing';
  } catch (error) {
    return isRefusal(error) ? 'unreadable' : 'missing';
  }
}

/** The target of a link; `undefined` if it cannot be represented in the contract's strings. */
export function linkTarget(path: string): string | undefined {
  try {
    return withSlashes(linkText.decode(fs.readlinkSync(path, { encoding: 'buffer' })));
  } catch {
    return undefined;
  }
}

/** The spelling stored in the file system for the first `existing` names, if it ignores case. */
function storedSpelling(path: string, existing: number, anchor: string, names: readonly string[]): string {
  if (!ignoresCase || existing <= 0) return path;
  try {
    const kept = splitPath(fs.realpathSync.native(joinPath(anchor, names.slice(0, existing))));
    return joinPath(kept.anchor, [...kept.names, ...names.slice(existing)]);
  } catch {
    return path;
  }
}

/** The stored spelling of a link's own path: its real path would follow the link. */
function storedLinkSpelling(link: string | undefined): string | undefined {
  if (!ignoresCase || link === undefined) return link;
  const { anchor, names } = splitPath(link);
  const name = names.pop() ?? '';
  const parent = storedSpelling(joinPath(anchor, names), names.length, anchor, names);
  const same = (other: string) => other.normalize().toLowerCase() === name.normalize().toLowerCase();
  try {
    const siblings = fs.readdirSync(parent);
    const kept = siblings.includes(name) ? name : (siblings.find(same) ?? name);
    return `${parent.replace(/\/$/, '')}/${kept}`;
  } catch {
    return link;
  }
}
