// One workspace folder with its gate.
import * as os from 'node:os';
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Intent, Ruling, ToolCall } from '../api/types.js';
import { type ErrorCode, TollgateError } from '../api/error.js';
import type { LedgerEntry } from '../api/ledger.js';
import type {
  ExtensionDetails,
  ExtensionList,
  HookDetails,
  HookFault,
  HookList,
  IntentList,
  ServerDetails,
  ServerTool,
  TracePage,
} from './answers.js';
import type { GateThread } from './thread.js';

/** At most this many pages of the ledger are searched for one answer; each is a limited part of the file. */
const MAX_PAGES = 8;

/** One workspace folder with its gate, and what the editor shows about it. */
export class Folder {
  /** Its name in messages between the threads. */
  readonly key: string;
  #intents: IntentList = { governed: false, intents: [], diagnostics: [] };
  #current: Intent | undefined;
  #hooks: HookDetails[] = [];
  #faults: HookFault[] = [];
  #extensions: ExtensionDetails[] = [];
  #servers: ServerDetails[] = [];

  constructor(
    readonly thread: GateThread,
    readonly workspaceFolder: vscode.WorkspaceFolder,
    readonly session: string,
  ) {
    this.key = workspaceFolder.uri.toString();
  }

  get name(): string {
    return this.workspaceFolder.name;
  }

  get intents(): IntentList {
    return this.#intents;
  }

  /** The intent of the editor's own session. */
  get current(): Intent | undefined {
    return this.#current;
  }

  get hooks(): readonly HookDetails[] {
    return this.#hooks;
  }

  get faults(): readonly HookFault[] {
    return this.#faults;
  }

  get extensions(): readonly ExtensionDetails[] {
    return this.#extensions;
  }

  /** The declared MCP servers. */
  get servers(): readonly ServerDetails[] {
    return this.#servers;
  }

  /** Connects to an MCP server, and returns its tools and its state. */
  async connect(server: string): Promise<{ tools: ServerTool[]; server: ServerDetails | undefined }> {
    const { tools, servers } = await this.call<{ tools: ServerTool[]; servers: ServerDetails[] }>('mcp', 'tools', { server });
    this.#servers = servers;
    return { tools: tools.filter((tool) => tool.server === server), server: servers.find(({ name }) => name === server) };
  }

  call<T>(method: string, ...args: unknown[]): Promise<T> {
    return this.thread.call<T>(this.key, method, ...args);
  }

  rule(call: ToolCall): Promise<Ruling> {
    return this.thread.rule(this.key, call);
  }

  /** Sends a JSON request and returns the answer, or throws the gate's error. */
  async perform<T>(line: Record<string, unknown>): Promise<T> {
    const answer = await this.call<T & { error?: { code: string; message: string } }>('perform', line);
    if (answer.error !== undefined) throw new TollgateError(answer.error.code as ErrorCode, answer.error.message);
    return answer;
  }

  /** Records in the ledger what a person did here that only a person may do. `command` is the equivalent command line. */
  async record(command: string[], changed: string): Promise<void> {
    await this.perform({ op: 'person', step: 'record', command, user: os.userInfo().username, changed: [changed] });
  }

  /** Updates everything that is shown. */
  async refresh(): Promise<void> {
    const [intents, current, { hooks, faults }, listed, { servers }] = await Promise.all([
      this.perform<IntentList>({ op: 'list-intents' }),
      this.call<Intent | undefined>('currentIntent', this.session),
      this.perform<HookList>({ op: 'hooks', do: 'list' }),
      this.perform<ExtensionList>({ op: 'extensions', do: 'list' }),
      this.call<{ servers: ServerDetails[] }>('mcp', 'declared', {}),
    ]);
    this.#intents = intents;
    this.#current = current;
    this.#hooks = hooks;
    this.#faults = [...faults, ...listed.faults];
    this.#extensions = listed.extensions;
    this.#servers = servers;
  }

  /** The newest entries of the ledger, newest first. */
  async entries(limit: number, intent?: string): Promise<LedgerEntry[]> {
    const found: LedgerEntry[] = [];
    let before: number | null = null;
    for (let page = 0; page < MAX_PAGES && found.length < limit; page += 1) {
      const asked = { op: 'trace', limit: limit - found.length, ...(intent && { intent }), ...(before !== null && { before }) };
      const answer: TracePage = await this.perform(asked);
      found.push(...answer.entries.reverse());
      before = answer.before;
      if (before === null) break;
    }
    return found;
  }

  /** A path of the workspace as a URI; `~/` is the user's home folder. */
  uri(relative: string): vscode.Uri {
    const home = process.env.HOME ?? process.env.USERPROFILE;
    if (relative.startsWith('~/') && home !== undefined) return vscode.Uri.file(path.join(home, relative.slice(2)));
    if (path.isAbsolute(relative)) return vscode.Uri.file(relative);
    return vscode.Uri.joinPath(this.workspaceFolder.uri, ...relative.split('/'));
  }

  /** A file relative to this folder; `undefined` if it is not in it. */
  relative(uri: vscode.Uri): string | undefined {
    if (uri.scheme !== 'file' || vscode.workspace.getWorkspaceFolder(uri)?.uri.toString() !== this.key) return undefined;
    return path.relative(this.workspaceFolder.uri.fsPath, uri.fsPath).split(path.sep).join('/');
  }
}
