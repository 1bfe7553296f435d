// `tollgate trace`: what the agents changed.
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { LedgerEntry } from '../api/index.js';
import { type Filters, FILTERS, isFromWorkspace, questionOf } from './filters.js';
import { type Cell, count, plain, say, type Screen } from './output.js';
import { type Answer, ask, askUntilDone, onGate, type Opened, Stop, strange } from './workspace.js';

/** Entries shown where nobody says how many. */
const USUAL_LIMIT = 20;

/** Faults shown; the rest is counted. */
const MAX_FAULTS = 20;

/** Ranges of lines shown behind a path. */
const MAX_RANGES = 4;

/** The longest error that is shown, in characters. */
const MAX_ERROR = 200;

const USAGE = `Usage: tollgate trace [list]|verify|export|map [OPTIONS] [--workspace DIR] [--home DIR] [--state DIR] [--json]

  list    List the latest changes, oldest first
          [--intent ID] [--file PATH-OR-GLOB] [--session SESSION] [--since TIME] [--until TIME] [--limit N]
  verify  Check that the ledger is whole; exits with 1 if it is not [--expect HASH]
  export  Write the ledger in a format that other tools read [--format agent-trace] [--output FILE], and the filters of list
  map     Write .orchestration/intent_map.md: which files were changed for which intent`;

const OPTIONS = {
  ...FILTERS,
  limit: { type: 'string' },
  expect: { type: 'string' },
  format: { type: 'string' },
  output: { type: 'string', short: 'o' },
} as const;

type Values = Partial<Record<keyof typeof OPTIONS, string>>;

/** The options that each command takes. */
const TAKES: Record<string, (keyof Values)[]> = {
  list: ['intent', 'file', 'session', 'since', 'until', 'limit'],
  verify: ['expect'],
  export: ['intent', 'file', 'session', 'since', 'until', 'format', 'output'],
  map: [],
};

export function main(args: string[]): Promise<number> {
  return onGate(args, OPTIONS, USAGE, (opened, [command = 'list', ...words], values: Values) => {
    const takes = Object.hasOwn(TAKES, command) ? TAKES[command] : undefined;
    if (takes === undefined || words.length > 0) throw new Stop(`that cannot be understood\n${USAGE}`);
    const strays = (Object.keys(OPTIONS) as (keyof Values)[]).filter(
      (name) => values[name] !== undefined && !takes.includes(name),
    );
    if (strays[0] !== undefined) throw new Stop(`\`tollgate trace ${command}\` takes no --${strays[0]}\n${USAGE}`);
    if (command === 'verify') return verify(opened, values.expect);
    if (command === 'export') return writeRecords(opened, values);
    if (command === 'map') return writeMap(opened);
    return list(opened, values);
  });
}

function list({ gate, root, json, screen }: Opened, values: Values): boolean {
  const limit = values.limit === undefined ? undefined : Number(values.limit);
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1))
    throw new Stop(`--limit cannot be \`${values.limit}\`; give a whole number from 1`);
  const { limit: _, ...filters } = values;
  const answer = latest(gate, questionOf('trace', filters, root), limit ?? USUAL_LIMIT);
  if (json) {
    screen.line(JSON.stringify(answer));
    return true;
  }
  for (const line of entryLines(answer.entries, screen)) screen.line(line);
  for (const note of answer.notes) say(note);
  if (answer.entries.length === 0) say(nothing(filters, root));
  else if (limit === undefined && answer.entries.length >= USUAL_LIMIT && answer.before !== null) {
    say(`these are the latest ${USUAL_LIMIT}; --limit N shows more`);
  }
  if (answer.archive_suggested)
    say(`the ledger has grown to ${megabytes(answer.bytes)}; a person can move it aside with \`tollgate trace archive\``);
  return true;
}

interface Page {
  entries: LedgerEntry[];
  before: number | null;
  bytes: number;
  archive_suggested: boolean;
  notes: string[];
}

