import type { Answer } from '../generated/interfaces/tollgate-hooks-augment.js';
import type { Outcome as ContractOutcome } from '../generated/interfaces/tollgate-hooks-post-tool.js';
import type { ToolCall as ContractCall } from '../generated/interfaces/tollgate-hooks-types.js';
import type {
  Augmented,
  Finding,
  Intent,
  LookupPlan,
  Outcome,
  Ruling,
  Settlement,
  ToolCall,
  Turn,
} from './calls.js';
import { TollgateError } from './error.js';
import type { Guest } from './guest.js';
import type { HooksOptions } from './hook_types.js';
import { Hooks } from './hooks.js';
import type { LogSink } from './log.js';
import { carryOut, type LookupOptions } from './lookups.js';
import type { Roots } from './roots.js';
import { fromBytes, text, textBytes, toBytes, toText, whole } from './json.js';

/** What the prompt gets when nobody asks for less: 4,000 tokens of about four characters. */
const CONTEXT_CHARS = 16_000;

const MOST_U32 = 0xffff_ffff;

/** What those need who carry out the gate's commands. */
interface Inside {
  guest: Guest;
  roots: Roots;
  log: LogSink;
  attach: (hooks: Hooks) => void;
}

/** The gate of one workspace. Every method is synchronous and throws nothing but `TollgateError`. */
export class Tollgate {
  readonly #guest: Guest;
  #longestLine: number | undefined;
  #hooks: Hooks | undefined;

  /** @internal */
  readonly inside: Inside;

  /** @internal Made by `createTollgate`. */
  constructor(guest: Guest, roots: Roots, log: LogSink) {
    this.#guest = guest;
    const attach = (hooks: Hooks) => {
      const remedy = 'call `gate.hooks()` without options';
      if (this.#hooks !== undefined) throw new TollgateError('invalid_input', `the gate has its hooks already; ${remedy}`);
      this.#hooks = hooks;
    };
    this.inside = { guest, roots, log, attach };
  }

  /** The hooks of the workspace. There is one of them, so options are for the first call. */
  hooks(options?: HooksOptions): Hooks {
    return this.#hooks !== undefined && options === undefined ? this.#hooks : new Hooks(this, options);
  }

  /** Rules on one call. Do not run the tool on `deny`, and have a person's word before you do on `ask`. */
  preTool(call: ToolCall): Ruling {
    const asked = crossing(call);
    return this.#guest.call(({ preTool }) => preTool.check(asked));
  }

  /** Enters what came of a call in the ledger. */
  postTool(call: ToolCall, outcome: Outcome): Settlement {
    const asked = crossing(call);
    const ended = ending(outcome);
    const { entries, notice } = this.#guest.call(({ postTool }) => postTool.settle(asked, ended));
    return { entries: entries.map((line) => JSON.parse(line) as Record<string, unknown>), notice };
  }

  /** What to look up for a call before `augment`. */
  planLookups(call: ToolCall): LookupPlan {
    const asked = crossing(call);
    const { concepts, lookups, totalMs, skipped } = this.#guest.call(({ augment }) => augment.planLookups(asked));
    return { concepts, lookups: lookups.map((lookup) => ({ ...lookup, request: fromBytes(lookup.request) })), totalMs, skipped };
  }

  /** Puts what is known about a call's concepts where it serves without changing what the tool does. */
  augment(call: ToolCall, findings: readonly Finding[] = []): Augmented {
    const asked = crossing(call);
    const found = findings.map(({ concept, source, answer }) => ({
      concept: text(concept, 'findings[].concept'),
      source: text(source, 'findings[].source'),
      answer: answered(answer),
    }));
    const { args, additionalContext, concepts, skipped } = this.#guest.call(({ augment }) => augment.apply(asked, found));
    return { args: fromBytes(args) as Record<string, unknown>, additionalContext, concepts, skipped };
  }

  /** Plans, looks up and augments in one go, without holding up anybody: five seconds at most. */
  async augmentWith(call: ToolCall, options: LookupOptions = {}): Promise<Augmented> {
    return this.augment(call, await carryOut(this.planLookups(call), options));
  }

  /** Makes an intent the session's only active one. */
  selectIntent(session: string, intent: string): Intent {
    const [of, wanted] = [text(session, 'session'), text(intent, 'intent')];
    return this.#guest.call(({ sessions }) => sessions.select(of, wanted));
  }

  /** Leaves the session without an intent. */
  clearIntent(session: string): void {
    const of = text(session, 'session');
    this.#guest.call(({ sessions }) => sessions.clear(of));
  }

  /** The session's intent, its own or its parent's. */
  currentIntent(session: string): Intent | undefined {
    const of = text(session, 'session');
    return this.#guest.call(({ sessions }) => sessions.current(of));
  }

  /** Lets a sub-agent's session work for its parent's intent until it selects one of its own. */
  inheritIntent(session: string, parent: string): void {
    const [of, from] = [text(session, 'session'), text(parent, 'parent')];
    this.#guest.call(({ sessions }) => sessions.inherit(of, from));
  }

  /** What the model should know about the session's intent. Empty where there is none. */
  context(session: string, limitChars: number = CONTEXT_CHARS): string {
    const [of, limit] = [text(session, 'session'), whole(limitChars, MOST_U32, 'limitChars')];
    return this.#guest.call(({ sessions }) => sessions.context(of, limit));
  }

  /** Takes in what happened and says what to do. `nowMs` is a monotonic time of your choosing. With `hooks`, leave it to them. */
  step(nowMs: number, inputs: readonly object[]): Turn {
    const now = BigInt(whole(nowMs, Number.MAX_SAFE_INTEGER, 'nowMs'));
    const happened = inputs.map((input) => toBytes(input, 'inputs[]'));
    const { commands, nextDeadlineMs } = this.#guest.call(({ engine }) => engine.step(now, happened));
    return {
      commands: commands.map(({ id, body }) => ({ id: Number(id), body: fromBytes(body) })),
      nextDeadlineMs: nextDeadlineMs === undefined ? undefined : Number(nextDeadlineMs),
    };
  }

  /**
   * Answers one JSON line, such as `{"op":"context","session":"s1"}`: a line with a line, an object with an object. What
   * cannot be understood is answered with `{"error":{"code","message"}}`, and what takes time with `{"waiting":N}`; the
   * `perform` of `hooks()` waits for that.
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
    if (!['event', 'hooks', '\\u'].some((word) => glance.includes(word))) return false;
    try {
      asked = fromBytes(bytes);
    } catch {
      return false;
    }
  }
  const op = typeof asked === 'object' && asked !== null && 'op' in asked ? asked.op : undefined;
  return op === 'event' || op === 'hooks';
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
      return { tag: 'done', val: outcome.result === undefined ? new Uint8Array() : toBytes(outcome.result, 'result') };
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
