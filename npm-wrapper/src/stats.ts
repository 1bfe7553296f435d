import type { BigIntStats } from 'node:fs';
import type { Kind } from '../generated/interfaces/tollgate-hooks-workspace.js';
import type { Found } from './walk.js';

/** What one look at a file tells, in the contract's words. */
export interface Look {
  kind: Kind;
  hardLinks: number;
  identity: bigint;
  stamp: bigint;
  size: bigint;
}

const MOST_NAMES = 0xffff_ffffn;

export function lookOf(found: Found): Look {
  if (found === 'missing' || found === 'unreadable') return { kind: found, hardLinks: 0, identity: 0n, stamp: 0n, size: 0n };
  const kind = found.isFile() ? 'file' : found.isDirectory() ? 'directory' : 'other';
  return {
    kind,
    // A folder has one name; what file systems count there is its subfolders.
    hardLinks: kind === 'directory' ? 1 : Number(found.nlink < MOST_NAMES ? found.nlink : MOST_NAMES),
    identity: identityOf(found),
    stamp: stampOf(found),
    size: kind === 'file' ? found.size : 0n,
  };
}

/** Within one device, no two files mix to the same number. */
function identityOf(found: BigIntStats): bigint {
  return mix(mix(found.dev) ^ found.ino) || 1n;
}

/** The time of the last change alone is not enough: it can be too coarse, and a file can be put in another's place. */
function stampOf(found: BigIntStats): bigint {
  return mix(mix(mix(mix(found.ctimeNs) ^ found.mtimeNs) ^ found.size) ^ found.ino) || 1n;
}

/** The finaliser of SplitMix64: turns every 64-bit number into another, so nothing is lost in it. */
function mix(value: bigint): bigint {
  let mixed = BigInt.asUintN(64, value + 0x9e3779b97f4a7c15n);
  mixed = BigInt.asUintN(64, (mixed ^ (mixed >> 30n)) * 0xbf58476d1ce4e5b9n);
  mixed = BigInt.asUintN(64, (mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn);
  return mixed ^ (mixed >> 31n);
}
