// One run of the real Claude Code in a fresh workspace that `tollgate init` wired, against a scripted model.
import * as path from 'node:path';
import { startModel } from '../model.mjs';
import { finished, packages } from '../programs.mjs';
import { makeWorkspace, write } from '../workspace.mjs';
import { messages } from './messages.mjs';

const claude = path.join(packages, '@anthropic-ai/claude-code-linux-x64/claude');

/** What a person allows in their own settings, so that nobody has to be asked; the workspace's are left to `tollgate init`. */
const ALLOWED = ['Write', 'Edit', 'Read', 'Bash(*)', 'mcp__tollgate'];

/** Traffic that is none of the test's business. */
const OFF = ['DISABLE_TELEMETRY', 'DISABLE_AUTOUPDATER', 'DISABLE_ERROR_REPORTING', 'CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC'];

/** It would not wait for its servers, or not for long, and a busy machine would have no `select_active_intent`. */
const PATIENCE = { MCP_CONNECTION_NONBLOCKING: '0', MCP_CONNECT_TIMEOUT_MS: '60000', MCP_TIMEOUT: '60000' };

/** Everything that happens, hooks too, as lines of JSON. */
const TOLD = ['--output-format', 'stream-json', '--verbose', '--include-hook-events'];

/**
 * Plays `scripts`, a function of the workspace's folder, in a workspace with `files`: one run for each prompt, which go on with
 * one session. `prepare` is called before the first run. Without `hooks`, nobody wired the program. Returns what the model was asked, what Claude Code told, and a way to run
 * the command there.
 */
export async function play({ files, scripts, prompts, prepare = () => {}, hooks = true }) {
  const made = makeWorkspace('claude', files);
  const { workspace, home, env, person, discard } = made;
  const scripted = await startModel(scripts(workspace), messages);
  try {
    // Without its trust in the folder, Claude Code asks first.
    const trusted = { hasCompletedOnboarding: true, projects: { [workspace]: { hasTrustDialogAccepted: true } } };
    const settings = { permissions: { allow: ALLOWED }, enableAllProjectMcpServers: true };
    write(home, { '.claude.json': JSON.stringify(trusted), '.claude/settings.json': JSON.stringify(settings) });
    if (hooks) person('init', '--host', 'claude-code', '--yes');
    for (const name of OFF) env[name] = '1';
    Object.assign(env, PATIENCE, { ANTHROPIC_BASE_URL: `http://127.0.0.1:${scripted.port}`, ANTHROPIC_API_KEY: 'none' });
    prepare(made);
    const events = [];
    for (const [index, prompt] of prompts.entries()) {
      const words = ['-p', prompt, ...(index > 0 ? ['--continue'] : []), '--model', 'claude-sonnet-4-5', ...TOLD];
      const { output } = await finished(claude, words, { cwd: workspace, env });
      events.push(
        ...output
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line)),
      );
    }
    return { ...made, requests: scripted.requests, events };
  } catch (error) {
    discard();
    throw error;
  } finally {
    scripted.close();
  }
}
