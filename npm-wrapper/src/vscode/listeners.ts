// Observes the editor's events that hooks are declared for.
import * as vscode from 'vscode';
import { type Commit, hasGit, watchCommits } from './git.js';

/** What the editor reports about a file event in addition to the file. */
type EventDetails = Record<string, unknown>;

/** Receives one event about one file. */
type FileEventListener = (uri: vscode.Uri, details: EventDetails) => void;

const REASONS: Record<vscode.TextDocumentSaveReason, string> = {
  [vscode.TextDocumentSaveReason.Manual]: 'manual',
  [vscode.TextDocumentSaveReason.AfterDelay]: 'afterDelay',
  [vscode.TextDocumentSaveReason.FocusOut]: 'focusOut',
};

const { workspace } = vscode;

const detailsOf = (document: vscode.TextDocument): EventDetails => ({ language: document.languageId });

/** The editor's events, by the names that hooks use. */
const EVENTS: Record<string, (heard: FileEventListener) => vscode.Disposable> = {
  onDidSaveTextDocument: (heard) => workspace.onDidSaveTextDocument((document) => heard(document.uri, detailsOf(document))),
  onWillSaveTextDocument: (heard) =>
    workspace.onWillSaveTextDocument(({ document, reason }) =>
      heard(document.uri, { ...detailsOf(document), reason: REASONS[reason] }),
    ),
  onDidOpenTextDocument: (heard) => workspace.onDidOpenTextDocument((document) => heard(document.uri, detailsOf(document))),
  onDidCloseTextDocument: (heard) => workspace.onDidCloseTextDocument((document) => heard(document.uri, detailsOf(document))),
  onDidCreateFiles: (heard) => workspace.onDidCreateFiles(({ files }) => files.forEach((uri) => heard(uri, {}))),
  onDidDeleteFiles: (heard) => workspace.onDidDeleteFiles(({ files }) => files.forEach((uri) => heard(uri, {}))),
  onDidRenameFiles: (heard) =>
    workspace.onDidRenameFiles(({ files }) => files.forEach(({ oldUri, newUri }) => heard(newUri, { old_file: oldUri }))),
};

const COMMIT = 'gitCommit';

/** The triggers that this editor can observe. */
export function observableTriggers(): string[] {
  return [...Object.keys(EVENTS), ...(hasGit() ? [COMMIT] : [])];
}

/** Listens for one trigger. Triggers that neither the editor nor Git can observe are left to other sources. */
export function listen(
  trigger: string,
  heard: FileEventListener,
  committed: (commit: Commit) => void,
  failed: (why: string) => void,
): vscode.Disposable {
  if (trigger !== COMMIT) return EVENTS[trigger]?.(heard) ?? new vscode.Disposable(() => {});
  let gone = false;
  let watching: vscode.Disposable | undefined;
  watchCommits(committed).then(
    (started) => {
      watching = started;
      if (gone) started.dispose();
    },
    (error: unknown) => failed(String(error)),
  );
  return new vscode.Disposable(() => {
    gone = true;
    watching?.dispose();
  });
}
