// Answers the prompts of hooks with the editor's language model.
import * as vscode from 'vscode';
import type { PromptResult } from './messages.js';

/** Missing in editors without language models. */
const models = (): typeof vscode.lm | undefined => vscode.lm;

/** Whether the editor has a language model for prompts. */
export async function hasModel(): Promise<boolean> {
  try {
    return ((await models()?.selectChatModels()) ?? []).length > 0;
  } catch {
    return false;
  }
}

/** Calls back when the available models change. */
export function onModelsChanged(changed: () => void): vscode.Disposable {
  return models()?.onDidChangeChatModels?.(changed) ?? new vscode.Disposable(() => {});
}

/** Prompts that are being answered by the editor's language model. */
export class Prompts implements vscode.Disposable {
  readonly #running = new Map<number, vscode.CancellationTokenSource>();

  /** Answers a prompt, from which the gate has removed secrets. */
  async run(id: number, hook: string, text: string): Promise<PromptResult> {
    const source = new vscode.CancellationTokenSource();
    this.#running.set(id, source);
    try {
      const [model] = (await models()?.selectChatModels()) ?? [];
      if (model === undefined) return { failed: 'the editor no longer has a language model' };
      const justification = `The Tollgate hook ${hook} asks the language model.`;
      const answer = await model.sendRequest([vscode.LanguageModelChatMessage.User(text)], { justification }, source.token);
      let stdout = '';
      for await (const piece of answer.text) stdout += piece;
      return { exitCode: 0, stdout };
    } catch (error) {
      return { failed: error instanceof Error ? error.message : String(error) };
    } finally {
      this.#running.delete(id);
      source.dispose();
    }
  }

  cancel(id: number): void {
    this.#running.get(id)?.cancel();
  }

  dispose(): void {
    for (const source of this.#running.values()) source.cancel();
  }
}
