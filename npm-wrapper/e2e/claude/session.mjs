// One run of the real Claude Code in a fresh workspace that `tollgate init` wired, against a scripted model.
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { asPerson } from '../person.mjs';
import { startModel } from '../opencode/model.mjs';
import { finished, programs, write } from '../opencode/session.mjs';
import { messages } from './messages.mjs';

const claude = path.join(programs, '@anthropic-ai/claude-code-linux-x64/claude');

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
 * one session. Returns what the model was asked, what Claude Code told of, and a way to run the command there.
 */
export async function play({ files, scripts, prompts }) {
  const top = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'tollgate-claude-'));
  const [workspace, home, tmp] = ['workspace', 'home', 'tmp'].map((name) => path.join(top, name));
  const discard = () => fs.rmSync(top, { recursive: true, force: true });
  const scripted = await startModel(scripts(workspace), messages);
  try {
    for (const folder of [workspace, home, tmp]) fs.mkdirSync(folder);
    write(workspace, files);
    // Without its trust in the folder, Claude Code asks first.
    const trusted = { hasCompletedOnboarding: true, projects: { [workspace]: { hasTrustDialogAccepted: true } } };
    const settings = { permissions: { allow: ALLOWED }, enableAllProjectMcpServers: true };
    write(home, { '.claude.json': JSON.stringify(trusted), '.claude/settings.json': JSON.stringify(settings) });
    const search = [path.dirname(process.env.TOLLGATE), process.env.PATH].join(path.delimiter);
    const env = { PATH: search, HOME: home, TMPDIR: tmp, TERM: 'dumb' };
    const tollgate = (...words) => execFileSync(process.env.TOLLGATE, words, { cwd: workspace, env, encoding: 'utf8' });
    asPerson(process.env.TOLLGATE, ['init', '--host', 'claude-code'], { cwd: workspace, env });
    for (const name of OFF) env[name] = '1';
    Object.assign(env, PATIENCE, { ANTHROPIC_BASE_URL: `http://127.0.0.1:${scripted.port}`, ANTHROPIC_API_KEY: 'none' });
    const events = [];
    for (const [index, prompt] of prompts.entries()) {
      const words = ['-p', prompt, ...(index > 0 ? ['--continue'] : []), '--model', 'claude-sonnet-4-5', ...TOLD];
      const { output } = await finished(claude, words, { cwd: workspace, env });
      events.push(...output.trim().split('\n').map((line) => JSON.parse(line)));
    }
    return { workspace, requests: scripted.requests, events, tollgate, discard };
  } catch (error) {
    discard();
    throw error;
  } finally {
    scripted.close();
  }
}
