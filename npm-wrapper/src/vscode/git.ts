// Reports new commits, using the built-in Git extension.
import * as vscode from 'vscode';

/** The part of the built-in Git extension's API that is used here. */
interface Repository {
  readonly rootUri: vscode.Uri;
  readonly state: {
    readonly HEAD: { readonly name?: string; readonly commit?: string } | undefined;
    readonly onDidChange: vscode.Event<void>;
  };
  getCommit(ref: string): Promise<{ parents: string[]; message: string }>;
}

interface GitApi {
  readonly repositories: Repository[];
  readonly onDidOpenRepository: vscode.Event<Repository>;
  readonly onDidCloseRepository: vscode.Event<Repository>;
}

/** A new commit. */
export interface Commit {
  root: vscode.Uri;
  commit: string;
  /** Missing if no branch is checked out. */
  branch: string | undefined;
  message: string;
}

export function hasGit(): boolean {
  return vscode.extensions.getExtension('vscode.git') !== undefined;
}

/** Reports every new commit in the repositories that the editor knows. */
export async function watchCommits(heard: (commit: Commit) => void): Promise<vscode.Disposable> {
  const extension = vscode.extensions.getExtension<{ getAPI(version: 1): GitApi }>('vscode.git');
  if (extension === undefined) throw new Error('the built-in Git extension is missing');
  const git = (await extension.activate()).getAPI(1);
  const watched = new Map<Repository, vscode.Disposable>();
  const watch = (repository: Repository) => {
    if (!watched.has(repository)) watched.set(repository, watchRepository(repository, heard));
  };
  git.repositories.forEach(watch);
  const opened = git.onDidOpenRepository(watch);
  const closed = git.onDidCloseRepository((repository) => {
    watched.get(repository)?.dispose();
    watched.delete(repository);
  });
  return new vscode.Disposable(() => [opened, closed, ...watched.values()].forEach((part) => part.dispose()));
}

function watchRepository(repository: Repository, heard: (commit: Commit) => void): vscode.Disposable {
  let before = repository.state.HEAD;
  return repository.state.onDidChange(async () => {
    const [was, now] = [before, repository.state.HEAD];
    before = now;
    const commit = now?.commit;
    // A different branch means a checkout, not a commit.
    if (commit === undefined || commit === was?.commit || now?.name !== was?.name) return;
    const message = await messageOf(repository, commit, was?.commit);
    if (message !== undefined) heard({ root: repository.rootUri, commit, branch: now?.name, message });
  });
}

/** The message of a commit that continues, starts or amends the branch; `undefined` if the branch was moved, as by a reset. */
async function messageOf(repository: Repository, commit: string, before: string | undefined): Promise<string | undefined> {
  try {
    const { parents, message } = await repository.getCommit(commit);
    const follows = before === undefined ? parents.length === 0 : parents.includes(before) || (await replaces(parents, before));
    return follows ? message.trim().split('\n')[0] : undefined;
  } catch {
    return undefined;
  }

  async function replaces(parents: string[], amended: string): Promise<boolean> {
    const replaced = await repository.getCommit(amended);
    return parents.join() === replaced.parents.join();
  }
}
