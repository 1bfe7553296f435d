// Runs of the real Codex in a fresh workspace that `tollgate init` wired, against a scripted model.
import { execFileSync } from 'node:child_process';
import * as path from 'node:path';
import { startModel } from '../model.mjs';
import { runSuccessfully, packages } from '../programs.mjs';
import { makeWorkspace, writeFiles } from '../workspace.mjs';
import { responses } from './responses.mjs';
import { trustHooks } from './trust.mjs';

const codex = path.join(packages, '@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex');

/** A person's own settings, so that no question is asked. */
const settings = (workspace, port) => `
model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false
approval_policy = "never"
sandbox_mode = "danger-full-access"
web_search = "disabled"
allow_login_shell = false

[features]
plugins = false
apps = false

[analytics]
enabled = false

[feedback]
enabled = false

[model_providers.scripted]
name = "Scripted"
base_url = "http://127.0.0.1:${port}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 1
stream_max_retries = 1

[projects."${workspace}"]
trust_level = "trusted"
`;

/**
 * Plays `scripts`, a function of the workspace's folder, in a workspace with `files`: one run per prompt, all in one session.
 * Hooks are trusted unless `trust` is false, and `prepare` is called before the first run. Returns the model's requests, Codex's
 * output, and a way to run the command there.
 */
export async function play({ files, scripts, prompts, trust = true, prepare = () => {} }) {
  const made = makeWorkspace('codex', files);
  const { workspace, home, env, person, discard } = made;
  const scripted = await startModel(scripts(workspace), responses);
  try {
    execFileSync('git', ['init', '--quiet'], { cwd: workspace, env });
    writeFiles(home, { '.codex/config.toml': settings(workspace, scripted.port) });
    Object.assign(env, { SCRIPTED_KEY: 'none', RUST_LOG: 'error' });
    person('init', '--host', 'codex', '--yes');
    // As the note of `tollgate init` says.
    execFileSync(codex, ['mcp', 'add', 'tollgate', '--', 'tollgate', 'mcp-serve'], { cwd: workspace, env, stdio: 'ignore' });
    const trusted = trust ? await trustHooks(codex, workspace, env) : [];
    prepare(made);
    const events = [];
    for (const [index, prompt] of prompts.entries()) {
      const words = ['exec', ...(index > 0 ? ['resume', '--last'] : []), '--json', '--skip-git-repo-check', prompt];
      const { output } = await runSuccessfully(codex, words, { cwd: workspace, env });
      events.push(
        ...output
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line)),
      );
    }
    return { ...made, trusted, requests: scripted.requests, events };
  } catch (error) {
    discard();
    throw error;
  } finally {
    scripted.close();
  }
}
