// Approving, enabling and setting up extensions, and invoking their skills.
import * as vscode from 'vscode';
import { TollgateError } from '../api/error.js';
import type { ExtensionDetails, ExtensionSetting, ExtensionReview, SkillDetails } from './answers.js';
import { APPROVALS_FILE } from './approvals.js';
import type { Folder } from './folder.js';
import type { Pages } from './pages.js';

/** A longer question does not fit on the screen. */
const MAX_LINES = 30;

/** Lets a person approve, enable and set up extensions, and invoke skills. */
export class Extensions {
  /** The extensions that a person has been notified of, with their states. */
  readonly #notified = new Set<string>();

  constructor(private readonly pages: Pages) {}

  /** Notifies a person of extensions that wait for approval, once for each. @returns whether one was approved */
  async notifyWaiting(folder: Folder): Promise<boolean> {
    if (!vscode.workspace.isTrusted) return false;
    for (const { name, state } of folder.extensions) {
      if (state !== 'unapproved' && state !== 'changed') continue;
      const key = `${folder.key} ${name} ${state}`;
      if (this.#notified.has(key)) continue;
      this.#notified.add(key);
      const look = 'Review';
      const what = state === 'changed' ? 'has changed since you approved it' : 'is waiting for your approval';
      const picked = await vscode.window.showWarningMessage(`The extension "${name}" of "${folder.name}" ${what}.`, look);
      if (picked === look && (await this.approve(folder, name))) return true;
    }
    return false;
  }

  /** Shows everything that an extension provides, and approves it if the person agrees. @returns whether it is approved */
  async approve(folder: Folder, name: string): Promise<boolean> {
    const extension = await folder.perform<ExtensionReview>({ op: 'extensions', do: 'show', id: name });
    if (extension.problem !== undefined)
      throw new TollgateError('not_done', `\`${name}\` cannot be approved: ${extension.problem}`);
    if (extension.digest === undefined) return true;
    // The question may appear while a person is typing, and Enter activates the first button, so that one must not approve.
    const look: vscode.MessageItem = { title: 'Show Files' };
    const approve: vscode.MessageItem = { title: 'Approve' };
    const later: vscode.MessageItem = { title: 'Not now', isCloseAffordance: true };
    const detail = approvalLines(extension).join('\n');
    const question = `Approve everything that the extension "${name}" provides in "${folder.name}"?`;
    const answer = await vscode.window.showWarningMessage(question, { modal: true, detail }, look, approve, later);
    if (answer === look) {
      await this.pages.show(`Extension ${name}`, extensionPage(extension), 'md');
      const again = 'Review';
      const picked = await vscode.window.showInformationMessage(`The extension "${name}" is waiting for your approval.`, again);
      return picked === again ? this.approve(folder, name) : false;
    }
    if (answer !== approve) return false;
    // Approves only what was shown, even if the files have changed since.
    await folder.perform({ op: 'extensions', do: 'approve', id: name, digest: extension.digest });
    await folder.record(['extensions', 'approve', name], APPROVALS_FILE);
    return true;
  }

  async enable(folder: Folder, name: string, on: boolean): Promise<void> {
    const what = on ? 'enable' : 'disable';
    const { file } = await folder.perform<{ file: string }>({ op: 'extensions', do: what, id: name });
    await folder.record(['extensions', what, name], file);
  }

  /** Asks for the value of a setting, without showing it if it is secret. */
  async set(folder: Folder, name: string): Promise<void> {
    const { settings = [] } = await folder.perform<ExtensionReview>({ op: 'extensions', do: 'show', id: name });
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

  /** Puts the prompt of a skill into the chat, or opens it as a page if the editor has no chat. */
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
    for (const { name, description, required, default: initial, enum: choices } of picked.skill.parameters) {
      const title = `Tollgate: ${name}${description === undefined ? '' : ` (${description})`}`;
      const given =
        choices === undefined
          ? await vscode.window.showInputBox({ title, value: initial ?? '' })
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

function approvalLines({ shows }: ExtensionReview): string[] {
  const lines = shows?.brings ?? [];
  return lines.length > MAX_LINES ? [...lines.slice(0, MAX_LINES), `and ${lines.length - MAX_LINES} more`] : lines;
}

/** The page about an extension: everything that it provides, and the contents of its files. */
function extensionPage(extension: ExtensionReview): string {
  const { name, version = '', description = '', shows } = extension;
  const texts = (shows?.texts ?? []).map(([path, content]) => `## ${path}\n\n\`\`\`\n${content}\n\`\`\`\n`);
  const hidden = shows?.not_shown ?? [];
  const rest = hidden.length === 0 ? [] : [`Not shown, because too long or not text: ${hidden.join(', ')}\n`];
  const brings = (shows?.brings ?? []).map((line) => `- ${line}`);
  return [`# ${name} ${version}`, '', description, '', ...brings, '', ...texts, ...rest].join('\n');
}

async function pickSetting(name: string, settings: ExtensionSetting[]): Promise<ExtensionSetting | undefined> {
  if (settings.length === 0) {
    void vscode.window.showInformationMessage(`Tollgate: the extension ${name} has no settings.`);
    return undefined;
  }
  const shown = (setting: ExtensionSetting) => (setting.value === undefined ? 'not set' : String(setting.value));
  const items = settings.map((setting) => ({
    label: setting.name,
    description: shown(setting),
    detail: setting.description,
    setting,
  }));
  return (await vscode.window.showQuickPick(items, { title: `Tollgate: which setting of ${name}?` }))?.setting;
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
