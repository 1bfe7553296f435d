import * as vscode from 'vscode';
import type { HookApproval } from '../hooks.js';
import type { Folder } from './folder.js';

const LONGEST = 2_000;

/** Asks a person whether hooks of the workspace may run, one at a time. */
export class Approvals {
  #last: Promise<unknown> = Promise.resolve();

  /** @returns whether it was approved */
  ask(folder: Folder, approval: HookApproval): Promise<boolean> {
    const asked = this.#last.then(() => ask(folder, approval));
    this.#last = asked.catch(() => {});
    return asked;
  }
}

async function ask(folder: Folder, { hook, digest, why, shows }: HookApproval): Promise<boolean> {
  const approve: vscode.MessageItem = { title: 'Approve' };
  const later: vscode.MessageItem = { title: 'Not now', isCloseAffordance: true };
  const question =
    why === 'new'
      ? `The workspace "${folder.name}" wants to run the hook "${hook}".`
      : `The hook "${hook}" of the workspace "${folder.name}" has changed since you approved it.`;
  const options = { modal: true, detail: details(shows) };
  if ((await vscode.window.showWarningMessage(question, options, approve, later)) !== approve) return false;
  await folder.perform({ op: 'hooks', do: 'approve', id: hook, digest });
  return true;
}

/** What would run, as a person reads it. */
export function details({ declaration, runs, script, interpreter, before }: HookApproval['shows']): string {
  const lines = ['It would run:', ...runs.map((line) => `    ${line}`)];
  if (script !== null) lines.push(`Script: ${script}`);
  if (interpreter !== null) lines.push(`Interpreter: ${interpreter}`);
  if (before !== null) {
    lines.push('', 'What changed:');
    for (const key of new Set([...Object.keys(before), ...Object.keys(declaration)])) {
      const [was, is] = [written(before[key]), written(declaration[key])];
      if (was !== is) lines.push(`    ${key}: ${was} → ${is}`);
    }
  }
  lines.push('', 'Declaration:', JSON.stringify(declaration, null, 2));
  const text = lines.join('\n');
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

function written(value: unknown): string {
  return value === undefined ? '(none)' : JSON.stringify(value);
}
