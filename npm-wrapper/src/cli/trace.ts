// `tollgate trace`: shows and manages what agents changed.
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { LedgerEntry, Verification, VerificationRemark } from '../api/ledger.js';
import { type Filters, FILTERS, isWorkspaceRelative, questionOf } from './filters.js';
import { type Cell, count, escape, say, type Output } from './output.js';
import { type Answer, ask, askUntilDone, withGate, type OpenGate, CommandError, unexpectedAnswer } from './workspace.js';

/** The default number of entries. */
const DEFAULT_LIMIT = 20;

/** At most this many faults are shown. */
const MAX_FAULTS = 20;

/** At most this many line ranges are shown after a path. */
const MAX_RANGES = 4;

/** At most this many characters of an error are shown. */
const MAX_ERROR = 200;

const USAGE = `Usage: tollgate trace [list]|verify|export|map [OPTIONS] [--workspace DIR] [--home DIR] [--state DIR] [--json]

  list    List the latest changes, oldest first
          [--intent ID] [--file PATH-OR-GLOB] [--session SESSION] [--since TIME] [--until TIME] [--limit N]
  verify  Verify the ledger; exits with 1 if it was damaged or tampered with [--expect HASH]
  export  Write the ledger in a format that other tools read [--format agent-trace] [--output FILE], and the filters of list
  map     Write .orchestration/intent_map.md: which files were changed for which intent`;

const OPTIONS = {
  ...FILTERS,
  limit: { type: 'string' },
  expect: { type: 'string' },
  format: { type: 'string' },
  output: { type: 'string', short: 'o' },
} as const;

type TraceOptions = Partial<Record<keyof typeof OPTIONS, string>>;

/** The options of each subcommand. */
const ALLOWED_OPTIONS: Record<string, (keyof TraceOptions)[]> = {
  list: ['intent', 'file', 'session', 'since', 'until', 'limit'],
  verify: ['expect'],
  export: ['intent', 'file', 'session', 'since', 'until', 'format', 'output'],
  map: [],
};

export function main(args: string[]): Promise<number> {
  return withGate(args, OPTIONS, USAGE, (opened, [command = 'list', ...words], values: TraceOptions) => {
    const takes = Object.hasOwn(ALLOWED_OPTIONS, command) ? ALLOWED_OPTIONS[command] : undefined;
    if (takes === undefined || words.length > 0) throw new CommandError(`invalid arguments\n${USAGE}`);
    const strays = (Object.keys(OPTIONS) as (keyof TraceOptions)[]).filter(
      (name) => values[name] !== undefined && !takes.includes(name),
    );
    if (strays[0] !== undefined) throw new CommandError(`\`tollgate trace ${command}\` takes no --${strays[0]}\n${USAGE}`);
    if (command === 'verify') return verify(opened, values.expect);
    if (command === 'export') return writeRecords(opened, values);
    if (command === 'map') return writeMap(opened);
    return list(opened, values);
  });
}

function list({ gate, root, json, output }: OpenGate, values: TraceOptions): boolean {
  const limit = values.limit === undefined ? undefined : Number(values.limit);
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1))
    throw new CommandError(`--limit cannot be \`${values.limit}\`; give a whole number from 1`);
  const { limit: _, ...filters } = values;
  const answer = fetchLatest(gate, questionOf('trace', filters, root), limit ?? DEFAULT_LIMIT);
  if (json) {
    output.line(JSON.stringify(answer));
    return true;
  }
  for (const line of entryLines(answer.entries, output)) output.line(line);
  for (const note of answer.notes) say(note);
  if (answer.entries.length === 0) say(emptyMessage(filters, root));
  else if (limit === undefined && answer.entries.length >= DEFAULT_LIMIT && answer.before !== null) {
    say(`these are the latest ${DEFAULT_LIMIT}; --limit N shows more`);
  }
  if (answer.archive_suggested)
    say(
      `the ledger has grown to ${formatMegabytes(answer.bytes)}; a person can archive it with the native \`tollgate trace archive\``,
    );
  return true;
}

interface LedgerPage {
  entries: LedgerEntry[];
  before: number | null;
  bytes: number;
  archive_suggested: boolean;
  notes: string[];
}

