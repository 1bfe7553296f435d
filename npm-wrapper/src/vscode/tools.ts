import * as vscode from 'vscode';
import type { Folder } from './folder.js';
import { intentsText } from './pages.js';

interface Input {
  intent_id?: string;
}

/**
 * The tools for the editor's own agents, as far as the manifest of the extension declares them.
 *
 * @param shown the folder that the person looks at
 * @param changed called when an intent was selected
 */
export function registerTools(
  context: vscode.ExtensionContext,
  shown: () => Folder | undefined,
  changed: (folder: Folder) => Promise<void>,
): vscode.Disposable[] {
  // Older editors, and those without agents, have no such interface.
  if (typeof vscode.lm?.registerTool !== 'function') return [];
  const declared: { name?: string }[] = context.extension.packageJSON?.contributes?.languageModelTools ?? [];
  const tools: [string, vscode.LanguageModelTool<Input>][] = [
    [
      'select_active_intent',
      {
        prepareInvocation: ({ input }) => ({ invocationMessage: `Selecting the intent ${input.intent_id}` }),
        invoke: async ({ input }) => {
          const folder = present(shown());
          try {
            await folder.call('selectIntent', folder.session, input.intent_id ?? '');
          } catch (error) {
            return said(error instanceof Error ? error.message : String(error));
          }
          await changed(folder);
          return said(await folder.call<string>('context', folder.session));
        },
      },
    ],
    [
      'list_intents',
      {
        prepareInvocation: () => ({ invocationMessage: 'Listing the intents' }),
        invoke: async () => {
          const folder = present(shown());
          await folder.refresh();
          return said(intentsText(folder.intents.intents));
        },
      },
    ],
  ];
  return tools
    .filter(([name]) => declared.some((tool) => tool.name === name))
    .map(([name, tool]) => vscode.lm.registerTool(name, tool));
}

function present(folder: Folder | undefined): Folder {
  if (folder === undefined) throw new Error('no folder of this window has intents; add .orchestration/active_intents.yaml');
  return folder;
}

function said(text: string): vscode.LanguageModelToolResult {
  return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(text)]);
}
