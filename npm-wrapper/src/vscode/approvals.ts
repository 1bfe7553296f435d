// Asks a person whether hooks may run.
import * as vscode from 'vscode';
import { TollgateError } from '../api/error.js';
import type { HookApproval } from '../api/hook_types.js';
import type { HookDetails } from './answers.js';
import type { Folder } from './folder.js';
import type { Pages } from './pages.js';

/** Where approvals are stored, as the ledger records it. */
export const APPROVALS_FILE = '~/.tollgate/trusted-hooks.json';

/** The length limit of the text in a dialog. A dialog that is taller than the window shows no buttons. */
const MAX_DIALOG_CHARS = 2_000;

/** At most this many files are listed, so that the text after them stays visible. */
const MAX_FILES = 8;

/** `sha256:` and enough digits for a person to compare. */
const DIGEST_CHARS = 7 + 12;

/** Asks a person whether hooks of the workspace may run, one at a time. */
export class Approvals {
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly pages: Pages) {}

  /** @returns whether it was approved */
  async ask(folder: Folder, approval: HookApproval): Promise<boolean> {
    const asked = this.#last.then(() => askPerson(folder, approval));
    this.#last = asked.catch(() => {});
    const { hook, digest, shows } = approval;
    switch (await asked) {
      case 'approve':
        await folder.perform({ op: 'hooks', do: 'approve', id: hook, digest });
        await folder.record(['hooks', 'approve', hook], APPROVALS_FILE);
        return true;
      case 'look': {
        await this.#show(hook, shows);
        const again = 'Review';
        const picked = await vscode.window.showInformationMessage(`The hook "${hook}" is waiting for your approval.`, again);
        // The same question again: exactly what was read can be approved, even if the files have changed in the meantime.
        return picked === again ? this.ask(folder, approval) : false;
      }
      default:
        return false;
    }
  }

  /** Asks about a hook in its current form, at a person's request. @returns whether it is approved */
  async review(folder: Folder, id: string): Promise<boolean> {
    const hook = await folder.perform<
      HookDetails & { shows: ReviewedContent; before: ReviewedContent['before']; problem?: string; notice?: string }
    >({
      op: 'hooks',
      do: 'show',
      id,
    });
    if (hook.problem !== undefined) throw new TollgateError('not_done', `the hook \`${id}\` cannot run: ${hook.problem}`);
    if (hook.trust !== 'new' && hook.trust !== 'changed') return true;
    const { digest, trust: why, notice, shows, before } = hook;
    return this.ask(folder, { hook: id, digest: digest ?? '', why, notice, shows: { ...shows, before } });
  }

  /**
   * Opens what would be approved next to what was approved before: the declaration, or the texts of the script and its files. The
   * texts come from the gate and match the digest; the files themselves may have changed by now.
   */
  async #show(hook: string, { before, ...shows }: ReviewedContent): Promise<void> {
    const name = shows.script?.[0] ?? `${hook}.json`;
    const now = this.pages.page(`now/${name}`, reviewText(shows));
    if (before === null) {
      await vscode.window.showTextDocument(now);
    } else {
      const approved = this.pages.page(`approved/${name}`, reviewText(before));
      await vscode.commands.executeCommand('vscode.diff', approved, now, `${name}: approved \u2194 now`);
    }
  }
}

/** The text to review: the script and its files, or the declaration if there is no script. */
function reviewText({
  declaration,
  script,
  script_text: text,
  texts = [],
  not_shown: hidden = [],
}: Partial<ReviewedContent>): string {
  if (!script) return `${JSON.stringify(declaration, null, 2)}\n`;
  if (texts.length === 0 && hidden.length === 0) return text ?? '';
  const shown: [string, string][] = text === undefined ? texts : [[script[0], text], ...texts];
  const parts = shown.map(([path, content]) => `==> ${path} <==\n${content}\n`);
  if (hidden.length > 0) parts.push(`==> not shown, because too long or not text <==\n${hidden.join('\n')}\n`);
  return parts.join('\n');
}

