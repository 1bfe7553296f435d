import type { Answer, Lookup as ContractLookup } from '../../generated/interfaces/tollgate-hooks-augment.js';
import type { Finding, Lookup, LookupAnswer, LookupOptions, LookupPlan, LookupProgram } from '../api/types.js';
import { fromBytes } from '../component/json.js';
import type { OnTools, Servers } from './mcp.js';

/** Of a program's output this much is kept; the rest is read and dropped. */
const MAX_OUTPUT = 1 << 20;

/** The longest complaint of a program that is passed on. */
const MAX_COMPLAINT = 200;

/** Looks things up for one gate, and keeps the MCP servers that it started for that. */
export class Lookups {
  readonly #folder: string;
  readonly #options: LookupOptions;
  readonly #onTools: OnTools | undefined;
  #servers: Promise<Servers> | undefined;

  /**
   * @param folder where commands and MCP servers are run
   * @param onTools told what an MCP server says of its tools, once for each that is started
   */
  constructor(folder: string, options: LookupOptions = {}, onTools?: OnTools) {
    this.#folder = folder;
    this.#options = options;
    this.#onTools = onTools;
  }

  /** Looks everything up at once, each within its time and all within the plan's. What is late is reported as late. */
  async carryOut(plan: LookupPlan): Promise<Finding[]> {
    const find = async (lookup: Lookup): Promise<Finding> => {
      const { concept, source, timeoutMs } = lookup;
      return { concept, source, answer: await this.#find(lookup, Math.min(timeoutMs, plan.totalMs)) };
    };
    return Promise.all(plan.lookups.map(find));
  }

  /** Looks one thing up within its time. */
  async find(lookup: ContractLookup): Promise<Answer> {
    const answer = await this.#find(lookupOf(lookup), lookup.timeoutMs);
    if (typeof answer === 'string') return { tag: answer };
    return 'text' in answer ? { tag: 'text', val: answer.text } : { tag: 'failed', val: answer.failed };
  }

  /** Ends the MCP servers. The next lookup starts them anew. */
  async close(): Promise<void> {
    const servers = this.#servers;
    this.#servers = undefined;
    await (await servers)?.close();
  }

  /** The answer, unless its time is up first. A function that does not listen to its signal is left alone. */
  async #find(lookup: Lookup, maxMs: number): Promise<LookupAnswer> {
    const end = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<LookupAnswer>((resolve) => {
      timer = setTimeout(() => {
        resolve('late');
        end.abort();
      }, maxMs);
    });
    const failed = (error: unknown): LookupAnswer => ({ failed: error instanceof Error ? error.message : String(error) });
    try {
      return await Promise.race([this.#ask(lookup, end.signal).catch(failed), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #ask({ concept, source, request }: Lookup, signal: AbortSignal): Promise<LookupAnswer> {
    const { functions, mcpTool } = this.#options;
    const known = (text: string | undefined): LookupAnswer => (text === undefined ? 'unknown' : { text });
    switch (request.kind) {
      case 'run':
        return runProgram(request, this.#folder, signal);
      case 'function': {
        const answer = functions?.[source];
        return answer === undefined ? 'unavailable' : known(await answer(concept, signal));
      }
      case 'mcp': {
        const { server, tool, arguments: given } = request;
        if (mcpTool !== undefined) return known(await mcpTool(server, tool, given, signal));
        this.#servers ??= import('./mcp.js').then(({ Servers }) => new Servers(this.#folder, this.#onTools));
        return (await this.#servers).ask(request, signal);
      }
      default:
        return 'unavailable';
    }
  }
}

/** A lookup in this package's words. */
export function lookupOf({ concept, source, request, timeoutMs }: ContractLookup): Lookup {
  switch (request.tag) {
    case 'run':
      return { concept, source, timeoutMs, request: { kind: 'run', ...request.val } };
    case 'mcp': {
      const given = fromBytes(request.val.arguments) as Record<string, unknown>;
      return { concept, source, timeoutMs, request: { kind: 'mcp', ...request.val, arguments: given } };
    }
    case 'function':
      return { concept, source, timeoutMs, request: { kind: 'function' } };
  }
}

/** Runs a program within the signal's time. */
async function runProgram(
  { argv, stdin, inherit, set }: LookupProgram,
  folder: string,
  signal: AbortSignal,
): Promise<LookupAnswer> {
  const { run } = await import('./process.js');
  const ending = await run({ argv, input: stdin, folder, inherit, set, outputBytes: MAX_OUTPUT }, signal);
  switch (ending.how) {
    case 'ended':
      if (ending.code === 0) return { text: ending.stdout };
      return { failed: `exit status: ${ending.code ?? ending.signal}: ${ending.stderr.split('\n')[0]?.slice(0, MAX_COMPLAINT)}` };
    case 'missing':
      return 'unavailable';
    case 'failed':
      return { failed: ending.why };
    case 'canceled':
      return 'late';
  }
}
