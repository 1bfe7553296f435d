// The extension's commands.
import * as vscode from 'vscode';
import type { HookRecord } from '../api/hook_types.js';
import type { Verification } from '../api/ledger.js';
import type { ExtensionDetails, HookDetails, IntentDetails, StoredHookRecord } from './answers.js';
import { APPROVALS_FILE } from './approvals.js';
import { INTENTS_FILE } from './diagnostics.js';
import type { Editor } from './editor.js';
import { extensionsText } from './extensions.js';
import type { Folder } from './folder.js';
import { entriesText, historyText, hooksText, intentsText, verificationText } from './pages.js';

/** How many entries of the ledger and of the hook history a page shows. */
const MAX_ENTRIES = 500;

/** A node of the tree, if a command was invoked on one. */
interface CommandTarget {
  folder?: Folder;
  intent?: IntentDetails;
  extension?: ExtensionDetails;
}

/** All commands that the manifest declares, by their names after `tollgate.`. */
export function commands(editor: Editor): Record<string, (on?: CommandTarget) => Promise<unknown>> {
  const { pages } = editor;

  /** Calls `use` with the folder: the one the command was invoked on, the only one, or one that the person picks. */
  async function withFolder(on: CommandTarget | undefined, use: (folder: Folder) => Promise<unknown>): Promise<unknown> {
    const folder = on?.folder ?? (await pickFolder(editor));
    return folder === undefined ? undefined : use(folder);
  }

  async function withHook(
    what: string,
    fits: (hook: HookDetails) => boolean,
    use: (folder: Folder, hook: string) => Promise<unknown>,
  ) {
    return withFolder(undefined, async (folder) => {
      await folder.refresh();
      const hooks = folder.hooks.filter(fits);
      if (hooks.length === 0) return vscode.window.showInformationMessage(`Tollgate: there is no hook to ${what}.`);
      const items = hooks.map(({ id, trigger, kind, trust }) => ({
        label: id,
        description: trigger,
        detail: `${kind}, ${trust}`,
      }));
      const picked = await vscode.window.showQuickPick(items, { title: `Tollgate: ${what} a hook`, matchOnDescription: true });
      if (picked === undefined) return undefined;
      await use(folder, picked.label);
      return editor.refresh(folder);
    });
  }

  async function withExtension(
    on: CommandTarget | undefined,
    what: string,
    fits: (extension: ExtensionDetails) => boolean,
    use: (folder: Folder, name: string) => Promise<unknown>,
  ) {
    return withFolder(on, async (folder) => {
      await folder.refresh();
      const extensions = folder.extensions.filter(fits);
      let name = on?.extension?.name;
      if (name === undefined) {
        if (extensions.length === 0) return vscode.window.showInformationMessage(`Tollgate: there is no extension to ${what}.`);
        const items = extensions.map((extension) => ({ label: extension.name, description: extension.state }));
        name = (await vscode.window.showQuickPick(items, { title: `Tollgate: ${what} an extension` }))?.label;
      }
      if (name === undefined) return undefined;
      await use(folder, name);
      return editor.refresh(folder);
    });
  }

  return {
    'extensions.list': (on) =>
      withFolder(on, async (folder) => {
        await editor.refresh(folder);
        await pages.show(`Extensions of ${folder.name}`, extensionsText(folder.extensions));
      }),
    'extensions.enable': (on) =>
      withExtension(
        on,
        'enable',
        ({ state }) => state === 'disabled',
        (folder, name) => editor.extensions.enable(folder, name, true),
      ),
    'extensions.disable': (on) =>
      withExtension(
        on,
        'disable',
        ({ state }) => state !== 'disabled' && state !== 'invalid',
        (folder, name) => editor.extensions.enable(folder, name, false),
      ),
    'extensions.approve': (on) =>
      withExtension(
        on,
        'approve',
        ({ state }) => state === 'unapproved' || state === 'changed',
        (folder, name) => editor.extensions.approve(folder, name),
      ),
    'extensions.set': (on) =>
      withExtension(
        on,
        'set up',
        ({ settings = [] }) => settings.length > 0,
        (folder, name) => editor.extensions.set(folder, name),
      ),
    'skills.insert': (on) => withFolder(on, (folder) => editor.extensions.invoke(folder)),
    selectIntent: (on) =>
      withFolder(on, async (folder) => {
        const intent = on?.intent?.id ?? (await pickIntent(folder, 'Tollgate: select an intent'));
        if (intent === undefined) return;
        if (intent === '') await folder.call('clearIntent', folder.session);
        else await folder.call('selectIntent', folder.session, intent);
        await editor.refresh(folder);
      }),
    clearIntent: (on) =>
      withFolder(on, async (folder) => {
        await folder.call('clearIntent', folder.session);
        await editor.refresh(folder);
      }),
    selectDefault: (on) =>
      withFolder(on, async (folder) => {
        const intent = on?.intent?.id ?? (await pickIntent(folder, 'Tollgate: select an intent for new sessions'));
        if (intent === undefined) return;
        await folder.perform({ op: 'select-default', intent: intent === '' ? null : intent });
        await folder.record(['intents', 'select', intent === '' ? '--none' : intent], 'the intent of every new session');
        await editor.refresh(folder);
      }),
    listIntents: (on) =>
      withFolder(on, async (folder) => {
        await editor.refresh(folder);
        await pages.show(`Intents of ${folder.name}`, intentsText(folder.intents.intents), 'md');
      }),
    showContext: (on) =>
      withFolder(on, async (folder) => {
        const text = await folder.call<string>('context', folder.session);
        const none = 'No intent is selected, so an agent is told nothing.\n';
        await pages.show(`Context of ${folder.current?.id ?? folder.name}`, text === '' ? none : text, 'md');
      }),
    showTrace: (on) =>
      withFolder(on, async (folder) => {
        const entries = await folder.entries(MAX_ENTRIES, on?.intent?.id);
        await pages.show(`Ledger of ${on?.intent?.id ?? folder.name}`, entriesText(entries));
      }),
    verifyLedger: (on) =>
      withFolder(on, async (folder) => {
        const progress = { location: vscode.ProgressLocation.Window, title: 'Tollgate is verifying the ledger' };
        const report = await vscode.window.withProgress(progress, () => folder.perform<Verification>({ op: 'verify' }));
        const text = verificationText(report);
        editor.output[report.ok ? 'info' : 'warn'](`${folder.name}: ${text.split('\n', 1)[0]}`);
        const show = report.ok ? vscode.window.showInformationMessage : vscode.window.showErrorMessage;
        const more = 'Show Report';
        const said = report.ok
          ? `The ledger is intact: ${report.entries} entries.`
          : `The ledger failed verification: ${report.faults[0]?.what ?? 'see the report'}`;
        // The command does not wait for the person's answer.
        void show(said, more).then((picked) =>
          picked === more ? pages.show(`Verification of ${folder.name}`, text) : undefined,
        );
      }),
    openIntents: (on) =>
      withFolder(on, async (folder) => {
        const document = await vscode.workspace.openTextDocument(folder.uri(INTENTS_FILE));
        const row = on?.intent === undefined ? -1 : lineOf(document, on.intent.id);
        const selection = row < 0 ? {} : { selection: new vscode.Range(row, 0, row, 0) };
        await vscode.window.showTextDocument(document, selection);
      }),
    refresh: () => editor.refreshAll(),
    showOutput: async () => editor.output.show(),
    'hooks.list': (on) =>
      withFolder(on, async (folder) => {
        await editor.refresh(folder);
        await pages.show(`Hooks of ${folder.name}`, hooksText(folder.hooks));
      }),
    'hooks.approve': () =>
      withHook(
        'approve',
        ({ trust }) => trust === 'new' || trust === 'changed',
        (folder, id) => editor.approvals.review(folder, id),
      ),
    'hooks.revoke': () =>
      withHook(
        'revoke',
        ({ trust }) => trust === 'approved',
        async (folder, id) => {
          await folder.perform({ op: 'hooks', do: 'revoke', id });
          await folder.record(['hooks', 'revoke', id], APPROVALS_FILE);
        },
      ),
    'hooks.run': () =>
      withHook(
        'run',
        ({ enabled }) => enabled,
        async (folder, id) => {
          editor.output.show();
          const file = vscode.window.activeTextEditor?.document.uri;
          const relative = file === undefined ? undefined : folder.relative(file);
          await folder.call<HookRecord>('run', id, relative === undefined ? {} : { file: relative });
        },
      ),
    'hooks.history': (on) =>
      withFolder(on, async (folder) => {
        const asked = { op: 'hooks', do: 'history', limit: MAX_ENTRIES };
        const { records } = await folder.perform<{ records: StoredHookRecord[] }>(asked);
        await pages.show(`Hook history of ${folder.name}`, historyText(records));
      }),
  };
}

