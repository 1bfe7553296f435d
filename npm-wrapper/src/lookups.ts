import type { Finding, Lookup, LookupPlan } from './calls.js';
import { run } from './process.js';
import { texts } from './programs.js';

/** Of a program's output so much is kept; the rest is read and dropped. */
const MOST_OUTPUT = 1 << 20;

/** Who can be asked outside the gate. */
export interface LookupOptions {
  /** Where commands and MCP servers are run. Without it, the current folder. */
  folder?: string;
  /** Functions for the sources that the settings declare with `"function": true`; they answer with Markdown, or nothing. */
  functions?: Record<string, (concept: string, signal: AbortSignal) => Promise<string | undefined> | string | undefined>;
  /**
   * Calls a tool of an MCP server that you are connected to. Without it, the servers that the user's settings name are started
   * when they are first asked, and kept until the process ends; others are not there.
   */
  mcpTool?: (server: string, tool: string, args: unknown, signal: AbortSignal) => Promise<string | undefined> | string | undefined;
}

type Answer = Finding['answer'];

/** Loaded when the first MCP server is asked. */
let mcp: Promise<typeof import('./mcp.js')> | undefined;

/** Ends the MCP servers that lookups have started. The next lookup starts them anew. */
export async function closeMcpServers(): Promise<void> {
  await (await mcp)?.close();
}

/** Looks everything up at once, each within its time and all within the plan's. What is late is reported as late. */
export async function carryOut(plan: LookupPlan, options: LookupOptions = {}): Promise<Finding[]> {
  const finding = async (lookup: Lookup): Promise<Finding> => {
    const most = Math.min(lookup.timeoutMs, plan.totalMs);
    return { concept: lookup.concept, source: lookup.source, answer: await inTime(most, (signal) => ask(lookup, options, signal)) };
  };
  return Promise.all(plan.lookups.map(finding));
}

/** The answer, unless its time is up first. A function that does not listen to its signal is left alone. */
async function inTime(most: number, work: (signal: AbortSignal) => Promise<Answer>): Promise<Answer> {
  const end = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Answer>((resolve) => {
    timer = setTimeout(() => {
      resolve('late');
      end.abort();
    }, most);
  });
  const failed = (error: unknown): Answer => ({ failed: error instanceof Error ? error.message : String(error) });
  try {
    return await Promise.race([work(end.signal).catch(failed), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function ask(lookup: Lookup, options: LookupOptions, signal: AbortSignal): Promise<Answer> {
  const request = (lookup.request ?? {}) as Record<string, Record<string, unknown>>;
  const folder = options.folder ?? process.cwd();
  if (request.run !== undefined) return ended(request.run, folder, signal);
  if (request.mcp !== undefined && options.mcpTool === undefined) {
    return (await (mcp ??= import('./mcp.js'))).ask(request.mcp, folder, signal);
  }
  let known: Promise<string | undefined> | string | undefined;
  if (request.function !== undefined) {
    const answer = options.functions?.[lookup.source];
    if (answer === undefined) return 'unavailable';
    known = answer(lookup.concept, signal);
  } else {
    if (request.mcp === undefined || options.mcpTool === undefined) return 'unavailable';
    known = options.mcpTool(String(request.mcp.server), String(request.mcp.tool), request.mcp.arguments, signal);
  }
  const text = await known;
  return text === undefined ? 'unknown' : { text };
}

/** Runs a program within the signal's time. */
async function ended({ argv, inherit, stdin }: Record<string, unknown>, folder: string, signal: AbortSignal): Promise<Answer> {
  const input = typeof stdin === 'string' ? stdin : '';
  const ending = await run({ argv: texts(argv), input, folder, inherit: texts(inherit), outputBytes: MOST_OUTPUT }, signal);
  switch (ending.how) {
    case 'ended':
      if (ending.code === 0) return { text: ending.stdout };
      return { failed: `exit status: ${ending.code ?? ending.signal}: ${ending.stderr.split('\n')[0]?.slice(0, 200)}` };
    case 'missing':
      return 'unavailable';
    case 'failed':
      return { failed: ending.why };
    case 'canceled':
      return 'late';
  }
}
