// Looks up concepts for the gate.
import type { Answer, Lookup as ContractLookup } from '../../generated/interfaces/tollgate-hooks-augment.js';
import type { Finding, Lookup, LookupAnswer, LookupOptions, LookupPlan, LookupProgram } from '../api/types.js';
import { parseBytes } from '../component/json.js';

/** At most this much of a program's output is kept; the rest is discarded. */
const MAX_OUTPUT = 1 << 20;

/** Calls a tool of an MCP server: `{server, tool, arguments, timeout_ms}`. */
type AskServer = (params: object) => Promise<unknown>;

/** Runs lookups for one gate. */
export class Lookups {
  readonly #folder: string;
  readonly #options: LookupOptions;
  readonly #askServer: AskServer;

  /**
   * @param folder the folder in which commands run
   * @param askServer calls tools over the gate's own connections
   */
  constructor(folder: string, options: LookupOptions = {}, askServer: AskServer = async () => 'unavailable') {
    this.#folder = folder;
    this.#options = options;
    this.#askServer = askServer;
  }

  /**
   * Runs all lookups of a plan in parallel, each within its own time limit and all within the plan's. Lookups that exceed it are
   * reported as late.
   */
  async run(plan: LookupPlan): Promise<Finding[]> {
    const find = async (lookup: Lookup): Promise<Finding> => {
      const { concept, source, timeoutMs } = lookup;
      return { concept, source, answer: await this.#find(lookup, Math.min(timeoutMs, plan.totalMs)) };
    };
    return Promise.all(plan.lookups.map(find));
  }

  /** Runs one lookup within its time limit. */
  async find(lookup: ContractLookup): Promise<Answer> {
    const answer = await this.#find(lookupOf(lookup), lookup.timeoutMs);
    if (typeof answer === 'string') return { tag: answer };
    return 'text' in answer ? { tag: 'text', val: answer.text } : { tag: 'failed', val: answer.failed };
  }

  /** The answer, unless the time limit is reached first. A function that ignores its signal is abandoned. */
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

  async #ask({ concept, source, request, timeoutMs }: Lookup, signal: AbortSignal): Promise<LookupAnswer> {
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
        return (await this.#askServer({ server, tool, arguments: given, timeout_ms: timeoutMs })) as LookupAnswer;
      }
      default:
        return 'unavailable';
    }
  }
}

/** Converts a lookup to the format of this package. */
export function lookupOf({ concept, source, request, timeoutMs }: ContractLookup): Lookup {
  switch (request.tag) {
    case 'run':
      return { concept, source, timeoutMs, request: { kind: 'run', ...request.val } };
    case 'mcp': {
      const given = parseBytes(request.val.arguments) as Record<string, unknown>;
      return { concept, source, timeoutMs, request: { kind: 'mcp', ...request.val, arguments: given } };
    }
    case 'function':
      return { concept, source, timeoutMs, request: { kind: 'function' } };
  }
}

/** Runs a program until the signal is aborted. */
async function runProgram(
  { argv, stdin, inherit, set }: LookupProgram,
  folder: string,
  signal: AbortSignal,
): Promise<LookupAnswer> {
  const { exitCode, firstComplaint, run } = await import('./process.js');
  const ending = await run({ argv, input: stdin, folder, inherit, set, outputBytes: MAX_OUTPUT }, signal);
  switch (ending.how) {
    case 'ended': {
      if (ending.code === 0) return { text: ending.stdout };
      const [status, complaint] = [`exit status: ${exitCode(ending)}`, firstComplaint(ending.stderr)];
      return { failed: complaint === '' ? status : `${status}: ${complaint}` };
    }
    case 'missing':
      return 'unavailable';
    case 'failed':
      return { failed: ending.why };
    case 'canceled':
      return 'late';
  }
}
