// `tollgate intents`: what the agents work for.
import { count, plain, say } from './screen.js';
import { type Answer, ask, onGate, type Opened, Stop } from './workspace.js';

/** Where the intents stand in a workspace. */
const FILE = '.orchestration/active_intents.yaml';

const UNGOVERNED = 'there is no .orchestration/ in the workspace, so nothing is governed';

const USAGE = `Usage: tollgate intents list|check|select ID [--session SESSION] [--workspace DIR] [--home DIR] [--state DIR] [--json]

  list       List the intents: their status, their names, what they own
  check      Check ${FILE}; exits with 1 if it has an error
  select ID  Make an intent the one that a session works for; the session is needed unless exactly one is known`;

interface Diagnosis {
  severity: string;
  line: number | null;
  column: number | null;
  message: string;
}

interface Listed {
  governed: boolean;
  intents: { id: string; status: string; name: string; open: boolean; owned_scope: string[] }[];
  diagnostics: Diagnosis[];
}

export function main(args: string[]): Promise<number> {
  return onGate(args, { session: { type: 'string' } }, USAGE, (opened, [command, ...words], { session }) => {
    if (command === 'list' && words.length === 0) return show(opened);
    if (command === 'check' && words.length === 0) return check(opened);
    if (command === 'select' && words[0] !== undefined && words.length === 1) return select(opened, words[0], session);
    throw new Stop(`that cannot be understood\n${USAGE}`);
  });
}

function show({ gate, json, screen }: Opened): boolean {
  const answer = ask(gate, { op: 'list-intents' });
  const { governed, intents } = answer as unknown as Listed;
  const [errors] = severities(answer);
  if (json) screen.line(JSON.stringify(answer));
  else if (!governed) say(UNGOVERNED);
  else if (intents.length === 0 && errors === 0) say(`\`${FILE}\` lists no intents`);
  else if (intents.length > 0) {
    const titles = ['ID', 'STATUS', 'NAME', 'SCOPE'].map((title): [string, 'bold'] => [title, 'bold']);
    const rows = intents.map(({ id, status, name, open, owned_scope: scope }) =>
      [id, status, name, scope.join(', ')].map((text): [string, 'plain' | 'dim'] => [text, open ? 'plain' : 'dim']),
    );
    screen.rows([titles, ...rows]).forEach(screen.line);
  }
  if (errors === 0) return true;
  const why = `\`${FILE}\` has ${count(errors, 'error', 'errors')}; \`tollgate intents check\` shows what is wrong`;
  // Nothing could be read, which is not the same as nothing to read.
  if (intents.length === 0) throw new Stop(why);
  say(why);
  return true;
}

function check({ gate, json, screen }: Opened): boolean {
  const answer = ask(gate, { op: 'list-intents' });
  const { governed, intents, diagnostics } = answer as unknown as Listed;
  const [errors, warnings] = severities(answer);
  if (json) screen.line(JSON.stringify(answer));
  else if (!governed) say(UNGOVERNED);
  else {
    const place = (number: number | null) => (number === null ? '' : `:${number}`);
    for (const { severity, line, column, message } of diagnostics) {
      const painted = screen.paint(severity === 'error' ? 'red' : 'yellow', severity);
      screen.line(`${FILE}${place(line)}${place(column)}: ${painted}: ${plain(message)}`);
    }
    const counts = [count(intents.length, 'intent', 'intents'), count(errors, 'error', 'errors'), count(warnings, 'warning', 'warnings')];
    screen.line(counts.join(', '));
  }
  return errors === 0;
}

/** How many errors and how many warnings there are. */
function severities(answer: Answer): [errors: number, warnings: number] {
  const { diagnostics } = answer as unknown as Listed;
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  return [errors, diagnostics.length - errors];
}

function select({ gate, json, screen }: Opened, intent: string, named: string | undefined): boolean {
  const session = named ?? onlySession(ask(gate, { op: 'list-sessions' }));
  const answer = ask(gate, { op: 'select-intent', session, intent });
  const { id, name } = answer.intent as { id: string; name: string };
  screen.line(json ? JSON.stringify(answer) : `session ${plain(session)} now works for ${plain(id)} (${plain(name)})`);
  return true;
}

/** The session that is meant where none is named. */
function onlySession(answer: Answer): string {
  const known = answer.sessions as { session: string; intent: string | null }[];
  const [only] = known;
  if (only === undefined) throw new Stop('no session is known yet; name the one to come with --session SESSION');
  if (known.length === 1) return only.session;
  const all = known.map(({ session, intent }) => `\`${session}\` (${intent === null ? 'no intent' : `works for ${intent}`})`);
  throw new Stop(`several sessions are known: ${all.join(', ')}; name one with --session SESSION`);
}
