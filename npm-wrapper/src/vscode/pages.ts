// Read-only pages of text: intents, entries of the ledger, hooks and their history.
import * as vscode from 'vscode';
import type { LedgerEntry, Verification } from '../api/ledger.js';
import type { HookDetails, IntentDetails, StoredHookRecord } from './answers.js';

const SCHEME = 'tollgate';

/** Read-only texts, each in its own editor tab. */
export class Pages implements vscode.Disposable, vscode.TextDocumentContentProvider {
  readonly #texts = new Map<string, string>();
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  readonly #registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  readonly #closed = vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#texts.delete(uri.toString()));

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#texts.get(uri.toString()) ?? '';
  }

  /** Adds a text under a name and returns the URI to open it. */
  page(name: string, text: string): vscode.Uri {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${name}` });
    this.#texts.set(uri.toString(), text);
    this.#changed.fire(uri);
    return uri;
  }

  /** Shows a text under a title; showing the same title again replaces it. */
  async show(title: string, text: string, extension = 'txt'): Promise<void> {
    const uri = this.page(`${title}.${extension}`, text);
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document, { preview: true });
  }

  dispose(): void {
    this.#closed.dispose();
    this.#registration.dispose();
    this.#changed.dispose();
  }
}

/** Formats rows below a header, with aligned columns. */
export function table(head: string[], rows: string[][]): string {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  const line = (row: string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return `${[line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')}\n`;
}

export function intentsText(intents: IntentDetails[]): string {
  if (intents.length === 0) return 'There are no intents. Add them to `.orchestration/active_intents.yaml`.\n';
  const list = (title: string, lines: string[]) =>
    lines.length === 0 ? [] : [`- ${title}:`, ...lines.map((line) => `  - ${line}`)];
  const about = (intent: IntentDetails) => [
    `## ${intent.id}: ${intent.name}`,
    '',
    ...(intent.description === null ? [] : [intent.description, '']),
    `- Status: ${intent.status}`,
    ...list(
      'Scope',
      intent.owned_scope.map((pattern) => `\`${pattern}\``),
    ),
    ...list('Constraints', intent.constraints),
    ...list('Acceptance criteria', intent.acceptance_criteria),
    '',
  ];
  return ['# Intents', '', ...intents.flatMap(about)].join('\n');
}

export function entriesText(entries: LedgerEntry[]): string {
  if (entries.length === 0) return 'The ledger has no entries.\n';
  const row = (entry: LedgerEntry) => {
    const ranges = (entry.file?.line_ranges ?? []).map(({ start, end }) => (start === end ? `${start}` : `${start}-${end}`));
    const given = entry.person === undefined ? '' : `by ${entry.person.user}: ${entry.person.command.join(' ')}`;
    const file = entry.file === null ? given : [entry.file.relative_path, ranges.join(',')].filter(Boolean).join(':');
    const how = entry.success ? entry.scope_validation : `${entry.scope_validation}, failed`;
    const time = entry.timestamp.slice(0, 19).replace('T', ' ');
    return [time, file, entry.intent_id ?? '', entry.mutation_class, how, entry.tool_name, entry.session_id, entry.id];
  };
  return table(['time (UTC)', 'file', 'intent', 'class', 'scope', 'tool', 'session', 'id'], entries.map(row));
}

export function verificationText({ ok, files, lines, entries, heads, faults, notes }: Verification): string {
  const remarks = [...faults, ...notes].map(({ file, line, what }) => `${line === null ? file : `${file}:${line}`}: ${what}`);
  const counts = `${files.length} ${files.length === 1 ? 'file' : 'files'}, ${lines} lines, ${entries} entries`;
  const keep = heads.length === 0 ? [] : ['', 'Keep this to prove later that nothing was cut off:', ...heads];
  return `${[`${ok ? 'ok' : 'The ledger failed verification'}: ${counts}`, ...remarks, ...keep].join('\n')}\n`;
}

export function hooksText(hooks: readonly HookDetails[]): string {
  if (hooks.length === 0) return 'There are no hooks. Declare them in `.tollgate/hooks.json`.\n';
  const row = (hook: HookDetails) => {
    const state = hook.enabled ? 'enabled' : (hook.disabled_reason ?? 'disabled');
    return [hook.id, hook.trigger, hook.pattern ?? '', hook.kind, hook.trust, state, hook.file];
  };
  return table(['hook', 'trigger', 'pattern', 'kind', 'trust', 'state', 'file'], hooks.map(row));
}

export function historyText(records: StoredHookRecord[]): string {
  if (records.length === 0) return 'No hook has run.\n';
  const row = (record: StoredHookRecord) => {
    const took = record.duration_ms === undefined ? '' : `${record.duration_ms} ms`;
    const on = [record.trigger, record.file].filter(Boolean).join(' ');
    const started = (record.started ?? record.ended ?? '').slice(0, 19).replace('T', ' ');
    return [started, record.hook, record.status, String(record.attempts), took, on, record.reason ?? ''];
  };
  return table(['time (UTC)', 'hook', 'status', 'attempts', 'took', 'on', 'reason'], records.map(row));
}
