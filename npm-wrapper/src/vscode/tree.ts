// The view of intents, extensions, MCP servers and ledger entries.
import * as vscode from 'vscode';
import type { LedgerEntry } from '../api/ledger.js';
import type { ExtensionDetails, IntentDetails, ServerDetails } from './answers.js';
import type { Folder } from './folder.js';

/** The id of the view in the manifest. */
export const VIEW = 'tollgate.intents';

/** How many entries of an intent are searched for files, and how many files are shown. */
const MAX_SEARCHED_ENTRIES = 100;
const MAX_SHOWN_ENTRIES = 20;

type TreeNode =
  | { kind: 'folder'; folder: Folder }
  | { kind: 'intent'; folder: Folder; intent: IntentDetails }
  | { kind: 'group'; label: string; icon: string; open: boolean; children: TreeNode[] }
  | { kind: 'text'; label: string; icon: string }
  | { kind: 'file'; folder: Folder; path: string; changes: number }
  | { kind: 'extension'; folder: Folder; extension: ExtensionDetails }
  | { kind: 'server'; folder: Folder; server: ServerDetails }
  | { kind: 'entry'; folder: Folder; entry: LedgerEntry };

/** By status. */
const INTENT_ICONS: Record<string, string> = {
  PLANNED: 'circle-outline',
  IN_PROGRESS: 'play-circle',
  BLOCKED: 'stop-circle',
  COMPLETED: 'pass',
  ABANDONED: 'circle-slash',
};

const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState;

/** The icon and its color for each state. */
const EXTENSION_ICONS: Record<ExtensionDetails['state'], [icon: string, color?: string]> = {
  active: ['extensions', 'charts.green'],
  disabled: ['circle-slash'],
  unapproved: ['shield', 'list.warningForeground'],
  changed: ['shield', 'list.warningForeground'],
  incomplete: ['key', 'list.warningForeground'],
  invalid: ['error', 'list.errorForeground'],
};

/** The icon and its color for each state of an MCP server. */
const SERVER_ICONS: Record<ServerDetails['state'], [icon: string, color?: string]> = {
  idle: ['server-process'],
  connecting: ['server-process'],
  connected: ['server-process', 'charts.green'],
  unavailable: ['error', 'list.errorForeground'],
  refused: ['shield', 'list.warningForeground'],
  disabled: ['circle-slash'],
};

/**
 * The tree of intents with their scopes, the files that were changed for them, and the latest ledger entries, then the extensions and
 * the MCP servers.
 */
export class IntentTree implements vscode.TreeDataProvider<TreeNode> {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.#changed.event;

  constructor(private readonly governed: () => Folder[]) {}

  refresh(): void {
    this.#changed.fire();
  }

  async getChildren(node?: TreeNode): Promise<TreeNode[]> {
    if (node === undefined) {
      const folders = this.governed();
      const [only] = folders;
      if (folders.length === 1 && only !== undefined) return folderChildren(only);
      return folders.map((folder) => ({ kind: 'folder', folder }));
    }
    if (node.kind === 'folder') return folderChildren(node.folder);
    if (node.kind === 'extension') return extensionChildren(node.extension);
    if (node.kind === 'server') return serverChildren(node.folder, node.server);
    if (node.kind === 'group') return node.children;
    return node.kind === 'intent' ? intentChildren(node.folder, node.intent) : [];
  }