/** The latest entries, merged from as many pages as necessary. */
function fetchLatest(gate: OpenGate['gate'], question: Answer, limit: number): LedgerPage {
  const all: LedgerPage = { entries: [], before: null, bytes: 0, archive_suggested: false, notes: [] };
  for (let first = true; first || (all.before !== null && all.entries.length < limit); first = false) {
    const missing = limit - all.entries.length;
    const page = ask(gate, {
      ...question,
      limit: missing,
      ...(all.before === null ? {} : { before: all.before }),
    }) as unknown as LedgerPage;
    // A position that does not advance would never end.
    if (all.before !== null && page.before !== null && page.before >= all.before) throw unexpectedAnswer(question);
    if (first) [all.bytes, all.archive_suggested] = [page.bytes, page.archive_suggested];
    // Each page is older than the one before.
    [all.entries, all.notes] = [
      [...page.entries, ...all.entries],
      [...page.notes, ...all.notes],
    ];
    all.before = page.before;
  }
  return all;
}

function emptyMessage(filters: Filters, root: string): string {
  const { file } = filters;
  if (Object.values(filters).every((value) => value === undefined)) return 'the ledger is empty';
  const here = process.cwd();
  // In a subfolder, the person may have meant a path relative to it.
  if (file !== undefined && isWorkspaceRelative(file) && here !== root && here.startsWith(`${root}${path.sep}`)) {
    return `no entry matches; \`${file}\` is relative to \`${root}\`; use \`./${file}\` for the current folder`;
  }
  return 'no entry matches';
}

function formatMegabytes(bytes: number): string {
  const tenths = Math.floor((bytes + 50_000) / 100_000);
  return `${Math.floor(tenths / 10)}.${tenths % 10} MB`;
}

/** The entries as lines, each followed by the tool's error if it failed. */
function entryLines(entries: LedgerEntry[], output: Output): string[] {
  return output.rows(entries.map(rowOf)).flatMap((line, at) => {
    const error = errorOf(entries[at]?.error ?? '');
    return error === undefined ? [line] : [line, `    ${output.paint('yellow', error)}`];
  });
}

function rowOf(entry: LedgerEntry): Cell[] {
  const {
    id,
    timestamp,
    intent_id,
    session_id,
    tool_name,
    mutation_class,
    file,
    scope_validation,
    success,
    concurrent,
    late,
    person,
  } = entry;
  const hash = (digest: string | null) => (digest === null ? '-' : shortId(digest));
  const ranges = (file?.line_ranges ?? []).map(({ start, end }) => (start === end ? `${start}` : `${start}-${end}`));
  const shown = ranges.length === 0 ? '' : `:${ranges.slice(0, MAX_RANGES).join(',')}${ranges.length > MAX_RANGES ? ',…' : ''}`;
  return [
    [shortId(id), 'yellow'],
    [timestamp],
    [intent_id ?? '-'],
    [session_id],
    [tool_name],
    [mutation_class],
    [file === null ? commandOf(person) : `${file.relative_path}${shown}`, 'bold'],
    [file === null ? '' : `${hash(file.pre_hash)}→${hash(file.post_hash)}`, 'dim'],
    [scope_validation === 'FAIL' ? 'FAIL' : '', 'red'],
    [success ? '' : 'failed', 'yellow'],
    [concurrent == null ? '' : `concurrent with ${shortId(concurrent.entry_id)} of ${concurrent.session_id}`, 'yellow'],
    [late == null ? '' : `late, from the call at ${late.began}${late.others ? `, or ${late.others} others` : ''}`, 'yellow'],
  ];
}

/** The person who ran a command, and the command. */
function commandOf(person: LedgerEntry['person']): string {
  return person == null ? '-' : `by ${person.user}: ${person.command.join(' ')}`;
}

/** The first line of the tool's error, with an ellipsis if there is more. */
function errorOf(error: string): string | undefined {
  const said = error.trim();
  if (said === '') return undefined;
  const first = said.split(/\r?\n/)[0] ?? '';
  const characters = [...first];
  const shown = escape(characters.slice(0, MAX_ERROR).join(''));
  return first.length < said.length || characters.length > MAX_ERROR ? `${shown} …` : shown;
}

/** The first eight characters of a digest or id, which are usually unique. */
function shortId(text: string): string {
  return [...text.replace(/^sha256:/, '')].slice(0, 8).join('');
}

