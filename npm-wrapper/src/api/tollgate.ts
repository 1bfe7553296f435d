import type { Answer } from '../../generated/interfaces/tollgate-hooks-augment.js';
import type { Outcome as ContractOutcome } from '../../generated/interfaces/tollgate-hooks-post-tool.js';
import type { ToolCall as ContractCall } from '../../generated/interfaces/tollgate-hooks-types.js';
import type {
  Augmented,
  Finding,
  Intent,
  LookupOptions,
  LookupPlan,
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
import { fromBytes, payloadBytes, text, textBytes, toBytes, toText, whole } from '../component/json.js';
import type { LedgerEntry } from './ledger.js';
import type { LogSink } from '../component/log.js';
import { Lookups, lookupOf } from '../programs/lookups.js';
import type { Roots } from '../files/roots.js';

/** What the prompt gets when nobody asks for less: 4,000 tokens of about four characters. */
const CONTEXT_CHARS = 16_000;

const MAX_U32 = 0xffff_ffff;

/** @internal What a gate is made of. */
export interface GateParts {
  guest: Guest;
  roots: Roots;
  log: LogSink;
  hooks: HooksOptions | undefined;
  lookups: LookupOptions | undefined;
}

/**
 * The gate of one workspace. Throws nothing but `TollgateError`.
 *
 * What is ruled on, entered or asked is answered at once; what has to wait for programs, functions or servers is a promise.
 */
export class Tollgate {
  readonly #parts: GateParts;
  readonly #guest: Guest;
  readonly #lookups: Lookups;
  #longestLine: number | undefined;
  #hooks: Hooks | undefined;

  /** @internal Made by `createTollgate`. */
  constructor(parts: GateParts) {
    this.#parts = parts;
    this.#guest = parts.guest;
    // Nothing depends on it: what the gate does not learn, nobody claims.
    const learn = (server: string, tools: unknown[]) => void this.perform({ op: 'server-tools', server, tools });
    this.#lookups = new Lookups(parts.roots.project.folder, parts.lookups, learn);
  }

  /** The folder that it governs, every link followed. */
  get workspace(): string {
    return this.#parts.roots.project.folder;
  }

  /** The hooks of the workspace. They run from the first use on; `createTollgate` takes their options. */
  get hooks(): Hooks {
    const { guest, roots, log, hooks: options = {} } = this.#parts;
    const perform = (line: Uint8Array) => this.perform(line);
    this.#hooks ??= new Hooks({ guest, roots, log, lookups: this.#lookups, options, perform });
    return this.#hooks;
  }

  /**
   * Answers an agent program's own payload in its own words, with everything that belongs to it: rules on a call, enters what came
   * of it, runs hooks, looks up what is known.
   *
   * Where the gate fails, the answer says so. Where there is not even that, the promise is rejected: then a tool must not run.
   *
   * @param program such as `claude-code` or `opencode`
   * @param event the event's name, where the payload does not tell it
   * @param payload JSON: its bytes, its text, or what it is the text of
   */
  async respond(program: string, event: string | undefined, payload: Uint8Array | string | object): Promise<ProgramAnswer> {
    const [name, named] = [text(program, 'program'), event === undefined ? undefined : text(event, 'event')];
    const bytes = payloadBytes(payload);
    try {
      return await this.hooks.respond(name, named, bytes);
    } catch (error) {
      if (error instanceof TollgateError && error.code !== 'guest_trap') throw unanswered(error);
      return this.#failed(name, named, bytes, error);
    }
  }

  /** The answer of a fresh instance where one has failed. */
  #failed(program: string, event: string | undefined, payload: Uint8Array, why: unknown): ProgramAnswer {
    const said = why instanceof TollgateError ? why.message : 'the gate failed';
    try {
      const { text: answer, refused } = this.#guest.call(({ programs }) => programs.failed(program, event, payload, said));
      return { text: toText(answer), refused };
    } catch (error) {
      throw unanswered(error);
    }
  }

  /** Ends what runs for the gate: hooks are waited for, or with `drain: false` ended, and MCP servers end. */
  async close({ drain = true }: { drain?: boolean | undefined } = {}): Promise<void> {
    await this.#hooks?.shutdown({ drain });
    if (drain && this.#guest.isRunning) await this.hooks.settle();
    await this.#lookups.close();
  }

  /** `await using gate = createTollgate(…)` closes it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Rules on one call. Do not run the tool on `deny`, and have a person's word before you do on `ask`. */
  preTool(call: ToolCall): Ruling {
    const asked = crossing(call);
    return this.#guest.call(({ preTool }) => preTool.check(asked)) as Ruling;
  }

  /** Enters what came of a call in the ledger. */
  postTool(call: ToolCall, outcome: Outcome): Settlement {
    const asked = crossing(call);
    const ended = ending(outcome);
    const { entries, notice } = this.#guest.call(({ postTool }) => postTool.settle(asked, ended));
    return { entries: entries.map((line) => JSON.parse(line) as LedgerEntry), notice };
  }

  /** What to look up for a call before `augment`. */
  planLookups(call: ToolCall): LookupPlan {
    const asked = crossing(call);
    const { concepts, lookups, totalMs, skipped } = this.#guest.call(({ augment }) => augment.planLookups(asked));
    return { concepts, lookups: lookups.map(lookupOf), totalMs, skipped };
  }

  /** Puts what is known about a call's concepts where it serves without changing what the tool does. */
  augment(call: ToolCall, findings: readonly Finding[] = []): Augmented {
    const asked = crossing(call);
    const found = findings.map(({ concept, source, answer }) => ({
      concept: text(concept, 'findings[].concept'),
      source: text(source, 'findings[].source'),
      answer: answered(answer),
    }));
    const { args, ...rest } = this.#guest.call(({ augment }) => augment.apply(asked, found));
    return { ...rest, args: fromBytes(args) as Record<string, unknown> };
  }

  /** Looks up what a plan says, all at once, each within its time and all within the plan's. */
  lookUp(plan: LookupPlan): Promise<Finding[]> {
    return this.#lookups.carryOut(plan);
  }

  /** Plans, looks up and augments in one go, without holding up anybody: five seconds at most. */
  async augmentWith(call: ToolCall): Promise<Augmented> {
    return this.augment(call, await this.lookUp(this.planLookups(call)));
  }

  /** Makes an intent the session's only active one. */
  selectIntent(session: string, intent: string): Intent {
    const [of, wanted] = [text(session, 'session'), text(intent, 'intent')];
    return this.#guest.call(({ sessions }) => sessions.select(of, wanted)) as Intent;
  }

  /** Leaves the session without an intent. */
  clearIntent(session: string): void {
    const of = text(session, 'session');
    this.#guest.call(({ sessions }) => sessions.clear(of));
  }

  /** The session's intent, its own or its parent's. */
  currentIntent(session: string): Intent | undefined {
    const of = text(session, 'session');
    return this.#guest.call(({ sessions }) => sessions.current(of)) as Intent | undefined;
  }

  /** Lets a sub-agent's session work for its parent's intent until it selects one of its own. */
  inheritIntent(session: string, parent: string): void {
    const [of, from] = [text(session, 'session'), text(parent, 'parent')];
    this.#guest.call(({ sessions }) => sessions.inherit(of, from));
  }

  /** What the model should know about the session's intent. Empty where there is none. */
  context(session: string, limitChars: number = CONTEXT_CHARS): string {
    const [of, limit] = [text(session, 'session'), whole(limitChars, MAX_U32, 'limitChars')];
    return this.#guest.call(({ sessions }) => sessions.context(of, limit));
  }

  /**
   * Answers one JSON line, such as `{"op":"context","session":"s1"}`: a line with a line, an object with an object. What
   * cannot be understood is answered with `{"error":{"code","message"}}`, and what takes time with `{"waiting":N}`; the
   * `perform` of `hooks` waits for that.
   */
  perform(line: string | Uint8Array): string;
  perform(line: object): Record<string, unknown>;
  perform(line: string | Uint8Array | object): string | Record<string, unknown> {
    const isBytes = line instanceof Uint8Array;
    const bytes = isBytes ? line : typeof line === 'string' ? textBytes(line) : toBytes(line, 'line');
    const hooks = this.#hooks !== undefined && isAboutHooks(line, bytes) ? this.#hooks : undefined;
    hooks?.greet();
    const answer = toText(this.#guest.call(({ operations }) => operations.perform(bytes)));
    hooks?.reload();
    return isBytes || typeof line === 'string' ? answer : (JSON.parse(answer) as Record<string, unknown>);
  }

  /** The longest line that `perform` understands, in bytes. Of a longer one it needs no more than one byte beyond. */
  get longestLine(): number {
    this.#longestLine ??= Number(this.#guest.call(({ operations }) => operations.longestLine()));
    return this.#longestLine;
  }
}

/** Whether a line needs what only a host can do. Most lines tell at a glance that they do not. */
function isAboutHooks(line: string | Uint8Array | object, bytes: Uint8Array): boolean {
  let asked: unknown = line;
  if (typeof line === 'string' || line instanceof Uint8Array) {
    const glance = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (!['event', 'hooks', 'wiring', '\\u'].some((word) => glance.includes(word))) return false;
    try {
      asked = fromBytes(bytes);
    } catch {
      return false;
    }
  }
  const op = typeof asked === 'object' && asked !== null && 'op' in asked ? asked.op : undefined;
  return op === 'event' || op === 'hooks' || op === 'wiring';
}

function unanswered(error: unknown): TollgateError {
  const why = error instanceof Error ? error.message : String(error);
  return new TollgateError('no_answer', `the gate does not answer (${why}), so a tool must not run`, error);
}

function crossing(call: ToolCall): ContractCall {
  if (typeof call !== 'object' || call === null) {
    throw new TollgateError('invalid_input', 'the call is no object; pass { session, call, tool, args }');
  }
  const crossed: ContractCall = {
    session: text(call.session, 'session'),
    call: text(call.call, 'call'),
    tool: text(call.tool, 'tool'),
    args: toBytes(call.args, 'args'),
  };
  const { agent, host, cwd } = call;
  if (agent != null) crossed.agent = text(agent, 'agent');
  if (host != null) crossed.host = text(host, 'host');
  if (cwd != null) crossed.cwd = text(cwd, 'cwd');
  return crossed;
}

function ending(outcome: Outcome): ContractOutcome {
  switch (outcome?.status) {
    case 'done':
      return { tag: 'done', val: outcome.result === undefined ? undefined : toBytes(outcome.result, 'result') };
    case 'failed':
      return { tag: 'failed', val: text(outcome.error, 'error') };
    case 'refused':
      return { tag: 'refused', val: text(outcome.reason, 'reason') };
    default:
      throw new TollgateError('invalid_input', 'the outcome has no known `status`; pass `done`, `failed` or `refused`');
  }
}

function answered(answer: Finding['answer']): Answer {
  if (answer === 'unknown' || answer === 'unavailable' || answer === 'late') return { tag: answer };
  if (typeof answer === 'object' && answer !== null) {
    if ('text' in answer) return { tag: 'text', val: text(answer.text, 'answer.text') };
    if ('failed' in answer) return { tag: 'failed', val: text(answer.failed, 'answer.failed') };
  }
  const remedy = 'pass { text }, { failed }, `unknown`, `unavailable` or `late`';
  throw new TollgateError('invalid_input', `a finding has no known \`answer\`; ${remedy}`);
}
