import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';

/** Longer settings are a mistake. */
const MAX_SETTINGS_BYTES = 1 << 20;

/** Whether a folder is governed, told without the gate. */
export function isGoverned(workspace: string): boolean {
  try {
    return fs.statSync(path.join(workspace, '.orchestration')).isDirectory();
  } catch (error) {
    // What cannot be looked at may be anything.
    return !(error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'));
  }
}

/**
 * Whether the user lets calls run that the gate could not judge: `"on_fault": "allow"` in `~/.tollgate/config.json`.
 *
 * The gate decides everything else, and this too where it can. Here it is what has failed, so nobody is left to decide but the
 * host. The host's part is one key of one file, and nothing of the workspace: a file that stands in it is not the user's word.
 * `hook/ground.rs` of the Rust host reads the same.
 */
export function letsFaultsPass(workspace: string, home: string | undefined): boolean {
  try {
    const settings = fs.realpathSync.native(path.join(home ?? os.homedir(), '.tollgate', 'config.json'));
    const inside = path.relative(fs.realpathSync.native(workspace), settings);
    const isOutside = inside === '..' || inside.startsWith(`..${path.sep}`) || path.isAbsolute(inside);
    const stat = fs.statSync(settings);
    if (!isOutside || !stat.isFile() || stat.size > MAX_SETTINGS_BYTES) return false;
    return (JSON.parse(fs.readFileSync(settings, 'utf8')) as { on_fault?: unknown } | null)?.on_fault === 'allow';
  } catch {
    return false;
  }
}
