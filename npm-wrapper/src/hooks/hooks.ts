import * as os from 'node:os';
import * as path from 'node:path';
import type { Command, Ending, Input, Order } from '../../generated/interfaces/tollgate-hooks-engine.js';
import type { ProgramAnswer } from '../api/types.js';
import { canConfine } from '../programs/confining.js';
import { type ErrorCode, TollgateError } from '../api/error.js';
import type { Guest } from '../component/guest.js';
import type { HookAnswer, HookApproval, HookRecord, HooksOptions } from '../api/hook_types.js';
import { fromBytes, text, textBytes, toText, wellFormed } from '../component/json.js';
import type { LogSink } from '../component/log.js';
import type { Lookups } from '../programs/lookups.js';
import { answerPrompt, recordOf, runProgram } from './hook_commands.js';
import { slashed } from '../files/path.js';
import type { Roots } from '../files/roots.js';

/** The longest that a timer can be set for; a later deadline is looked at again then. */
const MAX_TIMER_MS = 0x7fff_ffff;

/** More is not told in one step, so that a flood of events holds nobody up. */
const MAX_INPUTS = 200;

const WAITING = /^\{"waiting":(\d+)\}$/;

/** The codes of operations that are also codes of this package. */
const CODES: ReadonlySet<string> = new Set<ErrorCode>(['unknown_hook', 'not_done', 'workspace_fault']);

/** Whoever waits for an answer. */
interface Waiting {
  resolve: (answer: ProgramAnswer) => void;
  reject: (error: TollgateError) => void;
}

/** The end of a shutdown. */
interface Stop {
  done: Promise<void>;
  resolve: () => void;
}

/** @internal What hooks are made of. */
export interface HooksParts {
  guest: Guest;
  roots: Roots;
  log: LogSink;
  lookups: Lookups;
  options: HooksOptions;
  /** The gate's own `perform`. */
  perform: (line: Uint8Array) => string;
}

/** Monotonic milliseconds. */
function now(): number {
  return Math.floor(performance.now());
}

/**
 * The hooks of one workspace: carries out what the gate wants done for them, and tells it what came of that.
 *
 * Which hook runs, when, and what its answer means, the gate decides. Nothing here waits: programs run beside you, and a
 * timer holds your process open only as long as somebody waits for an answer.
 */
export class Hooks {
  readonly #guest: Guest;
  readonly #roots: Roots;
  readonly #log: LogSink;
  readonly #lookups: Lookups;
  readonly #options: HooksOptions;
  readonly #perform: (line: Uint8Array) => string;
  #greeted = false;
  /** Goes up with every instance of the component that is lost. */
  #epoch = 0;
  #inputs: Input[] = [];
  #driving = false;
  #again = false;
  #scheduled = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #waiting = new Map<bigint, Waiting>();
  readonly #runs = new Map<bigint, AbortController>();
  readonly #listening = new Set<string>();
  #stop: Stop | undefined;

  /** @internal Made by the gate. */
  constructor({ guest, roots, log, lookups, options, perform }: HooksParts) {
    this.#guest = guest;
    this.#roots = roots;
    this.#log = log;
    this.#lookups = lookups;
    this.#options = options;
    this.#perform = perform;
    guest.onLost = (error) => this.#lose(error);
  }

  /** Passes an event on whose answer counts, such as `before_tool`, and waits until every hook has had its say. */
  async event(event: string, session: string, data: object = {}): Promise<HookAnswer> {
    const asked = { op: 'event', event: text(event, 'event'), session: text(session, 'session'), data };
    const answer = await this.#ask(asked);
    return {
      proceed: answer.continue !== false,
      systemMessage: typeof answer.system_message === 'string' ? answer.system_message : null,
      data: (answer.data ?? {}) as Record<string, unknown>,
    };
  }

  /** Passes an event on that nobody waits for. Where it is about a file, `data.file` is its path in the workspace. */
  notify(event: string, data: object = {}, session?: string): void {
    const val = { name: text(event, 'event'), data: wellFormed(data, 'data') };
    this.#inputs.push({ tag: 'event', val: session === undefined ? val : { ...val, session: text(session, 'session') } });
    this.#soon();
  }

  /** Runs a hook now, whatever its trigger, and waits for its end. */
  async run(id: string, data: object = {}): Promise<HookRecord> {
    const { record } = await this.#ask({ op: 'hooks', do: 'run', id: text(id, 'id'), data });
    return recordOf(record as Record<string, unknown>);
  }