function verify({ gate, json, output }: OpenGate, given: string | undefined): boolean {
  const answer = askUntilDone(gate, { op: 'verify', ...(given === undefined ? {} : { expect: digestOf(given) }) });
  const { ok, files, lines, entries, heads, faults, notes } = answer as unknown as Verification;
  if (json) {
    output.line(JSON.stringify(answer));
    return ok;
  }
  const messageOf = ({ file, line, what }: VerificationRemark) =>
    `${escape(file)}${line === null ? '' : `:${line}`}: ${escape(what)}`;
  for (const fault of faults.slice(0, MAX_FAULTS)) output.line(output.paint('red', messageOf(fault)));
  if (faults.length > MAX_FAULTS) output.line(`and ${faults.length - MAX_FAULTS} more`);
  for (const note of notes) output.line(`note: ${messageOf(note)}`);
  const found = [count(files.length, 'file', 'files'), count(lines, 'line', 'lines'), count(entries, 'entry', 'entries')].join(
    ', ',
  );
  if (ok) output.line(`${output.paint('green', 'ok')}: ${found}`);
  else output.line(`${output.paint('red', 'not ok')}: ${count(faults.length, 'error', 'errors')} in ${found}`);
  if (heads.length === 0) return ok;
  // The end of a damaged ledger proves nothing, but it distinguishes one state from another.
  if (!ok) output.line(`it ends in: ${escape(heads.join(', '))}`);
  else if (heads.length === 1) output.line(`keep this to prove later that nothing was cut off: ${escape(heads.join(''))}`);
  else {
    output.line('keep these to prove later that nothing was cut off, each with --expect:');
    for (const head of heads) output.line(`  ${escape(head)}`);
  }
  return ok;
}

/** A typing error must not look like a ledger that was tampered with. */
function digestOf(given: string): string {
  const hex = given.replace(/^sha256:/, '').toLowerCase();
  if (/^[0-9a-f]{64}$/.test(hex)) return `sha256:${hex}`;
  throw new CommandError(
    `--expect cannot be \`${given}\`: expected \`sha256:\` and 64 hex digits, as printed by \`tollgate trace verify\``,
  );
}

function writeRecords(
  { gate, root, output }: OpenGate,
  { format = 'agent-trace', output: file, ...filters }: TraceOptions,
): boolean {
  const question = { ...questionOf('export', filters, root), format };
  if (file === undefined || file === '-') {
    exportRecords(gate, question, output.line);
    return true;
  }
  // The file appears only when it is complete; a device or pipe is written to rather than replaced.
  const target = fs.existsSync(file) ? fs.realpathSync.native(file) : file;
  const isFile = fs.statSync(target, { throwIfNoEntry: false })?.isFile() ?? true;
  const draft = isFile ? path.join(path.dirname(target), `.tollgate-${process.pid}.tmp`) : target;
  let written = 0;
  try {
    const descriptor = fs.openSync(draft, isFile ? 'wx' : 'w');
    written = exportRecords(gate, question, (line) => void fs.writeSync(descriptor, `${line}\n`));
    fs.closeSync(descriptor);
    if (isFile) fs.renameSync(draft, target);
  } catch (error) {
    if (isFile) fs.rmSync(draft, { force: true });
    if (error instanceof CommandError) throw error;
    throw new CommandError(`cannot write \`${file}\`: ${error instanceof Error ? error.message : String(error)}`);
  }
  say(`wrote ${count(written, 'record', 'records')} to \`${file}\``);
  return true;
}

/** Writes all records and returns their number. */
function exportRecords(gate: OpenGate['gate'], question: Answer, write: (line: string) => void): number {
  let written = 0;
  let cursor: unknown;
  for (;;) {
    const answer = ask(gate, cursor === undefined ? question : { ...question, cursor });
    for (const record of answer.records as object[]) {
      write(JSON.stringify(record));
      written += 1;
    }
    if (answer.cursor === null || answer.cursor === undefined) return written;
    // A cursor that does not advance would never end.
    if (answer.cursor === cursor) throw unexpectedAnswer(question);
    cursor = answer.cursor;
  }
}

function writeMap({ gate, json, output }: OpenGate): boolean {
  const answer = askUntilDone(gate, { op: 'map' });
  const { path: file, intents, files } = answer as { path: string; intents: number; files: number };
  const summary = `wrote ${escape(file)}: ${count(intents, 'intent', 'intents')}, ${count(files, 'file', 'files')}`;
  output.line(json ? JSON.stringify(answer) : summary);
  return true;
}