/** The latest entries as one answer, however many pages it takes. */
function latest(gate: Opened['gate'], question: Answer, limit: number): Page {
  const all: Page = { entries: [], before: null, bytes: 0, archive_suggested: false, notes: [] };
  for (let first = true; first || (all.before !== null && all.entries.length < limit); first = false) {
    const missing = limit - all.entries.length;
    const page = ask(gate, {
      ...question,
      limit: missing,
      ...(all.before === null ? {} : { before: all.before }),
    }) as unknown as Page;
    // A place that does not move would be asked for ever.
    if (all.before !== null && page.before !== null && page.before >= all.before) throw strange(question);
    if (first) [all.bytes, all.archive_suggested] = [page.bytes, page.archive_suggested];
    // Every page is older than the one before.
    [all.entries, all.notes] = [
      [...page.entries, ...all.entries],
      [...page.notes, ...all.notes],
    ];
    all.before = page.before;
  }
  return all;
}

function nothing(filters: Filters, root: string): string {
  const { file } = filters;
  if (Object.values(filters).every((value) => value === undefined)) return 'nothing has been entered in the ledger yet';
  const here = process.cwd();
  // Somebody below the workspace's top may have meant a file beside them.
  if (file !== undefined && isFromWorkspace(file) && here !== root && here.startsWith(`${root}${path.sep}`)) {
    return `no entry matches; \`${file}\` was looked for from \`${root}\`, and \`./${file}\` would be here`;
  }
  return 'no entry matches';
}

function megabytes(bytes: number): string {
  const tenths = Math.floor((bytes + 50_000) / 100_000);
  return `${Math.floor(tenths / 10)}.${tenths % 10} MB`;
}

