import * as vscode from 'vscode';
import type { PromptResult } from './messages.js';

/** Editors without language models have no such interface. */
const models = (): typeof vscode.lm | undefined => vscode.lm;

/** Whether the editor has a language model for prompts. */
export async function hasModel(): Promise<boolean> {
  try {
    return ((await models()?.selectChatModels()) ?? []).length > 0;
  } catch {
    return false;
  }
}

/** Tells when the editor's models come and go. */
export function onModels(changed: () => void): vscode.Disposable {
  return models()?.onDidChangeChatModels?.(changed) ?? new vscode.Disposable(() => {});
}

/** Prompts that the editor's language model works on. */
export class Prompts implements vscode.Disposable {
  readonly #underWay = new Map<number, vscode.CancellationTokenSource>();

  /** Runs a prompt, whose secrets the gate has taken out. */
  async run(id: number, hook: string, text: string): Promise<PromptResult> {
    const source = new vscode.CancellationTokenSource();
    this.#underWay.set(id, source);
    try {
      const [model] = (await models()?.selectChatModels()) ?? [];
      if (model === undefined) return { failed: 'the editor has no language model any more' };
      const justification = `The Tollgate hook ${hook} asks the language model.`;
      const answer = await model.sendRequest([vscode.LanguageModelChatMessage.User(text)], { justification }, source.token);
      let stdout = '';
      for await (const piece of answer.text) stdout += piece;
      return { exitCode: 0, stdout };
    } catch (error) {
      return { failed: error instanceof Error ? error.message : String(error) };
    } finally {
      this.#underWay.delete(id);
      source.dispose();
    }
  }

  cancel(id: number): void {
    this.#underWay.get(id)?.cancel();
  }

  dispose(): void {
    for (const source of this.#underWay.values()) source.cancel();
  }
}