  getTreeItem(node: TreeNode): vscode.TreeItem {
    switch (node.kind) {
      case 'folder': {
        const item = new vscode.TreeItem(node.folder.name, Expanded);
        item.iconPath = vscode.ThemeIcon.Folder;
        return item;
      }
      case 'intent':
        return intentItem(node.folder, node.intent);
      case 'group': {
        const item = new vscode.TreeItem(node.label, node.open ? Expanded : Collapsed);
        item.iconPath = new vscode.ThemeIcon(node.icon);
        item.description = String(node.children.length);
        return item;
      }
      case 'text': {
        const item = new vscode.TreeItem(node.label, None);
        item.iconPath = new vscode.ThemeIcon(node.icon);
        item.tooltip = node.label;
        return item;
      }
      case 'file': {
        const item = new vscode.TreeItem(node.folder.uri(node.path), None);
        item.description = `${folderOf(node.path)} · ${node.changes} ${node.changes === 1 ? 'change' : 'changes'}`;
        item.command = { command: 'vscode.open', title: 'Open', arguments: [node.folder.uri(node.path)] };
        item.iconPath = vscode.ThemeIcon.File;
        return item;
      }
      case 'entry':
        return entryItem(node.folder, node.entry);
      case 'extension':
        return extensionItem(node.extension);
      case 'server':
        return serverItem(node.server);
    }
  }
}

function folderChildren(folder: Folder): TreeNode[] {
  const intents: TreeNode[] = folder.intents.intents.map((intent) => ({ kind: 'intent', folder, intent }));
  const extensions: TreeNode[] = folder.extensions.map((extension) => ({ kind: 'extension', folder, extension }));
  const servers: TreeNode[] = folder.servers.map((server) => ({ kind: 'server', folder, server }));
  const groups: Extract<TreeNode, { kind: 'group' }>[] = [
    { kind: 'group', label: 'Extensions', icon: 'extensions', open: false, children: extensions },
    { kind: 'group', label: 'MCP servers', icon: 'server', open: false, children: servers },
  ];
  return [...intents, ...groups.filter(({ children }) => children.length > 0)];
}

/** What an extension provides, one line each. */
function extensionChildren({ hooks = [], servers = [], skills = [], settings = [] }: ExtensionDetails): TreeNode[] {
  const lines = (names: string[], icon: string): TreeNode[] => names.map((label) => ({ kind: 'text', label, icon }));
  return [...lines(hooks, 'zap'), ...lines(servers, 'server-process'), ...lines(skills, 'lightbulb'), ...lines(settings, 'gear')];
}

/** Connects to a server and returns its tools, or why it has none. */
async function serverChildren(folder: Folder, { name }: ServerDetails): Promise<TreeNode[]> {
  const line = (label: string, icon: string): TreeNode => ({ kind: 'text', label, icon });
  try {
    const { tools, server } = await folder.connect(name);
    if (server !== undefined && server.state !== 'connected') return [line(server.why ?? server.state, 'error')];
    return tools.map(({ tool, description }) => line([tool, description.split('\n')[0]].filter(Boolean).join(' · '), 'tools'));
  } catch (error) {
    return [line(error instanceof Error ? error.message : String(error), 'error')];
  }
}

function serverItem({ name, state, why, transport, target, source }: ServerDetails): vscode.TreeItem {
  // Servers that may not run have no tools to show.
  const item = new vscode.TreeItem(name, state === 'refused' || state === 'disabled' ? None : Collapsed);
  item.description = [transport, state].join(' · ');
  const [icon, color] = SERVER_ICONS[state];
  item.iconPath = new vscode.ThemeIcon(icon, color === undefined ? undefined : new vscode.ThemeColor(color));
  item.tooltip = [target, source, why].filter(Boolean).join('\n');
  return item;
}

function extensionItem({ name, version, state, why, description, source, folder }: ExtensionDetails): vscode.TreeItem {
  const item = new vscode.TreeItem(name, state === 'invalid' ? None : Collapsed);
  item.description = [version, state].filter(Boolean).join(' · ');
  const [icon, color] = EXTENSION_ICONS[state];
  item.iconPath = new vscode.ThemeIcon(icon, color === undefined ? undefined : new vscode.ThemeColor(color));
  item.tooltip = [description, `${source}, ${folder}`, why].filter(Boolean).join('\n');
  item.contextValue = `${state}Extension`;
  return item;
}

