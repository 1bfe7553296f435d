// The active intent in the status bar.
import * as vscode from 'vscode';
import type { Folder } from './folder.js';

/** Shows the active intent in the status bar. A click selects another one. */
export class Status implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem('tollgate.intent', vscode.StatusBarAlignment.Left, 50);

  constructor() {
    this.#item.name = 'Tollgate intent';
  }

  /** @param folder the folder that is currently shown; `undefined` if no folder is governed */
  show(folder: Folder | undefined, isOneOfMany: boolean): void {
    if (folder === undefined) return this.#item.hide();
    const { current, intents } = folder;
    this.#item.command = { command: 'tollgate.selectIntent', title: 'Select Intent', arguments: [{ folder }] };
    const broken = intents.diagnostics.some(({ severity }) => severity === 'error');
    const text = current === undefined ? 'no intent' : current.id;
    this.#item.text = `$(${broken ? 'warning' : 'milestone'}) ${isOneOfMany ? `${folder.name}: ` : ''}${text}`;
    this.#item.backgroundColor = broken ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
    const said = new vscode.MarkdownString();
    if (current === undefined)
      said.appendText('Tollgate: no intent is selected, so agents that the gate checks cannot change anything.');
    else said.appendText(`Tollgate: ${current.id}, ${current.name} (${current.status})`);
    if (broken) said.appendText('\n\nThe intents file has errors; the last good version is in force.');
    said.appendText('\n\nClick to select another intent.');
    this.#item.tooltip = said;
    this.#item.accessibilityInformation = { label: `Tollgate intent: ${text}`, role: 'button' };
    this.#item.show();
  }

  dispose(): void {
    this.#item.dispose();
  }
}
