// Decides about a call when the gate itself has failed.
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { decodeSettings, parseSettings } from './settings_text.js';

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
    return (parseSettings(decodeSettings(fs.readFileSync(settings))) as { on_fault?: unknown } | null)?.on_fault === 'allow';
  } catch {
    return false;
  }
}
