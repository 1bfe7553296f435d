// Transpiles approved components to JavaScript and caches the code.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { LineProcess } from './line_process.js';

/** The time and heap limits of transpiling. */
const MAX_TRANSPILING_MS = 120_000;
const MAX_HEAP_MB = 1_024;

/** The heap limit of the process that runs hooks; linear memories do not count. */
const HOOKS_HEAP_MB = 128;

/** The folder with the JavaScript code of a component, or why there is none. */
export type Glue = { folder: string } | { why: string };

/**
 * Transpiles approved components to JavaScript and stores the code in the user's home folder:
 * `~/.tollgate/cache/js-VERSION/HEX/`. The code is run, so it is never stored in a workspace, and nobody else may write to it.
 */
export class GlueCache {
  readonly #home: string;
  readonly #sandbox: string;
  readonly folder: string;
  /** The results of transpiling in this process, finished or not. */
  readonly #transpilations = new Map<string, Promise<Glue>>();

  constructor(home: string, sandbox: string) {
    this.#home = home;
    this.#sandbox = sandbox;
    this.folder = path.join(home, '.tollgate', 'cache', `js-${TOLLGATE_VERSION}`);
  }

  /** The code of a component. If it has to be generated first, waits at most `limitMs` for it. */
  async get(digest: string, limitMs: number): Promise<Glue> {
    const hex = /^sha256:([0-9a-f]{64})$/.exec(digest)?.[1];
    if (hex === undefined) return { why: 'the component has no digest' };
    const folder = path.join(this.folder, hex);
    if (fs.existsSync(path.join(folder, 'hook.mjs'))) return isPrivate(folder) ? { folder } : { why: notPrivateMessage(folder) };
    let made = this.#transpilations.get(hex);
    if (made === undefined) {
      made = this.#generate(hex, folder);
      this.#transpilations.set(hex, made);
    }
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Glue>((resolve) => {
      timer = setTimeout(() => resolve({ why: 'it is being compiled' }), limitMs);
    });
    const glue = await Promise.race([made, late]);
    clearTimeout(timer);
    return glue;
  }

  /** Starts the process that runs hooks. */
  start(job: 'run', readable: readonly string[]): LineProcess {
    return new LineProcess(
      process.execPath,
      [...this.#flags(HOOKS_HEAP_MB, readable, []), this.#sandbox, job],
      hookEnvironment(),
    );
  }

  async #generate(hex: string, folder: string): Promise<Glue> {
    const bytes = path.join(this.#home, '.tollgate', 'components', `${hex}.wasm`);
    const made = path.join(this.folder, `${hex}.${randomUUID()}`);
    try {
      fs.mkdirSync(this.folder, { recursive: true, mode: 0o700 });
      if (!isPrivate(this.folder)) return { why: notPrivateMessage(this.folder) };
      fs.mkdirSync(made, { mode: 0o700 });
      const why = await this.#transpile(bytes, hex, made);
      if (why !== undefined) return { why: `it could not be compiled: ${why}` };
      // Another process may have been faster.
      if (!fs.existsSync(folder)) fs.renameSync(made, folder);
      return { folder };
    } catch (error) {
      return { why: `it could not be compiled: ${String(error)}` };
    } finally {
      fs.rmSync(made, { recursive: true, force: true });
    }
  }

  #transpile(bytes: string, hex: string, into: string): Promise<string | undefined> {
    return new Promise((resolve) => {
      const args = [...this.#flags(MAX_HEAP_MB, [bytes], [into]), this.#sandbox, 'transpile', bytes, hex, into];
      const child = spawn(process.execPath, args, {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: hookEnvironment(),
        timeout: MAX_TRANSPILING_MS,
        killSignal: 'SIGKILL',
        windowsHide: true,
      });
      let said = '';
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        said = (said + text).slice(0, 4_096);
      });
      child.unref();
      child.on('error', (error) => resolve(String(error)));
      child.on('exit', (code) => {
        if (code === 0) return resolve(undefined);
        const last = said
          .trim()
          .split('\n')
          .find((line) => line.startsWith('hook: '));
        resolve(last?.slice('hook: '.length) ?? 'compiling it takes more time or memory than is allowed');
      });
    });
  }

  /** Flags for Node's own sandbox, where it has one: no other files, no processes, no workers. */
  #flags(heapMb: number, readable: readonly string[], writable: readonly string[]): string[] {
    if (process.versions['bun'] !== undefined) return [];
    const flags = [`--max-old-space-size=${heapMb}`, '--no-warnings'];
    const major = Number(process.versions.node.split('.')[0]);
    // Components built from Python and with QuickJS use this feature, and V8 11 disables it by default.
    if (major < 22) flags.push('--experimental-wasm-extended-const');
    if (process.versions['electron'] !== undefined) return flags;
    flags.push(process.allowedNodeEnvironmentFlags.has('--permission') ? '--permission' : '--experimental-permission');
    for (const name of [path.dirname(this.#sandbox), ...readable])
      flags.push(`--allow-fs-read=${fs.realpathSync(name)}${permissionSuffix(name)}`);
    for (const name of writable) flags.push(`--allow-fs-write=${fs.realpathSync(name)}${permissionSuffix(name)}`);
    return flags;
  }
}

/** The suffix that extends a permission to everything in a folder. */
function permissionSuffix(name: string): string {
  return fs.statSync(name).isDirectory() ? `${path.sep}*` : '';
}

/**
 * The environment of hook processes: nothing is inherited. These variables make programs that embed a runtime act as that
 * runtime.
 */
function hookEnvironment(): NodeJS.ProcessEnv {
  return { ELECTRON_RUN_AS_NODE: '1', BUN_BE_BUN: '1' };
}

/** Whether only the user can write to a folder. */
function isPrivate(folder: string): boolean {
  const found = fs.lstatSync(folder);
  if (!found.isDirectory()) return false;
  return process.getuid === undefined || (found.uid === process.getuid() && (found.mode & 0o022) === 0);
}

function notPrivateMessage(folder: string): string {
  return `\`${folder}\` could have been written by another user; remove it`;
}
