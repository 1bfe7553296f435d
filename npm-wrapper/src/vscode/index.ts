// The API for other extensions, and the activation of the extension.
import * as vscode from 'vscode';
import type * as gate from '../api/types.js';
import type { HookAnswer } from '../api/hook_types.js';
import { Lookups } from '../programs/lookups.js';
import { TollgateError } from '../api/error.js';
import { Editor } from './editor.js';

export type { HookAnswer } from '../api/hook_types.js';
export * from '../api/types.js';
export { type ErrorCode, TollgateError } from '../api/error.js';

/** The id of the extension that only calls `activateTollgate`. */
const EXTENSION = 'tollgate.tollgate';

/** The extensions of one window share the instance that the first of them created, under this name. */
const SHARED = Symbol.for('tollgate/vscode@0.2');

/** A tool call. Default session: that of the window. */
export type EditorCall = Omit<gate.ToolCall, 'session'> & { session?: string | undefined };

/**
 * The gates of an editor window.
 *
 * The gates run in a separate thread, so every answer is a promise. Each method takes a file or folder to choose the workspace;
 * by default it is the folder that is currently shown.
 */
export interface TollgateApi {
  /** The session of the window. */
  readonly session: string;
  /** The folders that have a gate. */
  readonly folders: readonly vscode.WorkspaceFolder[];
  /** Fires when the intents, the selection or the hooks of a folder may have changed. */
  readonly onDidChange: vscode.Event<vscode.WorkspaceFolder>;
  /**
   * Checks a call. Do not run the tool on `deny`; on `ask`, run it only if a person agrees. If the gate fails, the answer is
   * `ask` as well (`gate_fault`).
   */
  preTool(call: EditorCall, where?: vscode.Uri): Promise<gate.Ruling>;
  /** Records the result of a call in the ledger. */
  postTool(call: EditorCall, outcome: gate.Outcome, where?: vscode.Uri): Promise<gate.Settlement>;
  /** Looks up what is known about a call's concepts and adds it to the call. */
  augment(call: EditorCall, options?: gate.LookupOptions, where?: vscode.Uri): Promise<gate.Augmented>;
  /**
   * Handles a payload of an agent program, such as `generic` for your own, and answers in its format: checks a call, records its
   * result, runs hooks, and looks up concepts. If the promise is rejected, the tool must not run.
   */
  respond(program: string, event: string | undefined, payload: object, where?: vscode.Uri): Promise<gate.ProgramAnswer>;
  /** Reports an event to the hooks and waits for their answer. Their messages are also shown. */
  event(event: string, data?: object, session?: string, where?: vscode.Uri): Promise<HookAnswer>;
  /** Reports an event to the hooks without waiting. */
  notify(event: string, data?: object, where?: vscode.Uri): void;
  /** Makes an intent the only active one of a session. */
  selectIntent(intent: string, session?: string, where?: vscode.Uri): Promise<gate.Intent>;
  /** Removes the intent of a session. */
  clearIntent(session?: string, where?: vscode.Uri): Promise<void>;
  /** The intent of a session. */
  currentIntent(session?: string, where?: vscode.Uri): Promise<gate.Intent | undefined>;
  /** What the model should know about the session's intent; empty if there is none. */
  context(session?: string, limitChars?: number, where?: vscode.Uri): Promise<string>;
  /** Answers one JSON request, such as `{ op: 'trace', limit: 20 }`. */
  perform(line: object, where?: vscode.Uri): Promise<Record<string, unknown>>;
  /** Ends all running hooks and the gates. Return it from your own `deactivate`. */
  dispose(): Promise<void>;
}

/**
 * Sets up the gates of a window and everything that is shown about them: status bar, tree, diagnostics, commands, tools, hooks.
 * Views and tools that the extension's manifest does not declare are left out.
 *
 * If the Tollgate extension is installed, or another extension was activated first, its instance is shared.
 */
export async function activateTollgate(context: vscode.ExtensionContext): Promise<TollgateApi> {
  const installed = vscode.extensions.getExtension<TollgateApi>(EXTENSION);
  if (installed !== undefined && installed.id !== context.extension.id) return installed.activate();
  const shared = globalThis as { [SHARED]?: Promise<TollgateApi> };
  const ended = () => delete shared[SHARED];
  shared[SHARED] ??= start(context, ended);
  shared[SHARED].catch(ended);
  return shared[SHARED];
}

async function start(context: vscode.ExtensionContext, ended: () => void): Promise<TollgateApi> {
  const editor = new Editor(context, new URL('./gate-worker.cjs', import.meta.url));
  context.subscriptions.push(editor);
  await editor.start();

  const { session } = editor;
  const folderAt = (where: vscode.Uri | undefined) => {
    const folder = editor.folder(where);
    if (folder !== undefined) return folder;
    throw new TollgateError(
      'workspace_missing',
      `no folder of this window contains \`${where?.fsPath ?? ''}\`; open one that does`,
    );
  };
  const withSession = (call: EditorCall): gate.ToolCall => ({ ...call, session: call.session ?? session });
  const refreshAfter = async <T>(folder: ReturnType<typeof folderAt>, work: Promise<T>): Promise<T> => {
    const value = await work;
    await editor.refresh(folder);
    return value;
  };

  return {
    session,
    get folders() {
      return editor.folders().map((folder) => folder.workspaceFolder);
    },
    onDidChange: (listener, self, disposables) =>
      editor.onDidRefresh((folder) => listener.call(self, folder.workspaceFolder), undefined, disposables),
    preTool: async (call, where) => folderAt(where).rule(withSession(call)),
    postTool: async (call, outcome, where) => folderAt(where).call('postTool', withSession(call), outcome),
    augment: async (call, options, where) => {
      const folder = folderAt(where);
      if (options === undefined) return folder.call('augmentWith', withSession(call));
      // Functions cannot be sent to another thread.
      const plan = await folder.call<gate.LookupPlan>('planLookups', withSession(call));
      const askServer = (params: object) => folder.call<unknown>('mcp', 'lookup', params);
      const lookups = new Lookups(folder.workspaceFolder.uri.fsPath, options, askServer);
      return folder.call('augment', withSession(call), await lookups.run(plan));
    },
    respond: async (program, event, payload, where) => folderAt(where).call('respond', program, event, payload),
    event: async (event, data = {}, of = session, where) => {
      const answer = await folderAt(where).call<HookAnswer>('event', event, of, data);
      if (answer.systemMessage !== null) {
        editor.output.info(answer.systemMessage);
        void vscode.window.showInformationMessage(answer.systemMessage);
      }
      return answer;
    },
    notify: (event, data = {}, where) =>
      void folderAt(where)
        .call('notify', event, data, session)
        .catch(() => {}),
    selectIntent: async (intent, of = session, where) => {
      const folder = folderAt(where);
      return refreshAfter(folder, folder.call<gate.Intent>('selectIntent', of, intent));
    },
    clearIntent: async (of = session, where) => {
      const folder = folderAt(where);
      return refreshAfter(folder, folder.call<void>('clearIntent', of));
    },
    currentIntent: async (of = session, where) => folderAt(where).call('currentIntent', of),
    context: async (of = session, limitChars, where) => folderAt(where).call('context', of, limitChars),
    perform: async (line, where) => folderAt(where).call('perform', line),
    dispose: async () => {
      ended();
      await editor.end();
    },
  };
}
