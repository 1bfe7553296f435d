// One run of the real OpenCode in a fresh workspace, against a scripted model.
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startModel } from './model.mjs';

/** The npm package. */
export const wrapper = fileURLToPath(new URL('../..', import.meta.url));

/** The programs that were installed for these tests. */
export const programs = path.join(process.env.TOLLGATE_E2E, 'node_modules');
const opencode = path.join(programs, 'opencode-linux-x64-baseline/bin/opencode');

/** Longer than this no run takes; one that hangs is ended. */
const MOST_MS = 240_000;

/**
 * Plays `scripts` in a workspace with `files`, and `settings` on top of OpenCode's. Returns what the model was asked, what
 * OpenCode said, and the workspace. `files` and `scripts` may be functions of the workspace's folder.
 */
export async function play({ files, scripts, settings = {}, model = 'plain' }) {
  const top = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'tollgate-opencode-'));
  const [workspace, home, tmp] = ['workspace', 'home', 'tmp'].map((name) => path.join(top, name));
  const given = (value) => (typeof value === 'function' ? value(workspace) : value);
  const discard = () => fs.rmSync(top, { recursive: true, force: true });
  const scripted = await startModel(given(scripts));
  try {
    for (const folder of [workspace, home, tmp]) fs.mkdirSync(folder);
    const config = JSON.stringify({ ...configuration(model, scripted.port), ...given(settings) });
    write(workspace, { 'opencode.json': config, ...given(files) });
    // It would install a package into these, and wait for that.
    for (const folder of [path.join(workspace, '.opencode'), path.join(home, '.config/opencode')]) {
      fs.mkdirSync(path.join(folder, 'node_modules'), { recursive: true });
      const packages = { '': { dependencies: { '@opencode-ai/plugin': '*' } } };
      fs.writeFileSync(path.join(folder, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages }));
    }
    const { output, log } = await run(workspace, home, tmp);
    return { workspace, home, requests: scripted.requests, output, log, discard };
  } catch (error) {
    discard();
    throw error;
  } finally {
    scripted.close();
  }
}

/** An MCP server that is really there, with the workspace as its folder. */
export function mcpServer(workspace) {
  const server = path.join(programs, '@modelcontextprotocol/server-filesystem/dist/index.js');
  return { type: 'local', command: [process.execPath, server, workspace], enabled: true };
}

/** Files by name, below a folder. */
export function write(folder, files) {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(folder, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, content);
  }
}

function configuration(model, port) {
  const limit = { context: 200_000, output: 8_000 };
  const models = Object.fromEntries(['plain', 'gpt-5-scripted'].map((name) => [name, { name, tool_call: true, limit }]));
  return {
    autoupdate: false,
    share: 'disabled',
    snapshot: false,
    lsp: false,
    formatter: false,
    model: `scripted/${model}`,
    small_model: `scripted/${model}`,
    enabled_providers: ['scripted'],
    provider: {
      scripted: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Scripted',
        options: { baseURL: `http://127.0.0.1:${port}/v1`, apiKey: 'none' },
        models,
      },
    },
    permission: { edit: 'allow', bash: { '*': 'allow', 'rm *': 'deny' } },
  };
}

function run(workspace, home, tmp) {
  const off = ['AUTOUPDATE', 'MODELS_FETCH', 'LSP_DOWNLOAD', 'SHARE', 'DEFAULT_PLUGINS', 'CLAUDE_CODE'];
  const env = { PATH: process.env.PATH, HOME: home, TMPDIR: tmp, TERM: 'dumb' };
  for (const name of off) env[`OPENCODE_DISABLE_${name}`] = '1';
  const words = ['run', '--print-logs', '--log-level', 'INFO', '--format', 'json', 'Please do the work'];
  return finished(opencode, words, { cwd: workspace, env });
}

/** Runs a program to its end, and returns what it said. */
export function finished(program, words, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const texts = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr']) child[name].setEncoding('utf8').on('data', (text) => (texts[name] += text));
    const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), MOST_MS);
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      if (code === 0) resolve({ output: texts.stdout, log: texts.stderr });
      else reject(new Error(`${path.basename(program)} ended with ${code}:\n${texts.stdout.slice(-4000)}\n${texts.stderr.slice(-8000)}`));
    });
  });
}
