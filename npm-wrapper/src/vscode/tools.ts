import * as vscode from 'vscode';
import type { Folder } from './folder.js';

/** Marks Tollgate's own tools in a manifest. */
const TAG = 'tollgate';

/** A tool as the extension's manifest declares it. */
interface Declared {
  name: string;
  displayName: string;
  tags?: string[];
}

/**
 * Tollgate's own tools for the editor's agents, as far as the manifest of the extension declares them, with the tag
 * `tollgate`.
 *
 * @param shown the folder that the person looks at
 * @param changed called when an intent may have been selected
 */
export function registerTools(
  context: vscode.ExtensionContext,
  shown: () => Folder | undefined,
  changed: (folder: Folder) => Promise<void>,
): vscode.Disposable[] {
  // Older editors, and those without agents, have no such interface.
  if (typeof vscode.lm?.registerTool !== 'function') return [];
  const declared: Declared[] = context.extension.packageJSON?.contributes?.languageModelTools ?? [];
  // An extension may declare tools of its own beside these.
  const own = declared.filter(({ tags }) => tags?.includes(TAG));
  return own.map(({ name, displayName }) =>
    vscode.lm.registerTool<object>(name, {
      prepareInvocation: () => ({ invocationMessage: displayName }),
      invoke: async ({ input }) => {
        const folder = present(shown());
        try {
          const text = await folder.call<string>('ownTool', folder.session, name, input);
          await changed(folder);
          return said(text);
        } catch (error) {
          return said(error instanceof Error ? error.message : String(error));
        }
      },
    }),
  );
}

function present(folder: Folder | undefined): Folder {
  if (folder === undefined) throw new Error('no folder of this window has intents; add .orchestration/active_intents.yaml');
  return folder;
}

function said(text: string): vscode.LanguageModelToolResult {
  return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(text)]);
}
