// The gate of one workspace.
import type { Answer } from '../../generated/interfaces/tollgate-hooks-augment.js';
import type { Outcome as ContractOutcome } from '../../generated/interfaces/tollgate-hooks-post-tool.js';
import type { ToolCall as ContractCall } from '../../generated/interfaces/tollgate-hooks-types.js';
import type {
  Augmented,
  Finding,
  Intent,
  LookupOptions,
  LookupPlan,
  McpOptions,
  Outcome,
  ProgramAnswer,
  Ruling,
  Settlement,
  ToolCall,
} from './types.js';
import { TollgateError } from './error.js';
import type { Guest } from '../component/guest.js';
import type { HooksOptions } from './hook_types.js';
import { Hooks } from '../hooks/hooks.js';
import { parseBytes, payloadBytes, requireString, textBytes, toBytes, toText, requireWholeNumber } from '../component/json.js';
import type { LedgerEntry } from './ledger.js';
import type { LogSink } from '../component/log.js';
import { Lookups, lookupOf } from '../programs/lookups.js';
import { Servers } from '../programs/servers.js';
import type { Roots } from '../files/roots.js';

const MAX_U32 = 0xffff_ffff;

/** @internal The parts of a gate. */
export interface GateParts {
  guest: Guest;
  roots: Roots;
  log: LogSink;
  hooks: HooksOptions | undefined;
  lookups: LookupOptions | undefined;
  mcp: McpOptions | undefined;
}

/**
 * The gate of one workspace. Throws only `TollgateError`.
 *
 * Decisions and queries are synchronous; everything that waits for programs, functions or servers returns a promise.
 */
export class Tollgate {
  readonly #parts: GateParts;
  readonly #guest: Guest;
  readonly #lookups: Lookups;
  #longestLine: number | undefined;
  #isSteppedByCaller = false;
  #hooks: Hooks | undefined;
  #servers: Servers | undefined;

  /** @internal Called by `createTollgate`. */
  constructor(parts: GateParts) {
    this.#parts = parts;
    this.#guest = parts.guest;
    this.#lookups = new Lookups(parts.roots.project.folder, parts.lookups, (params) => this.mcp.request('lookup', params));
  }

  /** The canonical path of the governed folder. */
  get workspace(): string {
    return this.#parts.roots.project.folder;
  }

