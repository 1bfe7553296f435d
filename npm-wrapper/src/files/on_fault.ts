// Decides about a call when the gate itself has failed.
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';

/** A larger file cannot be a settings file. */
const MAX_SETTINGS_BYTES = 1 << 20;

/** Whether a folder is governed, determined without the gate. */
export function isGoverned(workspace: string): boolean {
  try {
    return fs.statSync(path.join(workspace, '.orchestration')).isDirectory();
  } catch (error) {
    // If it cannot be accessed, it may be governed.
    return !(error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'));
  }
}

/**
 * Whether the user's settings allow calls that the gate could not check: `"on_fault": "allow"` in `~/.tollgate/config.json`.
 *
 * The gate decides this itself if it can. This is for when the gate has failed, so the host has to decide. It reads one key of
 * one user file, and never a file inside the workspace. The Rust host does the same with the gate's own code
 * (`host-test/src/programs.rs`).
 */
export function allowsOnFault(workspace: string, home: string | undefined): boolean {
  try {
    const settings = fs.realpathSync.native(path.join(home ?? os.homedir(), '.tollgate', 'config.json'));
    const inside = path.relative(fs.realpathSync.native(workspace), settings);
    const isOutside = inside === '..' || inside.startsWith(`..${path.sep}`) || path.isAbsolute(inside);
    const stat = fs.statSync(settings);
    if (!isOutside || !stat.isFile() || stat.size > MAX_SETTINGS_BYTES) return false;
    return (parseWithComments(decodeUtf8(fs.readFileSync(settings))) as { on_fault?: unknown } | null)?.on_fault === 'allow';
  } catch {
    return false;
  }
}

/** Text without a byte order mark. Throws if it is not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

/** A string, or a comment. What is not closed extends to the end, so that no text takes longer than its length. */
const STRING_OR_COMMENT = /"(?:[^"\\]|\\[\s\S]?)*(?:"|$)|\/\/[^\r\n]*|\/\*[\s\S]*?(?:\*\/|$)/g;

/** A string, or a comma before the end of a list or an object. */
const STRING_OR_TRAILING_COMMA = /"(?:[^"\\]|\\[\s\S]?)*(?:"|$)|,(?=\s*[}\]])/g;

/** Parses JSON that may have comments and trailing commas, as people may write settings. */
export function parseWithComments(text: string): unknown {
  const isComment = (found: string) => found.startsWith('//') || (found.length >= 4 && found.endsWith('*/'));
  const plain = text.replace(STRING_OR_COMMENT, (found) => (!found.startsWith('"') && isComment(found) ? ' ' : found));
  // A comma without an item before it stays, and is an error.
  const isAfterItem = (comma: number) => {
    let before = comma - 1;
    while (' \t\r\n'.includes(plain.charAt(before)) && before >= 0) before -= 1;
    return before >= 0 && !'[{,'.includes(plain.charAt(before));
  };
  return JSON.parse(
    plain.replace(STRING_OR_TRAILING_COMMA, (found, at: number) => (found === ',' && isAfterItem(at) ? '' : found)),
  );
}
