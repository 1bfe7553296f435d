// Runs of the real Copilot command line in a fresh workspace that `tollgate init` wired, against a scripted model.
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { chat } from '../chat.mjs';
import { startModel } from '../model.mjs';
import { runSuccessfully, packages } from '../programs.mjs';
import { makeWorkspace, withModel, writeFiles } from '../workspace.mjs';

const copilot = path.join(packages, '@github/copilot-linux-x64/copilot');

/** It unpacks 235 MB into the user's cache. This is done once for all sessions. */
const unpacked = path.join(process.env.TOLLGATE_E2E, 'unpacked');

/** The result of `/mcp add`, as the note of `tollgate init` describes it. */
const SERVERS = { mcpServers: { tollgate: { type: 'local', command: 'tollgate', args: ['mcp-serve'], tools: ['*'] } } };

/**
 * Plays `scripts`, a function of the workspace's folder, in a workspace with `files`: one run per prompt, all in one session.
 * `prepare` is called before the first run. Returns the model's requests, Copilot's output, and a way to run the command there.
 */
export async function play({ files, scripts, prompts, prepare = () => {} }) {
  const made = makeWorkspace('copilot', files);
  const { workspace, home, env, person } = made;
  const scripted = await startModel(scripts(workspace), chat);
  return withModel(made, scripted, async () => {
    execFileSync('git', ['init', '--quiet'], { cwd: workspace, env });
    // Unless the folder is trusted, Copilot ignores the workspace's hooks.
    const settings = { trustedFolders: [workspace] };
    writeFiles(home, { '.copilot/mcp-config.json': JSON.stringify(SERVERS), '.copilot/config.json': JSON.stringify(settings) });
    fs.mkdirSync(unpacked, { recursive: true });
    fs.mkdirSync(path.join(home, '.cache'));
    fs.symlinkSync(unpacked, path.join(home, '.cache/copilot'));
    person('init', '--host', 'copilot', '--yes');
    Object.assign(env, {
      COPILOT_OFFLINE: 'true',
      COPILOT_AUTO_UPDATE: 'false',
      COPILOT_MODEL: 'claude-sonnet-4.5',
      COPILOT_PROVIDER_BASE_URL: `http://127.0.0.1:${scripted.port}/v1`,
    });
    prepare(made);
    const outputs = [];
    for (const [index, prompt] of prompts.entries()) {
      const more = index > 0 ? ['--continue'] : [];
      const { output } = await runSuccessfully(copilot, ['-p', prompt, '--allow-all-tools', ...more], { cwd: workspace, env });
      outputs.push(output);
    }
    return { outputs };
  });
}
