// One run of the real Claude Code in a fresh workspace that `tollgate init` wired, against a scripted model.
import * as path from 'node:path';
import { startModel } from '../model.mjs';
import { runSuccessfully, packages } from '../programs.mjs';
import { makeWorkspace, parseLines, withModel, writeFiles } from '../workspace.mjs';
import { messages } from './messages.mjs';

const claude = path.join(packages, '@anthropic-ai/claude-code-linux-x64/claude');

/**
 * Permissions in the person's own settings, so that no question is asked; the workspace's settings are left to `tollgate init`.
 */
const ALLOWED = ['Write', 'Edit', 'Read', 'Bash(*)', 'mcp__tollgate'];

/** Network traffic that does not concern the test. */
const OFF = ['DISABLE_TELEMETRY', 'DISABLE_AUTOUPDATER', 'DISABLE_ERROR_REPORTING', 'CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC'];

/** By default it does not wait for its servers, or not for long, so `select_active_intent` would be missing on a busy machine. */
const PATIENCE = { MCP_CONNECTION_NONBLOCKING: '0', MCP_CONNECT_TIMEOUT_MS: '60000', MCP_TIMEOUT: '60000' };

/** Reports everything, including hooks, as lines of JSON. */
const TOLD = ['--output-format', 'stream-json', '--verbose', '--include-hook-events'];

/**
 * Plays `scripts`, a function of the workspace's folder, in a workspace with `files`: one run per prompt, all in one session.
 * `prepare` is called before the first run. Without `hooks`, the program is not connected to the gate. Returns the model's requests,
 * Claude Code's output, and a way to run the command there.
 */
export async function play({ files, scripts, prompts, prepare = () => {}, hooks = true }) {
  const made = makeWorkspace('claude', files);
  const { workspace, home, env, person } = made;
  const scripted = await startModel(scripts(workspace), messages);
  return withModel(made, scripted, async () => {
    // Unless the folder is trusted, Claude Code asks first.
    const trusted = { hasCompletedOnboarding: true, projects: { [workspace]: { hasTrustDialogAccepted: true } } };
    const settings = { permissions: { allow: ALLOWED }, enableAllProjectMcpServers: true };
    writeFiles(home, { '.claude.json': JSON.stringify(trusted), '.claude/settings.json': JSON.stringify(settings) });
    if (hooks) person('init', '--host', 'claude-code', '--yes');
    for (const name of OFF) env[name] = '1';
    Object.assign(env, PATIENCE, { ANTHROPIC_BASE_URL: `http://127.0.0.1:${scripted.port}`, ANTHROPIC_API_KEY: 'none' });
    prepare(made);
    const events = [];
    for (const [index, prompt] of prompts.entries()) {
      const words = ['-p', prompt, ...(index > 0 ? ['--continue'] : []), '--model', 'claude-sonnet-4-5', ...TOLD];
      const { output } = await runSuccessfully(claude, words, { cwd: workspace, env });
      events.push(...parseLines(output));
    }
    return { events };
  });
}
