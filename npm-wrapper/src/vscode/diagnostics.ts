// Shows problems in the files that control the gate.
import * as vscode from 'vscode';
import type { Folder } from './folder.js';

/** The intents file. */
export const INTENTS_FILE = '.orchestration/active_intents.yaml';

interface FileProblem {
  line: number | null;
  column: number | null;
  message: string;
  severity: vscode.DiagnosticSeverity;
}

/** Problems in the files that control the gate, shown at their locations. */
export class Diagnostics implements vscode.Disposable {
  readonly #collection = vscode.languages.createDiagnosticCollection('tollgate');
  /** The files with problems, by folder. */
  readonly #files = new Map<string, vscode.Uri[]>();

  show(folder: Folder): void {
    const faults = new Map<string, FileProblem[]>();
    const add = (file: string, fault: FileProblem) => faults.set(file, [...(faults.get(file) ?? []), fault]);
    const { Error, Warning } = vscode.DiagnosticSeverity;
    for (const { severity, ...fault } of folder.intents.diagnostics) {
      add(INTENTS_FILE, { ...fault, severity: severity === 'error' ? Error : Warning });
    }
    for (const { file, line, column, message } of folder.faults) add(file, { line, column, message, severity: Error });

    this.clear(folder);
    const files: vscode.Uri[] = [];
    for (const [file, found] of faults) {
      const uri = folder.uri(file);
      files.push(uri);
      const document = vscode.workspace.textDocuments.find((open) => open.uri.toString() === uri.toString());
      this.#collection.set(
        uri,
        found.map((fault) => toDiagnostic(fault, document)),
      );
    }
    this.#files.set(folder.key, files);
  }

  clear(folder: Folder): void {
    for (const uri of this.#files.get(folder.key) ?? []) this.#collection.delete(uri);
    this.#files.delete(folder.key);
  }

  dispose(): void {
    this.#collection.dispose();
  }
}

function toDiagnostic(
  { line, column, message, severity }: FileProblem,
  document: vscode.TextDocument | undefined,
): vscode.Diagnostic {
  const row = Math.max(0, (line ?? 1) - 1);
  const text = document !== undefined && row < document.lineCount ? document.lineAt(row).text : undefined;
  // The gate counts characters, the editor UTF-16 code units.
  const before = Math.max(0, (column ?? 1) - 1);
  const start = text === undefined ? before : [...text].slice(0, before).join('').length;
  const end = text === undefined ? start + 1 : Math.max(text.trimEnd().length, start + 1);
  const shown = new vscode.Diagnostic(new vscode.Range(row, start, row, end), message, severity);
  shown.source = 'tollgate';
  return shown;
}
