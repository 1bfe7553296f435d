// Tollgate's own tools, for the editor's agents.
import * as vscode from 'vscode';
import type { Folder } from './folder.js';

/** Marks Tollgate's own tools in a manifest. */
const TAG = 'tollgate';

/** A tool, as declared in the extension's manifest. */
interface DeclaredTool {
  name: string;
  displayName: string;
  tags?: string[];
}

/**
 * Registers Tollgate's own tools for the editor's agents, as far as the extension's manifest declares them with the tag
 * `tollgate`.
 *
 * @param shown returns the folder that is currently shown
 * @param changed called when an intent may have been selected
 */
export function registerTools(
  context: vscode.ExtensionContext,
  shown: () => Folder | undefined,
  changed: (folder: Folder) => Promise<void>,
): vscode.Disposable[] {
  // Missing in older editors and in those without agents.
  if (typeof vscode.lm?.registerTool !== 'function') return [];
  const declared: DeclaredTool[] = context.extension.packageJSON?.contributes?.languageModelTools ?? [];
  // An extension may declare other tools as well.
  const own = declared.filter(({ tags }) => tags?.includes(TAG));
  return own.map(({ name, displayName }) =>
    vscode.lm.registerTool<object>(name, {
      prepareInvocation: () => ({ invocationMessage: displayName }),
      invoke: async ({ input }) => {
        const folder = requireFolder(shown());
        try {
          const text = await folder.call<string>('ownTool', folder.session, name, input);
          await changed(folder);
          return textResult(text);
        } catch (error) {
          return textResult(error instanceof Error ? error.message : String(error));
        }
      },
    }),
  );
}

function requireFolder(folder: Folder | undefined): Folder {
  if (folder === undefined) throw new Error('no folder of this window has intents; add .orchestration/active_intents.yaml');
  return folder;
}

function textResult(text: string): vscode.LanguageModelToolResult {
  return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(text)]);
}
