// Runs of the real Gemini CLI in a fresh workspace that `tollgate init` wired, against a scripted model.
import { execFileSync } from 'node:child_process';
import * as path from 'node:path';
import { startModel } from '../model.mjs';
import { runSuccessfully, packages } from '../programs.mjs';
import { makeWorkspace, parseLines, withModel, writeFiles } from '../workspace.mjs';
import { contents } from './contents.mjs';

const gemini = path.join(packages, '@google/gemini-cli/bundle/gemini.js');

/** A person's own settings. */
const SETTINGS = {
  security: { auth: { selectedType: 'gemini-api-key' } },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
};

/**
 * Plays `scripts`, a function of the workspace's folder, in a workspace with `files`: one run per prompt, all in one session.
 * `prepare` is called before the first run. Returns the model's requests, Gemini CLI's output, and a way to run the command
 * there.
 */
export async function play({ files, scripts, prompts, prepare = () => {} }) {
  const made = makeWorkspace('gemini', files);
  const { workspace, home, env, person } = made;
  const scripted = await startModel(scripts(workspace), contents);
  return withModel(made, scripted, async () => {
    execFileSync('git', ['init', '--quiet'], { cwd: workspace, env });
    // Unless the folder is trusted, Gemini CLI does not start.
    const trusted = { [workspace]: 'TRUST_FOLDER' };
    writeFiles(home, {
      '.gemini/settings.json': JSON.stringify(SETTINGS),
      '.gemini/trustedFolders.json': JSON.stringify(trusted),
    });
    person('init', '--host', 'gemini', '--yes');
    Object.assign(env, {
      NO_COLOR: '1',
      GEMINI_API_KEY: 'none',
      GEMINI_CLI_NO_RELAUNCH: 'true',
      GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${scripted.port}`,
    });
    prepare(made);
    const events = [];
    for (const [index, prompt] of prompts.entries()) {
      const words = [gemini, '-p', prompt, '-m', 'gemini-2.5-flash', '--approval-mode', 'yolo', '--output-format', 'stream-json'];
      const more = index > 0 ? ['--resume', 'latest'] : [];
      const { output } = await runSuccessfully(process.execPath, [...words, ...more], { cwd: workspace, env });
      events.push(...parseLines(output));
    }
    return { events };
  });
}