async function askPerson(folder: Folder, { hook, why, notice, shows }: HookApproval): Promise<'approve' | 'look' | undefined> {
  const approve: vscode.MessageItem = { title: 'Approve' };
  const look: vscode.MessageItem = { title: shows.script ? 'Show Script' : 'Show Declaration' };
  const later: vscode.MessageItem = { title: 'Not now', isCloseAffordance: true };
  const text =
    why === 'new'
      ? `The workspace "${folder.name}" wants to run the hook "${hook}".`
      : `The hook "${hook}" of the workspace "${folder.name}" has changed since you approved it.`;
  // The question may appear while a person is typing, and Enter activates the first button, so that one must not approve.
  const answer = await vscode.window.showWarningMessage(
    text,
    { modal: true, detail: approvalDetails(shows, notice) },
    look,
    approve,
    later,
  );
  return answer === approve ? 'approve' : answer === look ? 'look' : undefined;
}

type ReviewedContent = HookApproval['shows'];

/** Describes what would run. */
export function approvalDetails(shows: ReviewedContent, notice?: string): string {
  const lines: string[] = notice === undefined ? [] : [notice, ''];
  const facts = factsOf(shows);
  const before = shows.before === null ? undefined : factsOf(shows.before as Partial<ReviewedContent>);
  const listed = [...facts].filter(([name]) => !name.startsWith('declared '));
  const [files, others] = [
    listed.filter(([name]) => name.startsWith('File ')),
    listed.filter(([name]) => !name.startsWith('File ')),
  ];
  for (const [name, fact] of [...others, ...files.slice(0, MAX_FILES)]) lines.push(`${name}: ${fact}`);
  if (files.length > MAX_FILES) lines.push(`and ${files.length - MAX_FILES} more files`);
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
  return text.length > MAX_DIALOG_CHARS ? `${text.slice(0, MAX_DIALOG_CHARS)}\u2026` : text;
}

/** Everything that determines what runs, by name. */
function factsOf({
  declaration,
  runs,
  interpreter,
  script,
  files,
  in_place: inPlace,
  unchecked,
  note,
  component,
}: Partial<ReviewedContent>): Map<string, string> {
  const facts = new Map<string, string>();
  if (runs !== undefined) facts.set('Runs', runs.map(quoteWord).join(' '));
  if (typeof declaration?.prompt === 'string') facts.set('Asks the language model', JSON.stringify(declaration.prompt));
  if (component !== undefined) {
    const { manifest, exports, grants, bytes, digest } = component;
    facts.set(
      'Component',
      `${[manifest.name, manifest.version].filter(Boolean).join(' ')} (${digest.slice(0, DIGEST_CHARS)}, ${bytes} bytes)`,
    );
    if (manifest.description !== undefined) facts.set('It says', manifest.description);
    facts.set('Called for', exports.join(', '));
    facts.set('Gets', grants.join('; '));
    facts.set('Sandbox', 'it can object, comment and add notes, and nothing else; a copy of these bytes is what runs');
  }
  if (interpreter !== undefined) facts.set('Program', interpreter);
  if (script) facts.set('Script', formatFile(script));
  for (const named of files ?? []) facts.set(`File ${named[0]}`, named[1].slice(0, DIGEST_CHARS));
  for (const named of inPlace ?? []) facts.set(`File in the workspace ${named[0]}`, named[1].slice(0, DIGEST_CHARS));
  if (note !== undefined) facts.set(unchecked === true ? 'Not checked' : 'Checked', note);
  for (const [key, value] of Object.entries(declaration ?? {})) facts.set(`declared ${key}`, JSON.stringify(value));
  return facts;
}

function formatFile([path, digest]: readonly [string, string]): string {
  return `${path} (${digest.slice(0, DIGEST_CHARS)})`;
}

/** A word as it would be typed, so that one word can be told from two. */
function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word);
}
