import * as vscode from 'vscode';
import { TollgateError } from '../error.js';
import type { HookApproval } from '../hook_types.js';
import type { HookDetails } from './answers.js';
import type { Folder } from './folder.js';
import type { Pages } from './pages.js';

/** A dialog that is taller than the window shows no buttons. */
const LONGEST = 2_000;

/** `sha256:` and what a person can compare. */
const DIGEST_CHARS = 7 + 12;

/** Asks a person whether hooks of the workspace may run, one at a time. */
export class Approvals {
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly pages: Pages) {}

  /** @returns whether it was approved */
  async ask(folder: Folder, approval: HookApproval): Promise<boolean> {
    const asked = this.#last.then(() => question(folder, approval));
    this.#last = asked.catch(() => {});
    const { hook, digest, shows } = approval;
    switch (await asked) {
      case 'approve':
        await folder.perform({ op: 'hooks', do: 'approve', id: hook, digest });
        return true;
      case 'look': {
        await this.#show(folder, hook, shows);
        const again = 'Review';
        const picked = await vscode.window.showInformationMessage(`The hook "${hook}" waits for your approval.`, again);
        return picked === again ? this.review(folder, hook) : false;
      }
      default:
        return false;
    }
  }

  /** Asks about a hook as it stands now, on a person's own request. @returns whether it is approved */
  async review(folder: Folder, id: string): Promise<boolean> {
    const hook = await folder.perform<HookDetails & { shows: Shows; before: Shows['before']; problem?: string }>({
      op: 'hooks',
      do: 'show',
      id,
    });
    if (hook.problem !== undefined) throw new TollgateError('not_done', `the hook \`${id}\` cannot run: ${hook.problem}`);
    if (hook.trust !== 'new' && hook.trust !== 'changed') return true;
    return this.ask(folder, { hook: id, digest: hook.digest ?? '', why: hook.trust, shows: { ...hook.shows, before: hook.before } });
  }

  /** Opens the script, beside what was approved of it, or the declaration where there is no script. */
  async #show(folder: Folder, hook: string, { script, before }: Shows): Promise<void> {
    const declared = folder.hooks.find(({ id }) => id === hook)?.file ?? '.tollgate/hooks.json';
    const uri = folder.uri(script ? script[0] : declared);
    const approved = before?.script_text;
    if (script && typeof approved === 'string') {
      const title = `${script[0]}: approved \u2194 now`;
      await vscode.commands.executeCommand('vscode.diff', this.pages.page(`approved/${script[0]}`, approved), uri, title);
    } else {
      await vscode.window.showTextDocument(uri);
    }
  }
}

async function question(folder: Folder, { hook, why, shows }: HookApproval): Promise<'approve' | 'look' | undefined> {
  const approve: vscode.MessageItem = { title: 'Approve' };
  const look: vscode.MessageItem = { title: shows.script ? 'Show Script' : 'Show Declaration' };
  const later: vscode.MessageItem = { title: 'Not now', isCloseAffordance: true };
  const text =
    why === 'new'
      ? `The workspace "${folder.name}" wants to run the hook "${hook}".`
      : `The hook "${hook}" of the workspace "${folder.name}" has changed since you approved it.`;
  // The question may come while a person types, and the first button takes the Enter key: it must not be the one that approves.
  const answer = await vscode.window.showWarningMessage(text, { modal: true, detail: details(shows) }, look, approve, later);
  return answer === approve ? 'approve' : answer === look ? 'look' : undefined;
}

type Shows = HookApproval['shows'];

/** What would run, as a person reads it. */
export function details(shows: Shows): string {
  const lines: string[] = [];
  const facts = factsOf(shows);
  const before = shows.before === null ? undefined : factsOf(shows.before as Partial<Shows>);
  for (const [name, fact] of facts) if (!name.startsWith('declared ')) lines.push(`${name}: ${fact}`);
  if (before !== undefined) {
    lines.push('', 'What changed:');
    for (const name of new Set([...before.keys(), ...facts.keys()])) {
      const [was, is] = [before.get(name) ?? '(none)', facts.get(name) ?? '(none)'];
      if (was !== is) lines.push(`    ${name}: ${was} \u2192 ${is}`);
    }
  }
  if (lines.length > 0) lines.push('');
  lines.push('Declaration:', JSON.stringify(shows.declaration, null, 2));
  const text = lines.join('\n');
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}\u2026` : text;
}

/** Everything that decides what runs, under a name for each. */
function factsOf({ declaration, runs, interpreter, script, files, unchecked }: Partial<Shows>): Map<string, string> {
  const facts = new Map<string, string>();
  if (runs !== undefined) facts.set('Runs', runs.map(quoted).join(' '));
  if (typeof declaration?.prompt === 'string') facts.set('Asks the language model', JSON.stringify(declaration.prompt));
  if (interpreter !== undefined) facts.set('Program', interpreter);
  if (script) facts.set('Script', file(script));
  for (const named of files ?? []) facts.set(`File ${named[0]}`, named[1].slice(0, DIGEST_CHARS));
  if (unchecked === true) facts.set('Not checked', 'it decides itself what else it reads and runs; changes of that are not asked about again');
  for (const [key, value] of Object.entries(declaration ?? {})) facts.set(`declared ${key}`, JSON.stringify(value));
  return facts;
}

function file([path, digest]: readonly [string, string]): string {
  return `${path} (${digest.slice(0, DIGEST_CHARS)})`;
}

/** A word as it would be typed, so that one word is told from two. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word);
}