async function pickFolder(editor: Editor): Promise<Folder | undefined> {
  const folders = editor.folders();
  if (folders.length < 2) {
    if (folders.length === 0) void vscode.window.showInformationMessage('Tollgate: open a folder first.');
    return folders[0];
  }
  const shown = editor.shown();
  const items = folders.map((folder) => ({
    label: folder.name,
    folder,
    description: folder === shown ? 'of the active editor' : '',
  }));
  return (await vscode.window.showQuickPick(items, { title: 'Tollgate: which folder?' }))?.folder;
}

/** @returns the id, `null` for no intent, or `undefined` if the person canceled */
async function pickIntent(folder: Folder, title: string): Promise<string | undefined> {
  await folder.refresh();
  const { current, intents } = folder;
  const open = intents.intents.filter((intent) => intent.open);
  if (open.length === 0) {
    const said = intents.governed ? 'There is no open intent.' : 'There is no .orchestration/active_intents.yaml in this folder.';
    void vscode.window.showInformationMessage(`Tollgate: ${said}`);
    return undefined;
  }
  const items = open.map(({ id, name, status, owned_scope }) => ({
    label: `$(${id === current?.id ? 'circle-filled' : 'circle-outline'}) ${id}`,
    description: `${name} · ${status}`,
    detail: owned_scope.join('  '),
    id,
  }));
  const none = { label: '$(circle-slash) None', description: 'work for no intent', detail: '', id: '' };
  const picked = await vscode.window.showQuickPick([...items, none], {
    title,
    placeHolder: current === undefined ? 'No intent is selected' : `${current.id} is selected`,
    matchOnDescription: true,
    matchOnDetail: true,
  });
  return picked?.id;
}

/** The line where an intent starts in the file. */
function lineOf(document: vscode.TextDocument, id: string): number {
  for (let row = 0; row < document.lineCount; row += 1) {
    const { text } = document.lineAt(row);
    if (/\bid\s*:/.test(text) && text.includes(id)) return row;
  }
  return -1;
}
