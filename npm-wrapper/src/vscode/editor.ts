// One editor window: its folders and everything shown about them.
import { randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import * as vscode from 'vscode';
import { Approvals } from './approvals.js';
import { commands } from './commands.js';
import { Diagnostics, INTENTS_FILE } from './diagnostics.js';
import { Extensions } from './extensions.js';
import { Folder } from './folder.js';
import type { Commit } from './git.js';
import { listen, observableTriggers } from './listeners.js';
import { hasModel, onModelsChanged, Prompts } from './models.js';
import { EditorOutput } from './output.js';
import { Pages } from './pages.js';
import { Status } from './status.js';
import { GateThread, type ThreadNotification } from './thread.js';
import { registerTools } from './tools.js';
import { IntentTree, VIEW } from './tree.js';

/** Changes within this time are processed together. */
const REFRESH_DELAY_MS = 150;

/** Files whose changes affect what is shown. */
const WATCHED = [
  `{${INTENTS_FILE},.orchestration/agent_trace.jsonl}`,
  '.tollgate/{hooks,config}.json',
  '.akira/hooks.json',
  '{.tollgate,.ollm}/extensions/**',
];

const SESSION_KEY = 'tollgate.session';

/** One editor window: its folders with their gates, and everything that is shown about them. */
export class Editor implements vscode.Disposable {
  readonly output = new EditorOutput();
  readonly pages = new Pages();
  readonly approvals = new Approvals(this.pages);
  readonly extensions = new Extensions(this.pages);
  /** The session of the window. It survives a restart of the editor. */
  readonly session: string;
  readonly #thread: GateThread;
  readonly #folders = new Map<string, Folder>();
  /** By folder and trigger. */
  readonly #listening = new Map<string, Map<string, vscode.Disposable>>();
  readonly #watchers = new Map<string, vscode.Disposable>();
  readonly #pending = new Map<string, NodeJS.Timeout>();
  readonly #status = new Status();
  readonly #diagnostics = new Diagnostics();
  readonly #tree = new IntentTree(() =>
    this.folders().filter(({ intents, extensions }) => intents.governed || extensions.length > 0),
  );
  readonly #prompts = new Prompts();
  readonly #changed = new vscode.EventEmitter<Folder>();
  readonly #disposables: vscode.Disposable[] = [];
  #hasModel = false;
  /** Folders are opened and closed in turn: an editor reports new folders and models while others are still being opened. */
  #turn: Promise<unknown> = Promise.resolve();
  #isDisposed = false;

  /** Fires when the information about a folder has been updated. */
  readonly onDidRefresh = this.#changed.event;

  constructor(context: vscode.ExtensionContext, worker: URL) {
    this.session = sessionOf(context.workspaceState);
    this.#thread = new GateThread(worker, (notification) => this.#handleNotification(notification));
    this.#disposables.push(
      this.pages,
      this.#status,
      this.#diagnostics,
      this.#prompts,
      this.#changed,
      vscode.window.onDidChangeActiveTextEditor(() => this.#showStatus()),
      vscode.workspace.onDidChangeWorkspaceFolders(({ removed }) =>
        this.#changeFolders(removed.map(({ uri }) => uri.toString())),
      ),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.#inTurn(() => this.#reopen())),
      onModelsChanged(() => this.#modelsChanged()),
      ...registerTools(
        context,
        () => this.shown(),
        (folder) => this.refresh(folder),
      ),
    );
    const views: { id?: string }[] = Object.values(context.extension.packageJSON?.contributes?.views ?? {}).flat() as [];
    if (views.some(({ id }) => id === VIEW))
      this.#disposables.push(vscode.window.createTreeView(VIEW, { treeDataProvider: this.#tree }));
    for (const [name, command] of Object.entries(commands(this))) {
      this.#disposables.push(vscode.commands.registerCommand(`tollgate.${name}`, (on) => this.#showErrors(command(on))));
    }
  }

  /** Opens the gates of the window's folders. */
  async start(): Promise<void> {
    // The thread is started in a separate turn of the event loop, so that other extensions do not wait for both parts at once.
    await setImmediate();
    await this.#inTurn(() => this.#openFolders());
    // The editor takes a while to report its language models; the gates are informed later.
    void this.#modelsChanged();
  }

  folders(): Folder[] {
    return [...this.#folders.values()];
  }

  /** The folder of a file; without a file, that of the active editor, or the first governed folder. */
  folder(uri?: vscode.Uri): Folder | undefined {
    if (uri === undefined) return this.shown() ?? this.folders()[0];
    const at = vscode.workspace.getWorkspaceFolder(uri);
    return at === undefined ? undefined : this.#folders.get(at.uri.toString());
  }

  /** The governed folder that is currently shown. */
  shown(): Folder | undefined {
    const governed = this.folders().filter(({ intents }) => intents.governed);
    const active = vscode.window.activeTextEditor?.document.uri;
    const at = active === undefined ? undefined : vscode.workspace.getWorkspaceFolder(active);
    return governed.find(({ key }) => key === at?.uri.toString()) ?? governed[0];
  }

  async refreshAll(): Promise<void> {
    await Promise.all(this.folders().map((folder) => this.refresh(folder)));
  }

  async refresh(folder: Folder): Promise<void> {
    // It may be closed in the meantime, and its gate does not answer then.
    const isOpen = () => this.#folders.get(folder.key) === folder;
    try {
      // The declared hooks determine which events must be observed.
      await folder.call('reload');
      await folder.refresh();
    } catch (error) {
      if (isOpen()) throw error;
    }
    if (!isOpen()) return;
    this.#diagnostics.show(folder);
    this.#tree.refresh();
    this.#showStatus();
    this.#changed.fire(folder);
    void this.#showErrors(this.extensions.notifyWaiting(folder).then((changed) => (changed ? this.refresh(folder) : undefined)));
  }

  /** Ends everything and waits for that. */
  async end(): Promise<void> {
    this.#disposeAll();
    await this.#thread.end();
    // It shows what the gates log until they have ended.
    this.output.dispose();
  }

  dispose(): void {
    void this.end();
  }

  #disposeAll(): void {
    this.#isDisposed = true;
    for (const timer of this.#pending.values()) clearTimeout(timer);
    for (const key of [...this.#folders.keys()]) this.#forget(key);
    for (const part of this.#disposables.splice(0)) part.dispose();
  }

  async #open(at: vscode.WorkspaceFolder): Promise<void> {
    // The gate reads files itself, which requires a local folder.
    if (at.uri.scheme !== 'file' || this.#isDisposed) return;
    const folder = new Folder(this.#thread, at, this.session);
    this.#folders.set(folder.key, folder);
    this.#thread.open({
      folder: folder.key,
      workspace: at.uri.fsPath,
      hooks: vscode.workspace.isTrusted,
      prompts: this.#hasModel,
      triggers: observableTriggers(),
    });
    this.#watchers.set(folder.key, this.#watch(folder));
    const begun = performance.now();
    await this.#showErrors(this.refresh(folder));
    const { intents, hooks } = folder;
    const what = intents.governed ? `${intents.intents.length} intents` : 'not governed';
    this.output.info(
      `${folder.name}: ${what}, ${hooks.length} hooks, session ${this.session} (${Math.round(performance.now() - begun)} ms)`,
    );
  }

  /** Does something once everything before it in `#turn` is done, unless the window is closing. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(() => (this.#isDisposed ? undefined : this.#showErrors(work())));
    this.#turn = done;
    return done;
  }

  /** Removes folders from what is shown at once, then closes their gates and opens those of new folders. */
  #changeFolders(removed: string[]): Promise<void> {
    for (const key of removed) this.#forget(key);
    this.#tree.refresh();
    this.#showStatus();
    return this.#inTurn(async () => {
      await Promise.all(removed.map((key) => this.#close(key)));
      await this.#openFolders();
    });
  }

  /** Opens the folders of the window that are not open. */
  async #openFolders(): Promise<void> {
    const isClosed = ({ uri }: vscode.WorkspaceFolder) => !this.#folders.has(uri.toString());
    await Promise.all((vscode.workspace.workspaceFolders ?? []).filter(isClosed).map((at) => this.#open(at)));
    // Others may have a new name.
    this.#tree.refresh();
    this.#showStatus();
  }

  /** Opens every gate again, because their options have changed. */
  async #reopen(): Promise<void> {
    await Promise.all(this.folders().map(({ key }) => this.#close(key)));
    await this.#openFolders();
  }

  async #modelsChanged(): Promise<void> {
    const has = await hasModel();
    if (has === this.#hasModel) return;
    this.#hasModel = has;
    await this.#inTurn(() => this.#reopen());
  }

  async #close(key: string): Promise<void> {
    this.#forget(key);
    await this.#thread.close(key).catch(() => {});
    this.#tree.refresh();
    this.#showStatus();
  }

  #forget(key: string): void {
    const folder = this.#folders.get(key);
    if (folder !== undefined) this.#diagnostics.clear(folder);
    this.#folders.delete(key);
    clearTimeout(this.#pending.get(key));
    this.#pending.delete(key);
    this.#watchers.get(key)?.dispose();
    this.#watchers.delete(key);
    for (const listener of this.#listening.get(key)?.values() ?? []) listener.dispose();
    this.#listening.delete(key);
  }

  #watch(folder: Folder): vscode.Disposable {
    const scheduleRefresh = () => {
      clearTimeout(this.#pending.get(folder.key));
      this.#pending.set(
        folder.key,
        setTimeout(() => void this.#showErrors(this.refresh(folder)), REFRESH_DELAY_MS),
      );
    };
    const watchers = WATCHED.flatMap((pattern) => {
      const watcher = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(folder.workspaceFolder, pattern));
      return [
        watcher,
        watcher.onDidChange(scheduleRefresh),
        watcher.onDidCreate(scheduleRefresh),
        watcher.onDidDelete(scheduleRefresh),
      ];
    });
    return vscode.Disposable.from(...watchers);
  }

  #handleNotification(notification: ThreadNotification): void {
    if (notification.type === 'unprompt') return this.#prompts.cancel(notification.prompt);
    const folder = this.#folders.get(notification.folder);
    if (notification.type === 'log') return this.output.log(folder?.name ?? notification.folder, notification);
    if (folder === undefined) return;
    switch (notification.type) {
      case 'record':
        return this.output.record(folder.name, notification.record);
      case 'listen':
        return this.#listen(folder, notification.trigger, notification.on);
      case 'approval':
        void this.#showErrors(
          this.approvals.ask(folder, notification.approval).then((approved) => (approved ? this.refresh(folder) : undefined)),
        );
        return;
      case 'prompt':
        void this.#prompts
          .run(notification.prompt, notification.hook, notification.text)
          .then((done) => this.#thread.reportPromptResult(notification.prompt, done));
    }
  }

  #listen(folder: Folder, trigger: string, on: boolean): void {
    const listening = this.#listening.get(folder.key) ?? new Map<string, vscode.Disposable>();
    this.#listening.set(folder.key, listening);
    listening.get(trigger)?.dispose();
    listening.delete(trigger);
    if (!on) return;
    const notify = (data: object) => void folder.call('notify', trigger, data, this.session).catch(() => {});
    const heard = (uri: vscode.Uri, details: Record<string, unknown>) => {
      const file = folder.relative(uri);
      if (file === undefined) return;
      const old = details.old_file instanceof vscode.Uri ? details.old_file : undefined;
      notify({ ...details, ...(old && { old_file: folder.relative(old) ?? old.fsPath }), file });
    };
    const committed = ({ root, ...commit }: Commit) => {
      const repo = vscode.workspace.getWorkspaceFolder(root)?.uri.toString() === folder.key ? folder.relative(root) : undefined;
      if (repo !== undefined) notify({ repo_root: repo === '' ? '.' : repo, ...commit });
    };
    const failed = (why: string) => this.output.warn(`${folder.name}: cannot listen to ${trigger}: ${why}`);
    listening.set(trigger, listen(trigger, heard, committed, failed));
  }

  #showStatus(): void {
    const governed = this.folders().filter(({ intents }) => intents.governed);
    this.#status.show(this.shown(), governed.length > 1);
  }

  /** Shows errors instead of throwing them: a failed command would show a stack trace. */
  async #showErrors<T>(work: Promise<T>): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.output.warn(message);
      void vscode.window.showErrorMessage(`Tollgate: ${message}`);
      return undefined;
    }
  }
}

function sessionOf(state: vscode.Memento): string {
  const kept = state.get<string>(SESSION_KEY);
  if (kept !== undefined) return kept;
  const session = `vscode-${randomBytes(4).toString('hex')}`;
  void state.update(SESSION_KEY, session);
  return session;
}