  /** The declared MCP servers. Connections are made when they are first needed, and kept until the gate is closed. */
  get mcp(): Servers {
    if (this.#servers === undefined) {
      const perform = (line: string) => {
        // Which extensions are approved, and what can be confined, depends on this machine.
        this.hooks.describeHost();
        return toText(this.#guest.call(({ operations }) => operations.perform(textBytes(line))));
      };
      const exchange = (payload: object) => this.respond('generic', undefined, payload);
      const servers = new Servers({ folder: this.workspace, perform, exchange, options: this.#parts.mcp });
      this.#guest.onFailure.push((error) => servers.resetAfterFailure(error));
      this.#servers = servers;
    }
    return this.#servers;
  }

  /** The hooks of the workspace. They are started on first use; `createTollgate` takes their options. */
  get hooks(): Hooks {
    const { guest, roots, log, hooks: options = {} } = this.#parts;
    const perform = (line: Uint8Array) => this.perform(line);
    const isSteppedByCaller = () => this.#isSteppedByCaller;
    this.#hooks ??= new Hooks({ guest, roots, log, lookups: this.#lookups, options, perform, isSteppedByCaller });
    return this.#hooks;
  }

  /**
   * Handles a hook payload of an agent program and answers in its format: checks a call, records its result, runs hooks, and
   * looks up concepts.
   *
   * If the gate fails, the answer says so. If there is no answer at all, the promise is rejected: then the tool must not run.
   *
   * @param program such as `claude-code` or `opencode`
   * @param event the event, if the payload does not name it
   * @param payload JSON, as bytes, text or a value
   */
  async respond(program: string, event: string | undefined, payload: Uint8Array | string | object): Promise<ProgramAnswer> {
    const [name, named] = [requireString(program, 'program'), event === undefined ? undefined : requireString(event, 'event')];
    const bytes = payloadBytes(payload);
    try {
      return await this.hooks.respond(name, named, bytes);
    } catch (error) {
      if (error instanceof TollgateError && error.code !== 'guest_trap') throw noAnswerError(error);
      return this.#answerAfterFailure(name, named, bytes, error);
    }
  }

  /** The answer of a fresh instance after a failure. */
  #answerAfterFailure(program: string, event: string | undefined, payload: Uint8Array, why: unknown): ProgramAnswer {
    const resultText = why instanceof TollgateError ? why.message : 'the gate failed';
    try {
      const { text: answer, refused } = this.#guest.call(({ programs }) => programs.failed(program, event, payload, resultText));
      return { text: toText(answer), refused };
    } catch (error) {
      throw noAnswerError(error);
    }
  }

  /** Ends everything that runs for the gate: waits for hooks, or ends them with `drain: false`, and ends MCP servers. */
  async close({ drain = true }: { drain?: boolean | undefined } = {}): Promise<void> {
    await this.#hooks?.shutdown({ drain });
    if (drain && this.#guest.isRunning && !this.#isSteppedByCaller) await this.hooks.settle();
    await this.#servers?.close();
  }

  /** Supports `await using gate = createTollgate(…)`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Checks a call. Do not run the tool on `deny`; on `ask`, run it only if a person agrees. */
  preTool(call: ToolCall): Ruling {
    const asked = toContractCall(call);
    return this.#guest.call(({ preTool }) => preTool.check(asked)) as Ruling;
  }

  /** Records the result of a call in the ledger. */
  postTool(call: ToolCall, outcome: Outcome): Settlement {
    const asked = toContractCall(call);
    const ended = toContractOutcome(outcome);
    const { entries, notice } = this.#guest.call(({ postTool }) => postTool.settle(asked, ended));
    return { entries: entries.map((line) => JSON.parse(line) as LedgerEntry), notice };
  }

  /** Returns what to look up before calling `augment`. */
  planLookups(call: ToolCall): LookupPlan {
    const asked = toContractCall(call);
    // How servers are started depends on what this machine can do.
    this.hooks.describeHost();
    const { concepts, lookups, totalMs, skipped } = this.#guest.call(({ augment }) => augment.planLookups(asked));
    return { concepts, lookups: lookups.map(lookupOf), totalMs, skipped };
  }

  /** Adds what is known about a call's concepts without changing what the tool does. */
  augment(call: ToolCall, findings: readonly Finding[] = []): Augmented {
    const asked = toContractCall(call);
    const found = findings.map(({ concept, source, answer }) => ({
      concept: requireString(concept, 'findings[].concept'),
      source: requireString(source, 'findings[].source'),
      answer: toContractAnswer(answer),
    }));
    const { args, ...rest } = this.#guest.call(({ augment }) => augment.apply(asked, found));
    return { ...rest, args: parseBytes(args) as Record<string, unknown> };
  }

  /** Runs all lookups of a plan in parallel, each within its own time limit and all within the plan's. */
  lookUp(plan: LookupPlan): Promise<Finding[]> {
    return this.#lookups.run(plan);
  }

  /** Plans, looks up and augments in one step, in at most five seconds. */
  async augmentWith(call: ToolCall): Promise<Augmented> {
    return this.augment(call, await this.lookUp(this.planLookups(call)));
  }

  /** Makes an intent the only active one of a session. */
  selectIntent(session: string, intent: string): Intent {
    const [of, wanted] = [requireString(session, 'session'), requireString(intent, 'intent')];
    return this.#guest.call(({ sessions }) => sessions.select(of, wanted)) as Intent;
  }

  /** Removes the intent of a session. */
  clearIntent(session: string): void {
    const of = requireString(session, 'session');
    this.#guest.call(({ sessions }) => sessions.clear(of));
  }

  /** The intent of a session: its own or its parent's. */
  currentIntent(session: string): Intent | undefined {
    const of = requireString(session, 'session');
    return this.#guest.call(({ sessions }) => sessions.current(of)) as Intent | undefined;
  }

  /** Lets a sub-agent's session use its parent's intent until it selects its own. */
  inheritIntent(session: string, parent: string): void {
    const [of, from] = [requireString(session, 'session'), requireString(parent, 'parent')];
    this.#guest.call(({ sessions }) => sessions.inherit(of, from));
  }

  /** What the model should know about the session's intent; empty if there is none. Without a limit, the gate's own applies. */
  context(session: string, limitChars?: number): string {
    const of = requireString(session, 'session');
    if (limitChars === undefined) return String(this.perform({ op: 'context', session: of }).text ?? '');
    const limit = requireWholeNumber(limitChars, MAX_U32, 'limitChars');
    return this.#guest.call(({ sessions }) => sessions.context(of, limit));
  }

  /**
   * Answers one JSON request, such as `{"op":"context","session":"s1"}`: text with text, an object with an object. Invalid
   * requests are answered with `{"error":{"code","message"}}`, and those that take time with `{"waiting":N}`; use `hooks.perform`
   * to wait for them.
   */
  perform(line: string | Uint8Array): string;
  perform(line: object): Record<string, unknown>;
  perform(line: string | Uint8Array | object): string | Record<string, unknown> {
    const isBytes = line instanceof Uint8Array;
    const bytes = isBytes ? line : typeof line === 'string' ? textBytes(line) : toBytes(line, 'line');
    const op = hookOpOf(line, bytes);
    // A caller that takes steps itself describes its machine itself, and keeps its own time.
    this.#isSteppedByCaller ||= op === 'step';
    // Which hooks, extensions and skills are approved depends on the machine.
    const isOwnTime = !this.#isSteppedByCaller;
    if (isOwnTime && op !== undefined) this.hooks.describeHost();
    else if (isOwnTime) this.#hooks?.describeHost();
    const answer = toText(this.#guest.call(({ operations }) => operations.perform(bytes)));
    // Other files may have to be watched afterwards, or a hook may have to run.
    if (isOwnTime && op !== undefined && op !== 'skills') this.#hooks?.reload();
    return isBytes || typeof line === 'string' ? answer : (JSON.parse(answer) as Record<string, unknown>);
  }

  /** The length limit of a line for `perform`, in bytes. Of a longer line, one byte beyond the limit is enough. */
  get longestLine(): number {
    this.#longestLine ??= Number(this.#guest.call(({ operations }) => operations.longestLine()));
    return this.#longestLine;
  }
}

/** The ops about hooks and extensions. */
const HOOK_OPS = ['event', 'hooks', 'extensions', 'skills', 'step'];

/** What a line with such an op contains, as a rule or in escapes. */
const HOOK_OP_SIGNS = [...HOOK_OPS.map((op) => `"${op}"`), '\\u'];

/** The op of a line, if it is one of these. Most lines can be ruled out without parsing. */
function hookOpOf(line: string | Uint8Array | object, bytes: Uint8Array): string | undefined {
  let asked: unknown = line;
  if (typeof line === 'string' || line instanceof Uint8Array) {
    const glance = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (!HOOK_OP_SIGNS.some((sign) => glance.includes(sign))) return undefined;
    try {
      asked = parseBytes(bytes);
    } catch {
      return undefined;
    }
  }
  const op = typeof asked === 'object' && asked !== null && 'op' in asked ? asked.op : undefined;
  return typeof op === 'string' && HOOK_OPS.includes(op) ? op : undefined;
}

function noAnswerError(error: unknown): TollgateError {
  const why = error instanceof Error ? error.message : String(error);
  return new TollgateError('no_answer', `the gate does not answer (${why}), so a tool must not run`, error);
}

function toContractCall(call: ToolCall): ContractCall {
  if (typeof call !== 'object' || call === null) {
    throw new TollgateError('invalid_input', 'the call is not an object; pass { session, call, tool, args }');
  }
  const crossed: ContractCall = {
    session: requireString(call.session, 'session'),
    call: requireString(call.call, 'call'),
    tool: requireString(call.tool, 'tool'),
    args: toBytes(call.args, 'args'),
  };
  const { agent, host, cwd } = call;
  if (agent != null) crossed.agent = requireString(agent, 'agent');
  if (host != null) crossed.host = requireString(host, 'host');
  if (cwd != null) crossed.cwd = requireString(cwd, 'cwd');
  return crossed;
}

function toContractOutcome(outcome: Outcome): ContractOutcome {
  switch (outcome?.status) {
    case 'done':
      return { tag: 'done', val: outcome.result === undefined ? undefined : toBytes(outcome.result, 'result') };
    case 'failed':
      return { tag: 'failed', val: requireString(outcome.error, 'error') };
    case 'refused':
      return { tag: 'refused', val: requireString(outcome.reason, 'reason') };
    default:
      throw new TollgateError('invalid_input', 'the outcome has no known `status`; pass `done`, `failed` or `refused`');
  }
}

function toContractAnswer(answer: Finding['answer']): Answer {
  if (answer === 'unknown' || answer === 'unavailable' || answer === 'late') return { tag: answer };
  if (typeof answer === 'object' && answer !== null) {
    if ('text' in answer) return { tag: 'text', val: requireString(answer.text, 'answer.text') };
    if ('failed' in answer) return { tag: 'failed', val: requireString(answer.failed, 'answer.failed') };
  }
  const remedy = 'pass { text }, { failed }, `unknown`, `unavailable` or `late`';
  throw new TollgateError('invalid_input', `a finding has no known \`answer\`; ${remedy}`);
}
