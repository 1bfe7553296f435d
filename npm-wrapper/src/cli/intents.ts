// `tollgate intents`: lists, checks and selects intents.
import type { IntentDiagnostic } from '../api/intent_diagnostic.js';
import { requirePerson } from './confirm.js';
import { type Cell, count, escape, say } from './output.js';
import { type Answer, ask, withGate, type OpenGate, CommandError } from './workspace.js';

/** The intents file of a workspace. */
const INTENTS_FILE = '.orchestration/active_intents.yaml';

const USAGE = `Usage: tollgate intents list|check|sessions|select ID [OPTIONS] [--workspace DIR] [--home DIR] [--state DIR] [--json]

  list       List the intents with their status, name and scope
  check      Check ${INTENTS_FILE}; exits with 1 if it has an error
  sessions   List the sessions with their intent, program, and last activity
  select ID  Select an intent for new sessions; only for a person at a terminal
             [--session SESSION] for this session instead; [--none] instead of ID: clear it; [--yes] confirm in advance`;

interface IntentListing {
  governed: boolean;
  intents: { id: string; status: string; name: string; open: boolean; owned_scope: string[] }[];
  diagnostics: IntentDiagnostic[];
  errors: number;
  warnings: number;
  summary: string | null;
  readable: boolean;
  valid: boolean;
}

interface IntentOptions {
  session?: string;
  none?: boolean;
  yes?: boolean;
}

const OPTIONS = { session: { type: 'string' }, none: { type: 'boolean' }, yes: { type: 'boolean', short: 'y' } } as const;

export function main(args: string[]): Promise<number> {
  return withGate(args, OPTIONS, USAGE, (opened, [command, ...words], given) => {
    const values = given as unknown as IntentOptions;
    const isAlone = words.length === 0 && Object.keys(OPTIONS).every((name) => values[name as keyof IntentOptions] === undefined);
    if (command === 'list' && isAlone) return show(opened);
    if (command === 'check' && isAlone) return check(opened);
    if (command === 'sessions' && isAlone) return listSessions(opened);
    if (command === 'select' && words.length === (values.none === true ? 0 : 1)) return select(opened, words[0], values);
    throw new CommandError(`invalid arguments\n${USAGE}`);
  });
}

function show({ gate, json, output }: OpenGate): boolean {
  const answer = ask(gate, { op: 'list-intents' });
  const { intents, summary, readable } = answer as unknown as IntentListing;
  if (json) output.line(JSON.stringify(answer));
  else if (intents.length > 0) {
    const titles = ['ID', 'STATUS', 'NAME', 'SCOPE'].map((title): [string, 'bold'] => [title, 'bold']);
    const rows = intents.map(({ id, status, name, open, owned_scope: scope }) =>
      [id, status, name, scope.join(', ')].map((text): [string, 'plain' | 'dim'] => [text, open ? 'plain' : 'dim']),
    );
    output.rows([titles, ...rows]).forEach(output.line);
  }
  if (!readable) throw new CommandError(summary ?? '');
  // As JSON, it is part of the answer.
  if (summary !== null && !json) say(summary);
  return true;
}

function check({ gate, json, output }: OpenGate): boolean {
  const answer = ask(gate, { op: 'list-intents' });
  const { governed, intents, diagnostics, errors, warnings, summary, valid } = answer as unknown as IntentListing;
  if (json) output.line(JSON.stringify(answer));
  else if (!governed) say(summary ?? '');
  else {
    const place = (number: number | null) => (number === null ? '' : `:${number}`);
    for (const { severity, line, column, message } of diagnostics) {
      const painted = output.paint(severity === 'error' ? 'red' : 'yellow', severity);
      output.line(`${INTENTS_FILE}${place(line)}${place(column)}: ${painted}: ${escape(message)}`);
    }
    const counts = [
      count(intents.length, 'intent', 'intents'),
      count(errors, 'error', 'errors'),
      count(warnings, 'warning', 'warnings'),
    ];
    output.line(counts.join(', '));
  }
  return valid;
}

function select(opened: OpenGate, intent: string | undefined, { session, yes }: IntentOptions): boolean {
  const { gate, json, output } = opened;
  const words = ['intents', 'select', intent ?? '--none', ...(session === undefined ? [] : ['--session', session])];
  const person = requirePerson(opened, words, yes === true);
  const who = session === undefined ? 'every new session' : `session ${escape(session)}`;
  if (!person.agrees(intent === undefined ? `clear the intent of ${who}?` : `select ${escape(intent)} for ${who}?`)) return false;
  const answer = ask(gate, questionOf(session, intent));
  const selected = answer.intent as { id: string; name: string } | null;
  const summary =
    selected === null ? `${who} now has no intent` : `${who} now works for ${escape(selected.id)} (${escape(selected.name)})`;
  output.line(json ? JSON.stringify(answer) : summary);
  person.record([`the intent of ${who}`]);
  return true;
}

function questionOf(session: string | undefined, intent: string | undefined): Answer {
  if (session === undefined) return { op: 'select-default', intent: intent ?? null };
  return intent === undefined ? { op: 'clear-intent', session } : { op: 'select-intent', session, intent };
}

interface Session {
  session: string;
  intent: string | null;
  parent: string | null;
  by: string | null;
  since: string | null;
  program: string | null;
  last: { tool: string; at: string; denied: boolean } | null;
}

/** Lists the sessions, the most recently active first. */
function listSessions({ gate, json, output }: OpenGate): boolean {
  const answer = ask(gate, { op: 'list-sessions' });
  const { default: usual, sessions } = answer as unknown as { default: string | null; sessions: Session[] };
  if (json) {
    output.line(JSON.stringify(answer));
    return true;
  }
  const titles = ['SESSION', 'INTENT', 'PROGRAM', 'LAST ACTIVE', 'LAST CALL'].map((title): Cell => [title, 'bold']);
  if (sessions.length > 0) output.rows([titles, ...sessions.map(rowOf)]).forEach(output.line);
  if (usual !== null) say(`new sessions work for ${escape(usual)}`);
  else if (sessions.length === 0) say('no session has selected an intent or changed anything yet');
  return true;
}

function rowOf({ session, intent, parent, by, since, program, last }: Session): Cell[] {
  const own = intent !== null && by !== null ? `${intent} (${by})` : intent;
  const call: Cell = last?.denied === true ? [`${last.tool}, denied`, 'yellow'] : [last?.tool ?? '-'];
  return [
    [session],
    [own ?? (parent === null ? '-' : `inherited from ${parent}`)],
    [program ?? '-'],
    [last?.at ?? since ?? '-'],
    call,
  ];
}