async function intentChildren(folder: Folder, intent: IntentDetails): Promise<TreeNode[]> {
  const entries = await folder.entries(MAX_SEARCHED_ENTRIES, intent.id).catch(() => []);
  const changes = new Map<string, number>();
  for (const { file, success } of entries) {
    if (file !== null && success) changes.set(file.relative_path, (changes.get(file.relative_path) ?? 0) + 1);
  }
  const texts = (lines: string[], icon: string): TreeNode[] => lines.map((label) => ({ kind: 'text', label, icon }));
  const files: TreeNode[] = [...changes].map(([path, count]) => ({ kind: 'file', folder, path, changes: count }));
  const recent: TreeNode[] = entries.slice(0, MAX_SHOWN_ENTRIES).map((entry) => ({ kind: 'entry', folder, entry }));
  const groups: Extract<TreeNode, { kind: 'group' }>[] = [
    { kind: 'group', label: 'Scope', icon: 'symbol-namespace', open: false, children: texts(intent.owned_scope, 'regex') },
    { kind: 'group', label: 'Changed files', icon: 'files', open: true, children: files },
    { kind: 'group', label: 'Recent entries', icon: 'history', open: true, children: recent },
    { kind: 'group', label: 'Constraints', icon: 'law', open: false, children: texts(intent.constraints, 'dash') },
    {
      kind: 'group',
      label: 'Acceptance criteria',
      icon: 'checklist',
      open: false,
      children: texts(intent.acceptance_criteria, 'dash'),
    },
  ];
  return groups.filter(({ children }) => children.length > 0);
}

function intentItem(folder: Folder, intent: IntentDetails): vscode.TreeItem {
  const active = folder.current?.id === intent.id;
  const item = new vscode.TreeItem(intent.id, active ? Expanded : Collapsed);
  item.description = active ? `${intent.name} · active` : intent.name;
  const color = active ? new vscode.ThemeColor('charts.green') : undefined;
  item.iconPath = new vscode.ThemeIcon(active ? 'circle-filled' : (INTENT_ICONS[intent.status] ?? 'circle-outline'), color);
  item.tooltip = [`${intent.id} (${intent.status})`, intent.name, intent.description ?? ''].filter(Boolean).join('\n');
  item.contextValue = active ? 'activeIntent' : intent.open ? 'openIntent' : 'closedIntent';
  return item;
}

function entryItem(folder: Folder, entry: LedgerEntry): vscode.TreeItem {
  const { file } = entry;
  const range = file?.line_ranges?.[0];
  const lines = range === undefined ? '' : `:${range.start}`;
  const name = file === null ? entry.tool_name : `${file.relative_path.split('/').at(-1)}${lines}`;
  const item = new vscode.TreeItem(name, None);
  item.description = `${formatTime(entry.timestamp)} · ${entry.mutation_class}`;
  const failed = entry.scope_validation === 'FAIL' || !entry.success;
  item.iconPath = failed
    ? new vscode.ThemeIcon('error', new vscode.ThemeColor('list.errorForeground'))
    : new vscode.ThemeIcon('git-commit');
  const facts = [
    entry.id,
    entry.timestamp,
    `session ${entry.session_id}`,
    `tool ${entry.tool_name}`,
    `scope ${entry.scope_validation}`,
  ];
  item.tooltip = (file === null ? facts : [file.relative_path, ...facts]).join('\n');
  if (file !== null) {
    const start = Math.max(0, (range?.start ?? 1) - 1);
    const options = { selection: new vscode.Range(start, 0, start, 0) };
    item.command = { command: 'vscode.open', title: 'Open', arguments: [folder.uri(file.relative_path), options] };
  }
  return item;
}

function folderOf(path: string): string {
  return path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.';
}

/** A local time: the hour if it is today, otherwise the date. */
function formatTime(timestamp: string): string {
  const time = new Date(timestamp);
  if (Number.isNaN(time.getTime())) return timestamp;
  if (time.toDateString() === new Date().toDateString()) {
    return time.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', hour12: false });
  }
  return time.toLocaleDateString(undefined, { month: 'short', day: 'numeric' });
}
