// One run of the real OpenCode in a new workspace, against a scripted model.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startModel } from '../model.mjs';
import { runSuccessfully, packages } from '../programs.mjs';
import { makeWorkspace, writeFiles } from '../workspace.mjs';
import { chat } from '../chat.mjs';

/** The npm package. */
export const wrapper = fileURLToPath(new URL('../..', import.meta.url));

const opencode = path.join(packages, 'opencode-linux-x64-baseline/bin/opencode');

/** Network traffic and features that do not concern the test. */
const OFF = ['AUTOUPDATE', 'MODELS_FETCH', 'LSP_DOWNLOAD', 'SHARE', 'DEFAULT_PLUGINS', 'CLAUDE_CODE'];

/**
 * Plays `scripts` in a workspace with `files` and with `settings` added to OpenCode's. Returns the model's requests, OpenCode's
 * output, and the workspace. `files` and `scripts` may be functions of the workspace's folder; `prepare` is called before the
 * run.
 */
export async function play({ files, scripts, settings = {}, model = 'plain', prepare = () => {} }) {
  const made = makeWorkspace('opencode', {});
  const { workspace, home, env, discard } = made;
  const given = (value) => (typeof value === 'function' ? value(workspace) : value);
  const scripted = await startModel(given(scripts), chat);
  try {
    const config = JSON.stringify({ ...configuration(model, scripted.port), ...given(settings) });
    writeFiles(workspace, { 'opencode.json': config, ...given(files) });
    // Otherwise OpenCode would install a package into these folders, and wait for it.
    for (const folder of [path.join(workspace, '.opencode'), path.join(home, '.config/opencode')]) {
      fs.mkdirSync(path.join(folder, 'node_modules'), { recursive: true });
      const packages = { '': { dependencies: { '@opencode-ai/plugin': '*' } } };
      fs.writeFileSync(path.join(folder, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages }));
    }
    for (const name of OFF) env[`OPENCODE_DISABLE_${name}`] = '1';
    prepare(made);
    const words = ['run', '--print-logs', '--log-level', 'INFO', '--format', 'json', 'Please do the work'];
    const { output, log } = await runSuccessfully(opencode, words, { cwd: workspace, env });
    return { ...made, requests: scripted.requests, output, log };
  } catch (error) {
    discard();
    throw error;
  } finally {
    scripted.close();
  }
}

/** The package as npm would install it in a folder. */
export function installPackage(folder) {
  const built = fs.readdirSync(path.join(wrapper, 'dist'), { recursive: true, withFileTypes: true });
  const files = built
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(wrapper, path.join(entry.parentPath, entry.name)));
  const names = ['package.json', ...files];
  return Object.fromEntries(names.map((name) => [path.join(folder, name), fs.readFileSync(path.join(wrapper, name))]));
}

/** A working MCP server that runs in the workspace. */
export function mcpServer(workspace) {
  const server = path.join(packages, '@modelcontextprotocol/server-filesystem/dist/index.js');
  return { type: 'local', command: [process.execPath, server, workspace], enabled: true };
}

/** A rule for a command, and the same for the command where it runs confined: OpenCode looks at what is run. */
const RULES = { '*': 'allow', 'rm *': 'deny', "*tollgate confine* bash -c 'rm *": 'deny' };

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
    permission: { edit: 'allow', external_directory: 'allow', bash: RULES },
  };
}
