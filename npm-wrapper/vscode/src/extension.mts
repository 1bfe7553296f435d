import type { ExtensionContext } from 'vscode';
import { activateTollgate, type TollgateApi } from '../../src/vscode/index.js';

let api: Promise<TollgateApi> | undefined;

/** The extension provides what any extension gets from `tollgate/vscode`. */
export function activate(context: ExtensionContext): Promise<TollgateApi> {
  api = activateTollgate(context);
  return api;
}

export async function deactivate(): Promise<void> {
  await (await api)?.dispose();
}
