// `tollgate mcp`: lists the declared MCP servers and their tools, and calls tools.
import { type Person, requirePerson } from './confirm.js';
import { type Cell, count, escape, escapeLines, say, type Style } from './output.js';
import { CommandError, withGate, type OpenGate } from './workspace.js';

/** The default session. */
const SESSION = 'mcp-call';

const USAGE = `Usage: tollgate mcp status|tools|call [OPTIONS] [--workspace DIR] [--home DIR] [--state DIR] [--json]

  status                    Connect to every declared server and show its state; exits with 1 if one is not available
  tools [SERVER]            List the tools of all servers, or of one
  call SERVER TOOL [JSON]   Call a tool, through the gate; exits with 1 if it fails or may not run
                            [--session SESSION] the session that it belongs to`;

interface ListedServer {
  name: string;
  state: string;
  why: string | null;
  tools: number;
  transport: string;
  source: string;
  target: string;
  warnings: string[];
}

interface ListedTool {
  name: string;
  server: string;
  description: string;
  parameters: { name: string; type: string; required: boolean }[];
}

interface ServerListing {
  servers: ListedServer[];
  warnings: string[];
  tools: ListedTool[];
}

interface CallResult {
  outcome: string;
  text: string;
  parts: { type: string }[];
  notes: string[];
}

const OPTIONS = { session: { type: 'string' } } as const;

const STATES: Record<string, Style> = { connected: 'green', disabled: 'dim' };

export function main(args: string[]): Promise<number> {
  return withGate(args, OPTIONS, USAGE, (opened, [command, ...words], { session }) => {
    if (command === 'status' && words.length === 0) return status(opened);
    if (command === 'tools' && words.length <= 1) return tools(opened, words[0]);
    const [server, tool, given = '{}'] = words;
    if (command === 'call' && server !== undefined && tool !== undefined && words.length <= 3)
      return call(opened, server, tool, given, session ?? SESSION);
    throw new CommandError(`invalid arguments\n${USAGE}`);
  });
}

async function status({ gate, json, output }: OpenGate): Promise<boolean> {
  const answer = (await gate.mcp.request('status')) as ServerListing;
  const { servers } = answer;
  if (json) output.line(JSON.stringify(answer));
  else if (servers.length === 0) say('no MCP server is declared; the native `tollgate mcp add` declares one');
  else {
    const titles = ['NAME', 'STATE', 'TOOLS', 'TRANSPORT', 'FROM', 'REACHED BY'].map((title): Cell => [title, 'bold']);
    const rows = servers.map(({ name, state, tools: number, transport, source, target }): Cell[] => {
      const found = state === 'connected' ? String(number) : '-';
      return [[name], [state, STATES[state] ?? 'red'], [found], [transport], [source], [target]];
    });
    output.rows([titles, ...rows]).forEach(output.line);
  }
  if (!json) printWarnings(answer, '');
  return servers.every(({ state }) => state in STATES);
}

async function tools({ gate, json, output }: OpenGate, wanted: string | undefined): Promise<boolean> {
  const answer = (await gate.mcp.request('tools', wanted === undefined ? {} : { server: wanted })) as ServerListing;
  let shown = answer;
  if (wanted !== undefined) {
    const server = answer.servers.find(({ name }) => name === wanted);
    if (server === undefined) {
      const known = answer.servers.map(({ name }) => name).join(', ');
      throw new CommandError(`no MCP server \`${escape(wanted)}\` is declared; declared: ${known === '' ? 'none' : known}`);
    }
    if (server.state !== 'connected') throw new CommandError(`the MCP server \`${wanted}\` is not available: ${server.why}`);
    answer.tools = answer.tools.filter((tool) => tool.server === wanted);
    shown = { ...answer, servers: [server] };
  }
  if (json) {
    output.line(JSON.stringify(answer));
    return true;
  }
  const titles = ['NAME', 'SERVER', 'TAKES', 'WHAT'].map((title): Cell => [title, 'bold']);
  const rows = answer.tools.map(({ name, server, description, parameters }): Cell[] => {
    const takes = parameters.map((parameter) => `${parameter.name}${parameter.required ? '' : '?'}: ${parameter.type}`);
    const [first = ''] = description.split(/\r?\n/);
    return [[name], [server], [takes.join(', ')], [[...first].slice(0, 80).join(''), 'dim']];
  });
  if (rows.length > 0) output.rows([titles, ...rows]).forEach(output.line);
  printWarnings(shown, ' has none now');
  say(count(rows.length, 'tool', 'tools'));
  return true;
}

function printWarnings({ servers, warnings }: ServerListing, having: string): void {
  for (const { name, why, warnings: own } of servers) {
    if (why !== null) say(`${name}${having}: ${why}`);
    for (const warning of own) say(`${name}: ${warning}`);
  }
  warnings.forEach(say);
}

async function call(opened: OpenGate, server: string, tool: string, given: string, session: string): Promise<boolean> {
  const { gate, json, output } = opened;
  const person = findPerson(opened, ['mcp', 'call', server, tool]);
  gate.mcp.setOptions({ ask: async (message) => person?.agrees(escapeLines(message)) });
  const params = { server, tool, arguments: parseArguments(given), session, call: `${SESSION}-${process.pid}` };
  const answer = (await gate.mcp.request('call', { ...params, attended: person !== undefined })) as CallResult;
  const { outcome, text, parts, notes } = answer;
  if (json) output.line(JSON.stringify(answer));
  else if (outcome === 'done') {
    output.line(escapeLines(text));
    if (parts.some(({ type }) => type !== 'text')) say('the answer contains more than text; `--json` shows all of it');
  } else if (outcome !== 'unavailable') say(text);
  notes.forEach(say);
  if (outcome !== 'done' && outcome !== 'failed' && outcome !== 'refused') throw new CommandError(text);
  return outcome === 'done';
}

/** The person who runs this; if there is none, no one is asked, and the gate refuses what it would ask about. */
function findPerson(opened: OpenGate, command: string[]): Person | undefined {
  try {
    return requirePerson(opened, command, false);
  } catch {
    return undefined;
  }
}

function parseArguments(given: string): object {
  const remedy = 'write \'{"path":"src/a.ts"}\'';
  let read: unknown;
  try {
    read = JSON.parse(given);
  } catch (error) {
    throw new CommandError(
      `\`${given}\` is not valid JSON: ${error instanceof Error ? error.message : String(error)}; ${remedy}`,
    );
  }
  if (typeof read === 'object' && read !== null && !Array.isArray(read)) return read;
  throw new CommandError(`\`${given}\` is not a JSON object; ${remedy}`);
}
