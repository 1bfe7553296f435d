import * as vscode from 'vscode';
import type {
  Augmented,
  Intent,
  LookupOptions,
  LookupPlan,
  Outcome,
  ProgramAnswer,
  Ruling,
  Settlement,
  ToolCall,
} from '../api/types.js';
import type { HookAnswer } from '../api/hook_types.js';
import { Lookups } from '../programs/lookups.js';
import { TollgateError } from '../api/error.js';
import { Editor } from './editor.js';

export type { HookAnswer } from '../api/hook_types.js';
export * from '../api/types.js';
export { type ErrorCode, TollgateError } from '../api/error.js';

/** The id of the extension that is nothing but `activateTollgate`. */
const EXTENSION = 'tollgate.tollgate';

/** Under this name the extensions of one window share what the first of them made. */
const SHARED = Symbol.for('tollgate/vscode@0.2');

/** A call of a tool; without a session, the window's own. */
export type EditorCall = Omit<ToolCall, 'session'> & { session?: string | undefined };

/**
 * The gates of an editor window.
 *
 * The gates live in a thread of their own, so every answer is a promise. Each method takes a file or folder of the workspace
 * that is meant; without one it is the folder that the person looks at.
 */
export interface TollgateApi {
  /** The window's own session. */
  readonly session: string;
  /** The folders that have a gate. */
  readonly folders: readonly vscode.WorkspaceFolder[];
  /** Fires when the intents, the selection or the hooks of a folder may have changed. */
  readonly onDidChange: vscode.Event<vscode.WorkspaceFolder>;
  /**
   * Rules on one call. Do not run the tool on `deny`, and have a person's word before you do on `ask`, which is also the answer
   * where the gate fails (`gate_fault`).
   */
  preTool(call: EditorCall, where?: vscode.Uri): Promise<Ruling>;
  /** Enters what came of a call in the ledger. */
  postTool(call: EditorCall, outcome: Outcome, where?: vscode.Uri): Promise<Settlement>;
  /** Looks up what is known about a call's concepts, and puts it where it serves. */
  augment(call: EditorCall, options?: LookupOptions, where?: vscode.Uri): Promise<Augmented>;
  /**
   * Answers the payload of an agent program, such as `generic` for one of your own, in the program's words: rules on a call, enters
   * what came of it, runs hooks, looks up what is known. Where the promise is rejected, a tool must not run.
   */
  respond(program: string, event: string | undefined, payload: object, where?: vscode.Uri): Promise<ProgramAnswer>;
  /** Passes an event to the hooks and waits for their answer. What they have to say is also shown. */
  event(event: string, data?: object, session?: string, where?: vscode.Uri): Promise<HookAnswer>;
  /** Tells the hooks of an event, and waits for nothing. */
  notify(event: string, data?: object, where?: vscode.Uri): void;
  /** Makes an intent the session's only active one. */
  selectIntent(intent: string, session?: string, where?: vscode.Uri): Promise<Intent>;
  /** Leaves the session without an intent. */
  clearIntent(session?: string, where?: vscode.Uri): Promise<void>;
  /** The session's intent. */
  currentIntent(session?: string, where?: vscode.Uri): Promise<Intent | undefined>;
  /** What the model should know about the session's intent. Empty where there is none. */
  context(session?: string, limitChars?: number, where?: vscode.Uri): Promise<string>;
  /** Answers one JSON operation, such as `{ op: 'trace', limit: 20 }`. */
  perform(line: object, where?: vscode.Uri): Promise<Record<string, unknown>>;
  /** Ends every hook that runs, and the gates. Return it from your own `deactivate`. */
  dispose(): Promise<void>;
}

/**
 * Gives an extension the gates of its window with everything that is shown of them: status bar, tree, diagnostics, commands, tools,
 * hooks. What the extension's manifest does not declare (views, tools) is left out.
 *
 * Where the Tollgate extension is installed, or another extension was first, theirs is shared.
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
  const at = (where: vscode.Uri | undefined) => {
    const folder = editor.folder(where);
    if (folder !== undefined) return folder;
    throw new TollgateError('workspace_missing', `no folder of this window holds \`${where?.fsPath ?? ''}\`; open one that does`);
  };
  const whole = (call: EditorCall): ToolCall => ({ ...call, session: call.session ?? session });
  const refreshed = async <T>(folder: ReturnType<typeof at>, work: Promise<T>): Promise<T> => {
    const value = await work;
    await editor.refresh(folder);
    return value;
  };

  return {
    session,
    get folders() {
      return editor.folders().map((folder) => folder.at);
    },
    onDidChange: (listener, self, disposables) =>
      editor.onDidRefresh((folder) => listener.call(self, folder.at), undefined, disposables),
    preTool: async (call, where) => at(where).rule(whole(call)),
    postTool: async (call, outcome, where) => at(where).call('postTool', whole(call), outcome),
    augment: async (call, options, where) => {
      const folder = at(where);
      if (options === undefined) return folder.call('augmentWith', whole(call));
      // Functions of the embedder's cannot go to another thread.
      const plan = await folder.call<LookupPlan>('planLookups', whole(call));
      const lookups = new Lookups(folder.at.uri.fsPath, options);
      try {
        return await folder.call('augment', whole(call), await lookups.carryOut(plan));
      } finally {
        await lookups.close();
      }
    },
    respond: async (program, event, payload, where) => at(where).call('respond', program, event, payload),
    event: async (event, data = {}, of = session, where) => {
      const answer = await at(where).call<HookAnswer>('event', event, of, data);
      if (answer.systemMessage !== null) {
        editor.output.info(answer.systemMessage);
        void vscode.window.showInformationMessage(answer.systemMessage);
      }
      return answer;
    },
    notify: (event, data = {}, where) =>
      void at(where)
        .call('notify', event, data, session)
        .catch(() => {}),
    selectIntent: async (intent, of = session, where) => {
      const folder = at(where);
      return refreshed(folder, folder.call<Intent>('selectIntent', of, intent));
    },
    clearIntent: async (of = session, where) => {
      const folder = at(where);
      return refreshed(folder, folder.call<void>('clearIntent', of));
    },
    currentIntent: async (of = session, where) => at(where).call('currentIntent', of),
    context: async (of = session, limitChars, where) => at(where).call('context', of, limitChars),
    perform: async (line, where) => at(where).call('perform', line),
    dispose: async () => {
      ended();
      await editor.end();
    },
  };
}
