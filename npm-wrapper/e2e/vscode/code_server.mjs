// VS Code's server from npm, in its own folders.
import { execFileSync, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';

const SETTINGS = {
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'extensions.autoUpdate': false,
  'extensions.autoCheckUpdates': false,
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
  'workbench.enableExperiments': false,
  'files.autoSave': 'off',
  'window.commandCenter': false,
  'chat.commandCenter.enabled': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'json.schemaDownload.enable': false,
};

export class CodeServer {
  #folder;
  #packages;
  #child;

  /** @param folder for everything it writes @param packages where npm put it */
  constructor(folder, packages) {
    this.#folder = folder;
    this.#packages = packages;
    for (const name of ['home', 'tmp', 'data/User', 'extensions']) fs.mkdirSync(path.join(folder, name), { recursive: true });
    fs.writeFileSync(path.join(folder, 'data/User/settings.json'), JSON.stringify(SETTINGS));
    const logger = path.join(packages, 'node_modules/code-server/lib/vscode/node_modules/@vscode/spdlog/index.js');
    fs.copyFileSync(fileURLToPath(new URL('logger.cjs', import.meta.url)), logger);
  }

  get home() {
    return path.join(this.#folder, 'home');
  }

  get #node() {
    return path.join(this.#packages, 'node_modules/node24/bin/node');
  }

  #words(words) {
    const folders = [
      '--extensions-dir',
      path.join(this.#folder, 'extensions'),
      '--user-data-dir',
      path.join(this.#folder, 'data'),
    ];
    return [path.join(this.#packages, 'node_modules/code-server'), ...folders, ...words];
  }

  /** Nothing is inherited: no tokens and no settings. */
  get #environment() {
    return { PATH: process.env.PATH, HOME: this.home, TMPDIR: path.join(this.#folder, 'tmp'), LANG: 'C.UTF-8' };
  }

  /** Installs a .vsix as a person would. */
  install(vsix) {
    execFileSync(this.#node, this.#words(['--install-extension', vsix]), {
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  /** Starts the server and returns its address. */
  start() {
    const listen = ['--auth', 'none', '--bind-addr', '127.0.0.1:0', '--disable-telemetry', '--disable-update-check'];
    const quiet = ['--disable-workspace-trust', '--disable-getting-started-override'];
    const log = fs.createWriteStream(path.join(this.#folder, 'code-server.log'));
    const child = spawn(this.#node, this.#words([...listen, ...quiet]), {
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    this.#child = child;
    return new Promise((resolve, reject) => {
      let said = '';
      const hear = (piece) => {
        log.write(piece);
        said += piece;
        const address = /listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(said)?.[1];
        if (address !== undefined) resolve(address);
      };
      child.stdout.on('data', hear);
      child.stderr.on('data', hear);
      child.on('exit', (code) => reject(new Error(`code-server ended with ${code}:\n${said}`)));
      setTimeout(() => reject(new Error(`code-server does not listen after a minute:\n${said}`)), 60_000).unref();
    });
  }

  /** Stops the server and everything it started. */
  async stop() {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.on('exit', resolve));
    process.kill(-child.pid, 'SIGTERM');
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 5_000).unref())]);
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // All processes have ended.
    }
  }
}
