// Runs of the real Copilot command line in a fresh workspace that `tollgate init` wired, against a scripted model.
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { chat } from '../chat.mjs';
import { startModel } from '../model.mjs';
import { finished, packages } from '../programs.mjs';
import { makeWorkspace, write } from '../workspace.mjs';

const copilot = path.join(packages, '@github/copilot-linux-x64/copilot');

/** It unpacks itself into the user's cache, 235 MB, which is done once for all sessions. */
const unpacked = path.join(process.env.TOLLGATE_E2E, 'unpacked');

/** What a person does with `/mcp add`, as the note of `tollgate init` says. */
const SERVERS = { mcpServers: { tollgate: { type: 'local', command: 'tollgate', args: ['mcp-serve'], tools: ['*'] } } };

/**
 * Plays `scripts`, a function of the workspace's folder, in a workspace with `files`: one run for each prompt, which go on with
 * one session. `prepare` is called before the first run. Returns what the model was asked, what Copilot said, and a way to run the
 * command there.
 */
export async function play({ files, scripts, prompts, prepare = () => {} }) {
  const made = makeWorkspace('copilot', files);
  const { workspace, home, env, person, discard } = made;
  const scripted = await startModel(scripts(workspace), chat);
  try {
    execFileSync('git', ['init', '--quiet'], { cwd: workspace, env });
    // Without its trust in the folder, Copilot runs without the workspace's hooks.
    const settings = { trustedFolders: [workspace] };
    write(home, { '.copilot/mcp-config.json': JSON.stringify(SERVERS), '.copilot/config.json': JSON.stringify(settings) });
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
      const { output } = await finished(copilot, ['-p', prompt, '--allow-all-tools', ...more], { cwd: workspace, env });
      outputs.push(output);
    }
    return { ...made, requests: scripted.requests, outputs };
  } catch (error) {
    discard();
    throw error;
  } finally {
    scripted.close();
  }
}