  /** Looks which hooks are declared by now, and which events have to be listened to for them. Every event does so too. */
  reload(): void {
    this.#inputs.push({ tag: 'reload' });
    this.#soon();
  }

  /** Ends a run, by the id of its record. */
  cancel(run: string): void {
    this.#tell({ tag: 'cancel', val: text(run, 'run') });
  }

  /** Waits for what is under way, or with `drain: false` ends it. Nothing new is begun meanwhile. */
  shutdown({ drain = true }: { drain?: boolean | undefined } = {}): Promise<void> {
    if (!this.#greeted && this.#inputs.length === 0) return Promise.resolve();
    this.#stop ??= newStop();
    const { done } = this.#stop;
    this.#tell({ tag: 'shutdown', val: drain });
    return done;
  }

  /** As the gate's own `perform`, but an answer that takes time is waited for. */
  async perform(line: string | Uint8Array): Promise<string> {
    const answer = this.#perform(typeof line === 'string' ? textBytes(line) : line);
    const number = WAITING.exec(answer)?.[1];
    return number === undefined ? answer : (await this.#answer(BigInt(number))).text;
  }

  /** @internal What the gate answers to a program's payload. */
  async respond(program: string, event: string | undefined, payload: Uint8Array): Promise<ProgramAnswer> {
    this.greet();
    const progress = this.#guest.call(({ programs }) => programs.respond(program, event, payload));
    if (progress.tag === 'waiting') return this.#answer(progress.val);
    const { text: answer, refused } = progress.val;
    return { text: toText(answer), refused };
  }

  /** @internal Steps until the gate wants nothing more: what could not be entered is tried again. */
  async settle(): Promise<void> {
    const due = () => this.#guest.call(({ engine }) => engine.step(BigInt(now()), [])).nextDeadlineMs;
    for (let at = due(); at !== undefined; at = due()) {
      const left = Math.max(0, Number(at) - now());
      await new Promise((resolve) => setTimeout(resolve, left));
    }
  }

  /** @internal Says what this host is, before the first line that needs it. */
  greet(): void {
    if (this.#greeted) return;
    this.#greeted = true;
    // A folder that is named relative to wherever this process happens to be is no place for programs.
    const folders = (process.env.PATH ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
    const machine = {
      workspace: this.#roots.project.folder,
      searchPath: folders.map(slashed),
      temporary: slashed(os.tmpdir()),
      runsPrompts: this.#options.runPrompt !== undefined,
      confines: canConfine(folders),
    };
    this.#inputs.unshift({ tag: 'machine', val: machine });
    this.#drive();
  }

  async #ask(line: object): Promise<Record<string, unknown>> {
    const answer = JSON.parse(await this.perform(wellFormed(line, 'data'))) as Record<string, unknown>;
    const { error } = answer;
    if (error === undefined) return answer;
    const { code, message } = error as { code: string; message: string };
    throw new TollgateError(CODES.has(code) ? (code as ErrorCode) : 'invalid_input', message);
  }

  /** Waits for the answer of a number, and does what it takes. */
  #answer(number: bigint): Promise<ProgramAnswer> {
    const answer = new Promise<ProgramAnswer>((resolve, reject) => this.#waiting.set(number, { resolve, reject }));
    this.greet();
    this.#drive();
    return answer;
  }

  #tell(input: Input): void {
    this.#inputs.push(input);
    this.greet();
    this.#drive();
  }

  /** Drives once whoever called has gone on: starting a program takes milliseconds. */
  #soon(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.greet();
      this.#drive();
    });
  }

  /** Tells the gate what happened and does what it says, until there is nothing more to tell. Throws nothing. */
  #drive(): void {
    this.#again = true;
    if (this.#driving) return;
    this.#driving = true;
    let deadline: bigint | undefined;
    while (this.#again) {
      this.#again = false;
      deadline = this.#step();
    }
    this.#driving = false;
    this.#arm(deadline);
  }

  #step(): bigint | undefined {
    const epoch = this.#epoch;
    const inputs = this.#inputs.splice(0, MAX_INPUTS);
    if (this.#inputs.length > 0) this.#soon();
    try {
      const { commands, nextDeadlineMs } = this.#guest.call(({ engine }) => engine.step(BigInt(now()), inputs));
      for (const command of commands) {
        // A callback may have cost the instance whose commands these are.
        if (epoch === this.#epoch) this.#carryOut(command);
      }
      return epoch === this.#epoch ? nextDeadlineMs : undefined;
    } catch (error) {
      const fault = error instanceof TollgateError ? error : new TollgateError('guest_trap', String(error), error);
      if (fault.code === 'reentrant') {
        this.#inputs.unshift(...inputs);
        this.#soon();
      } else if (epoch === this.#epoch) {
        this.#say(fault.message);
        this.#abandon(fault);
      }
      return undefined;
    }
  }

  #carryOut({ id, order }: Command): void {
    const { runPrompt, onRecord, onApproval } = this.#options;
    switch (order.tag) {
      case 'run':
        this.#start(id, async (signal) => ended(id, await caught(runProgram(order.val, this.#roots, signal))));
        break;
      case 'prompt':
        this.#start(id, async (signal) => ended(id, await caught(answerPrompt(order.val, this.#roots, runPrompt, signal))));
        break;
      case 'look-up':
        this.#start(id, async () => ({ tag: 'found', val: { command: id, answer: await this.#lookups.find(order.val) } }));
        break;
      case 'cancel':
        this.#runs.get(order.val)?.abort();
        break;
      case 'reply': {
        const { number, answer, refused } = order.val;
        this.#waiting.get(number)?.resolve({ text: toText(answer), refused });
        this.#waiting.delete(number);
        break;
      }
      case 'record':
        this.#guarded('onRecord', () => onRecord?.(recordOf(order.val)));
        break;
      case 'listen':
      case 'unlisten':
        this.#listen(order.val, order.tag === 'listen');
        break;
      case 'approval':
        this.#guarded('onApproval', () => onApproval?.(approvalOf(order.val)));
        break;
      case 'stopped':
        this.#stopped();
        break;
    }
  }

  /** Begins something that ends by itself or is canceled, and reports its end exactly once. */
  #start(id: bigint, work: (signal: AbortSignal) => Promise<Input>): void {
    const end = new AbortController();
    this.#runs.set(id, end);
    void work(end.signal).then((input) => {
      // The instance that wanted it may be gone.
      if (this.#runs.get(id) !== end) return;
      this.#runs.delete(id);
      this.#inputs.push(input);
      this.#drive();
    });
  }

  #listen(trigger: string, on: boolean): void {
    let failed: string | undefined;
    if (on !== this.#listening.has(trigger)) {
      const said = this.#guarded('onListen', () => this.#options.onListen?.(trigger, on));
      failed = said instanceof Error ? said.message : said;
      if (on && failed === undefined) this.#listening.add(trigger);
      else this.#listening.delete(trigger);
    }
    if (!on) return;
    this.#inputs.push({ tag: 'listening', val: failed === undefined ? { trigger } : { trigger, failed } });
    this.#again = true;
  }

  /** Runs a function of the embedder, whose failure is nobody else's. */
  #guarded<T>(what: string, work: () => T): T | Error {
    try {
      return work();
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      this.#say(`\`${what}\` threw: ${error.message}`);
      return error;
    }
  }

  #say(message: string): void {
    try {
      this.#log('warn', message);
    } catch {
      // Whoever should be told does not listen.
    }
  }

  #arm(deadline: bigint | undefined): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (deadline === undefined) return;
    const left = Math.max(0, Number(deadline) - now());
    this.#timer = setTimeout(() => this.#drive(), Math.min(left, MAX_TIMER_MS));
    if (this.#waiting.size === 0 && this.#stop === undefined) this.#timer.unref();
  }

  /** Nobody will answer any more. */
  #abandon(error: TollgateError): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(error);
    this.#stopped();
  }

  #stopped(): void {
    this.#stop?.resolve();
    this.#stop = undefined;
  }

  /** The instance has failed, and with it what it knew about runs. The next use greets a fresh one. */
  #lose(error: TollgateError): void {
    this.#epoch += 1;
    this.#greeted = false;
    this.#inputs = [];
    const runs = [...this.#runs.values()];
    this.#runs.clear();
    for (const end of runs) end.abort();
    this.#arm(undefined);
    this.#abandon(error);
  }
}

function ended(command: bigint, ending: Ending): Input {
  return { tag: 'ended', val: { command, ending } };
}

/** How something ended, also where it could not be begun. */
function caught(ending: Promise<Ending>): Promise<Ending> {
  return ending.catch((error: unknown) => ({ tag: 'failed', val: error instanceof Error ? error.message : String(error) }));
}

function approvalOf({ shows, ...approval }: Extract<Order, { tag: 'approval' }>['val']): HookApproval {
  return { ...approval, shows: fromBytes(shows) as HookApproval['shows'] };
}

function newStop(): Stop {
  let resolve = () => {};
  const done = new Promise<void>((end) => {
    resolve = end;
  });
  return { done, resolve };
}