/** The entries, a line each and a second one where the tool said why it failed. */
function entryLines(entries: LedgerEntry[], screen: Screen): string[] {
  return screen.rows(entries.map(rowOf)).flatMap((line, at) => {
    const error = errorOf(entries[at]?.error ?? '');
    return error === undefined ? [line] : [line, `    ${screen.paint('yellow', error)}`];
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
  const hash = (digest: string | null) => (digest === null ? '-' : short(digest));
  const ranges = (file?.line_ranges ?? []).map(({ start, end }) => (start === end ? `${start}` : `${start}-${end}`));
  const shown = ranges.length === 0 ? '' : `:${ranges.slice(0, MAX_RANGES).join(',')}${ranges.length > MAX_RANGES ? ',…' : ''}`;
  return [
    [short(id), 'yellow'],
    [timestamp],
    [intent_id ?? '-'],
    [session_id],
    [tool_name],
    [mutation_class],
    [file === null ? commandOf(person) : `${file.relative_path}${shown}`, 'bold'],
    [file === null ? '' : `${hash(file.pre_hash)}→${hash(file.post_hash)}`, 'dim'],
    [scope_validation === 'FAIL' ? 'FAIL' : '', 'red'],
    [success ? '' : 'failed', 'yellow'],
    [concurrent == null ? '' : `concurrent with ${short(concurrent.entry_id)} of ${concurrent.session_id}`, 'yellow'],
    [late == null ? '' : `late, of the call at ${late.began}${late.others ? `, or ${late.others} others` : ''}`, 'yellow'],
  ];
}

/** Who gave a command, and which. */
function commandOf(person: LedgerEntry['person']): string {
  return person == null ? '-' : `by ${person.user}: ${person.command.join(' ')}`;
}

/** What the tool said: its first line, and a sign where there is more. */
function errorOf(error: string): string | undefined {
  const said = error.trim();
  if (said === '') return undefined;
  const first = said.split(/\r?\n/)[0] ?? '';
  const characters = [...first];
  const shown = plain(characters.slice(0, MAX_ERROR).join(''));
  return first.length < said.length || characters.length > MAX_ERROR ? `${shown} …` : shown;
}

/** The first eight characters of a digest or an id: enough to tell them apart. */
function short(text: string): string {
  return [...text.replace(/^sha256:/, '')].slice(0, 8).join('');
}

interface Remark {
  file: string;
  line: number | null;
  what: string;
}

interface Verified {
  ok: boolean;
  files: string[];
  lines: number;
  entries: number;
  heads: string[];
  faults: Remark[];
  notes: Remark[];
}

function verify({ gate, json, screen }: Opened, given: string | undefined): boolean {
  const answer = askUntilDone(gate, { op: 'verify', ...(given === undefined ? {} : { expect: digestOf(given) }) });
  const { ok, files, lines, entries, heads, faults, notes } = answer as unknown as Verified;
  if (json) {
    screen.line(JSON.stringify(answer));
    return ok;
  }
  const told = ({ file, line, what }: Remark) => `${plain(file)}${line === null ? '' : `:${line}`}: ${plain(what)}`;
  for (const fault of faults.slice(0, MAX_FAULTS)) screen.line(screen.paint('red', told(fault)));
  if (faults.length > MAX_FAULTS) screen.line(`and ${faults.length - MAX_FAULTS} more`);
  for (const note of notes) screen.line(`note: ${told(note)}`);
  const found = [count(files.length, 'file', 'files'), count(lines, 'line', 'lines'), count(entries, 'entry', 'entries')].join(
    ', ',
  );
  if (ok) screen.line(`${screen.paint('green', 'ok')}: ${found}`);
  else screen.line(`${screen.paint('red', 'not ok')}: ${count(faults.length, 'fault', 'faults')} in ${found}`);
  if (heads.length === 0) return ok;
  // What is not whole proves nothing; it is said to tell one state from another.
  if (!ok) screen.line(`it ends in: ${plain(heads.join(', '))}`);
  else if (heads.length === 1) screen.line(`keep this to prove later that nothing was cut off: ${plain(heads.join(''))}`);
  else {
    screen.line('keep these to prove later that nothing was cut off, each with --expect:');
    for (const head of heads) screen.line(`  ${plain(head)}`);
  }
  return ok;
}

/** A typing error must not look like a ledger that was tampered with. */
function digestOf(given: string): string {
  const hex = given.replace(/^sha256:/, '').toLowerCase();
  if (/^[0-9a-f]{64}$/.test(hex)) return `sha256:${hex}`;
  throw new Stop(
    `--expect cannot be \`${given}\`: it is not sha256:… with 64 hex digits, as \`tollgate trace verify\` prints it`,
  );
}

function writeRecords({ gate, root, screen }: Opened, { format = 'agent-trace', output, ...filters }: Values): boolean {
  const question = { ...questionOf('export', filters, root), format };
  if (output === undefined || output === '-') {
    records(gate, question, screen.line);
    return true;
  }
  // A file that is there only once it is complete; a device or a pipe is no file to replace.
  const target = fs.existsSync(output) ? fs.realpathSync.native(output) : output;
  const isFile = fs.statSync(target, { throwIfNoEntry: false })?.isFile() ?? true;
  const draft = isFile ? path.join(path.dirname(target), `.tollgate-${process.pid}.tmp`) : target;
  let written = 0;
  try {
    const descriptor = fs.openSync(draft, isFile ? 'wx' : 'w');
    written = records(gate, question, (line) => void fs.writeSync(descriptor, `${line}\n`));
    fs.closeSync(descriptor);
    if (isFile) fs.renameSync(draft, target);
  } catch (error) {
    if (isFile) fs.rmSync(draft, { force: true });
    if (error instanceof Stop) throw error;
    throw new Stop(`cannot write \`${output}\`: ${error instanceof Error ? error.message : String(error)}`);
  }
  say(`wrote ${count(written, 'record', 'records')} to \`${output}\``);
  return true;
}

/** Writes every record, and says how many there were. */
function records(gate: Opened['gate'], question: Answer, write: (line: string) => void): number {
  let written = 0;
  let cursor: unknown;
  for (;;) {
    const answer = ask(gate, cursor === undefined ? question : { ...question, cursor });
    for (const record of answer.records as object[]) {
      write(JSON.stringify(record));
      written += 1;
    }
    if (answer.cursor === null || answer.cursor === undefined) return written;
    // A place that does not move would be asked for ever.
    if (answer.cursor === cursor) throw strange(question);
    cursor = answer.cursor;
  }
}

function writeMap({ gate, json, screen }: Opened): boolean {
  const answer = askUntilDone(gate, { op: 'map' });
  const { path: file, intents, files } = answer as { path: string; intents: number; files: number };
  const told = `wrote ${plain(file)}: ${count(intents, 'intent', 'intents')}, ${count(files, 'file', 'files')}`;
  screen.line(json ? JSON.stringify(answer) : told);
  return true;
}
