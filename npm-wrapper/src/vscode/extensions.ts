import * as vscode from 'vscode';
import { TollgateError } from '../api/error.js';
import type { ExtensionDetails, ExtensionSetting, ShownExtension, SkillDetails } from './answers.js';
import { APPROVALS } from './approvals.js';
import type { Folder } from './folder.js';
import type { Pages } from './pages.js';

/** A question that is longer does not fit on a screen. */
const MAX_LINES = 30;

/** What a person says about extensions, in the editor. */
export class Extensions {
  /** Those that a person was told of, as they were then. */
  readonly #told = new Set<string>();

  constructor(private readonly pages: Pages) {}

  /** Tells a person of extensions that wait for approval, once for each. @returns whether one was approved */
  async tellWaiting(folder: Folder): Promise<boolean> {
    if (!vscode.workspace.isTrusted) return false;
    for (const { name, state } of folder.extensions) {
      if (state !== 'unapproved' && state !== 'changed') continue;
      const key = `${folder.key} ${name} ${state}`;
      if (this.#told.has(key)) continue;
      this.#told.add(key);
      const look = 'Review';
      const what = state === 'changed' ? 'has changed since you approved it' : 'waits for your approval';
      const picked = await vscode.window.showWarningMessage(`The extension "${name}" of "${folder.name}" ${what}.`, look);
      if (picked === look && (await this.approve(folder, name))) return true;
    }
    return false;
  }

  /** Shows everything that an extension brings, and approves it if a person agrees. @returns whether it is approved */
  async approve(folder: Folder, name: string): Promise<boolean> {
    const extension = await folder.perform<ShownExtension>({ op: 'extensions', do: 'show', id: name });
    if (extension.problem !== undefined)
      throw new TollgateError('not_done', `\`${name}\` cannot be approved: ${extension.problem}`);
    if (extension.digest === undefined) return true;
    // The question may come while a person types, and the first button takes the Enter key: it must not be the one that approves.
    const look: vscode.MessageItem = { title: 'Show Files' };
    const approve: vscode.MessageItem = { title: 'Approve' };
    const later: vscode.MessageItem = { title: 'Not now', isCloseAffordance: true };
    const detail = broughtBy(extension).join('\n');
    const question = `Let everything that the extension "${name}" brings count in "${folder.name}"?`;
    const answer = await vscode.window.showWarningMessage(question, { modal: true, detail }, look, approve, later);
    if (answer === look) {
      await this.pages.show(`Extension ${name}`, textOf(extension), 'md');
      const again = 'Review';
      const picked = await vscode.window.showInformationMessage(`The extension "${name}" waits for your approval.`, again);
      return picked === again ? this.approve(folder, name) : false;
    }
    if (answer !== approve) return false;
    // Only what was shown is approved, whatever it has become meanwhile.
    await folder.perform({ op: 'extensions', do: 'approve', id: name, digest: extension.digest });
    await folder.record(['extensions', 'approve', name], APPROVALS);
    return true;
  }

  async enable(folder: Folder, name: string, on: boolean): Promise<void> {
    const what = on ? 'enable' : 'disable';
    const { file } = await folder.perform<{ file: string }>({ op: 'extensions', do: what, id: name });
    await folder.record(['extensions', what, name], file);
  }

  /** Sets something; what is a secret is not shown. */
  async set(folder: Folder, name: string): Promise<void> {
    const { settings = [] } = await folder.perform<ShownExtension>({ op: 'extensions', do: 'show', id: name });
    const setting = await pickSetting(name, settings);
    if (setting === undefined) return;
    const check = async (value: string) => {
      try {
        await folder.perform({ op: 'extensions', do: 'setting', id: name, key: setting.name, value });
        return undefined;
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    };
    const value = await vscode.window.showInputBox({
      title: `Tollgate: ${setting.name} of ${name}`,
      prompt: setting.description,
      password: setting.sensitive,
      validateInput: check,
    });
    if (value === undefined) return;
    const { file } = await folder.perform<{ file: string }>({ op: 'extensions', do: 'set', id: name, key: setting.name, value });
    await folder.record(['extensions', 'set', name, setting.name], file);
  }

  /** Puts the prompt of a skill into the chat, or into a page where the editor has none. */
  async invoke(folder: Folder): Promise<void> {
    const { skills } = await folder.perform<{ skills: SkillDetails[] }>({ op: 'skills', do: 'list' });
    if (skills.length === 0) {
      void vscode.window.showInformationMessage('Tollgate: there are no skills in this folder.');
      return;
    }
    const items = skills.map((skill) => ({ label: skill.name, description: skill.description, detail: skill.file, skill }));
    const picked = await vscode.window.showQuickPick(items, { title: 'Tollgate: which skill?', matchOnDescription: true });
    if (picked === undefined) return;
    const args: Record<string, string> = {};
    for (const { name, description, required, default: usual, enum: choices } of picked.skill.parameters) {
      const title = `Tollgate: ${name}${description === undefined ? '' : ` (${description})`}`;
      const given =
        choices === undefined
          ? await vscode.window.showInputBox({ title, value: usual ?? '' })
          : await vscode.window.showQuickPick(choices, { title });
      if (given === undefined) return;
      if (given !== '' || required) args[name] = given;
    }
    const { prompt } = await folder.perform<{ prompt: string }>({ op: 'skills', do: 'invoke', id: picked.skill.name, args });
    try {
      await vscode.commands.executeCommand('workbench.action.chat.open', { query: prompt, isPartialQuery: true });
    } catch {
      await this.pages.show(`Skill ${picked.skill.name}`, prompt, 'md');
    }
  }
}

function broughtBy({ shows }: ShownExtension): string[] {
  const lines = shows?.brings ?? [];
  return lines.length > MAX_LINES ? [...lines.slice(0, MAX_LINES), `and ${lines.length - MAX_LINES} more`] : lines;
}

/** What a person reads of an extension: everything that it brings, and the texts of its files. */
function textOf(extension: ShownExtension): string {
  const { name, version = '', description = '', shows } = extension;
  const texts = (shows?.texts ?? []).map(([path, content]) => `## ${path}\n\n\`\`\`\n${content}\n\`\`\`\n`);
  const hidden = shows?.not_shown ?? [];
  const rest = hidden.length === 0 ? [] : [`Not shown, because too long or not text: ${hidden.join(', ')}\n`];
  const brings = (shows?.brings ?? []).map((line) => `- ${line}`);
  return [`# ${name} ${version}`, '', description, '', ...brings, '', ...texts, ...rest].join('\n');
}

async function pickSetting(name: string, settings: ExtensionSetting[]): Promise<ExtensionSetting | undefined> {
  if (settings.length === 0) {
    void vscode.window.showInformationMessage(`Tollgate: there is nothing to set for ${name}.`);
    return undefined;
  }
  const shown = (setting: ExtensionSetting) => (setting.value === undefined ? 'not set' : String(setting.value));
  const items = settings.map((setting) => ({
    label: setting.name,
    description: shown(setting),
    detail: setting.description,
    setting,
  }));
  return (await vscode.window.showQuickPick(items, { title: `Tollgate: set what of ${name}?` }))?.setting;
}

/** The page that lists extensions. */
export function extensionsText(extensions: readonly ExtensionDetails[]): string {
  if (extensions.length === 0) return 'There are no extensions in .tollgate/extensions, here or in your home folder.\n';
  const lines = extensions.map(({ name, version = '', state, folder, why }) => {
    const reason = why === undefined ? '' : `\n    ${why}`;
    return `${name} ${version}: ${state} (${folder})${reason}`;
  });
  return `${lines.join('\n')}\n`;
}
