// Hooks: programs and prompts that run on events.
import * as os from 'node:os';
import * as path from 'node:path';
import type { Command, Ending, Input, Order } from '../../generated/interfaces/tollgate-hooks-engine.js';
import type { ProgramAnswer } from '../api/types.js';
import { findConfiner } from '../programs/confining.js';
import { type ErrorCode, TollgateError } from '../api/error.js';
import type { Guest } from '../component/guest.js';
import type { HookAnswer, HookApproval, HookRecord, HooksOptions } from '../api/hook_types.js';
import { parseBytes, requireString, textBytes, toText, toWellFormedBytes } from '../component/json.js';
import type { LogSink } from '../component/log.js';
import type { Lookups } from '../programs/lookups.js';
import { HookRunner } from './hook_runner.js';
import type { GrantedFiles } from './node_runner.js';
import { answerPrompt, recordOf, runProgram } from './hook_commands.js';
import { withSlashes } from '../files/path.js';
import type { Roots } from '../files/roots.js';

/** The longest possible timer; a later deadline is checked again when it fires. */
const MAX_TIMER_MS = 0x7fff_ffff;

/** At most this many inputs per step, so that a burst of events does not block; as many as in the Rust host. */
const MAX_INPUTS = 100;

const WAITING_ANSWER = /^\{"waiting":(\d+)\}$/;

/** Error codes of requests that are also error codes of this package. */
const CODES: ReadonlySet<string> = new Set<ErrorCode>(['unknown_hook', 'not_done', 'workspace_fault']);

/** A caller that waits for an answer. */
interface PendingAnswer {
  resolve: (answer: ProgramAnswer) => void;
  reject: (error: TollgateError) => void;
}

/** A caller that waits for a shutdown. */
interface PendingShutdown {
  done: Promise<void>;
  resolve: () => void;
}

/** @internal The parts of hooks. */
export interface HooksParts {
  guest: Guest;
  roots: Roots;
  log: LogSink;
  lookups: Lookups;
  options: HooksOptions;
  /** The gate's own `perform`. */
  perform: (line: Uint8Array) => string;
  /** Whether the caller takes steps, and runs the hooks. */
  isSteppedByCaller: () => boolean;
}

/** The result of an export whose error is an answer and not a failure of the gate. */
type Result<T> = { value: T } | { error: unknown };

function catchContractError<T>(work: () => T): Result<T> {
  try {
    return { value: work() };
  } catch (error) {
    if (!(error instanceof Error) || !Object.hasOwn(error, 'payload')) throw error;
    return { error };
  }
}

function valueOrThrow<T>(result: Result<T>): T {
  if ('value' in result) return result.value;
  throw result.error;
}

/** Monotonic milliseconds. */
function now(): number {
  return Math.floor(performance.now());
}

/**
 * The hooks of one workspace: executes the commands of the gate and reports the results.
 *
 * The gate decides which hooks run, when, and what their answers mean. Nothing here blocks: programs run in the background, and a
 * timer keeps the process alive only while a caller waits for an answer.
 */
export class Hooks {
  readonly #guest: Guest;
  readonly #roots: Roots;
  readonly #log: LogSink;
  readonly #lookups: Lookups;
  readonly #options: HooksOptions;
  readonly #perform: (line: Uint8Array) => string;
  readonly #isSteppedByCaller: () => boolean;
  #isHostDescribed = false;
  /** Increases with every failed instance of the component. */
  #epoch = 0;
  #inputs: Input[] = [];
  #isDriving = false;
  #mustStepAgain = false;
  #isScheduled = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #pendingAnswers = new Map<bigint, PendingAnswer>();
  readonly #runs = new Map<bigint, AbortController>();
  readonly #listening = new Set<string>();
  #pendingShutdown: PendingShutdown | undefined;
  /** Created when the first third-party hook is called. */
  #runner: HookRunner | undefined;

  /** @internal Created by the gate. */
  constructor({ guest, roots, log, lookups, options, perform, isSteppedByCaller }: HooksParts) {
    this.#guest = guest;
    this.#roots = roots;
    this.#log = log;
    this.#lookups = lookups;
    this.#options = options;
    this.#perform = perform;
    this.#isSteppedByCaller = isSteppedByCaller;
    guest.onFailure.push((error) => this.#resetAfterFailure(error));
  }

  /** Reports an event whose answer matters, such as `before_tool`, and waits for all of its hooks. */
  async event(event: string, session: string, data: object = {}): Promise<HookAnswer> {
    const asked = { op: 'event', event: requireString(event, 'event'), session: requireString(session, 'session'), data };
    const answer = await this.#ask(asked);
    return {
      proceed: answer.continue !== false,
      systemMessage: typeof answer.system_message === 'string' ? answer.system_message : null,
      data: (answer.data ?? {}) as Record<string, unknown>,
    };
  }

  /** Reports an event without waiting. If it is about a file, `data.file` is the path in the workspace. */
  notify(event: string, data: object = {}, session?: string): void {
    const val = { name: requireString(event, 'event'), data: toWellFormedBytes(data, 'data') };
    this.#inputs.push({
      tag: 'event',
      val: session === undefined ? val : { ...val, session: requireString(session, 'session') },
    });
    this.#driveLater();
  }

  /** Runs a hook now, whatever its trigger, and waits for its end. */
  async run(id: string, data: object = {}): Promise<HookRecord> {
    const { record } = await this.#ask({ op: 'hooks', do: 'run', id: requireString(id, 'id'), data });
    return recordOf(record as Record<string, unknown>);
  }

  /** Reads the hook declarations again, and updates which events are observed. Every event does this as well. */
  reload(): void {
    this.#inputs.push({ tag: 'reload' });
    this.#driveLater();
  }

  /** Cancels a run by the id of its record. */
  cancel(run: string): void {
    this.#submit({ tag: 'cancel', val: requireString(run, 'run') });
  }

  /** Waits for running hooks, or ends them with `drain: false`. No new ones are started. */
  async shutdown({ drain = true }: { drain?: boolean | undefined } = {}): Promise<void> {
    // A caller that takes steps has ended what it ran.
    if ((this.#isHostDescribed || this.#inputs.length > 0) && !this.#isSteppedByCaller()) {
      this.#pendingShutdown ??= newPendingShutdown();
      const { done } = this.#pendingShutdown;
      this.#submit({ tag: 'shutdown', val: drain });
      await done;
    }
    this.#runner?.end();
  }

  /** Like `perform` of the gate, but waits for answers that take time, unless the caller takes steps itself. */
  async perform(line: string | Uint8Array): Promise<string> {
    const answer = this.#perform(typeof line === 'string' ? textBytes(line) : line);
    const number = this.#isSteppedByCaller() ? undefined : WAITING_ANSWER.exec(answer)?.[1];
    return number === undefined ? answer : (await this.#waitForAnswer(BigInt(number))).text;
  }

  /** @internal The gate's answer to a payload of an agent program. */
  async respond(program: string, event: string | undefined, payload: Uint8Array): Promise<ProgramAnswer> {
    this.describeHost();
    const progress = this.#guest.call(({ programs }) => programs.respond(program, event, payload));
    if (progress.tag === 'waiting') return this.#waitForAnswer(progress.val);
    const { text: answer, refused } = progress.val;
    return { text: toText(answer), refused };
  }

  /** @internal Runs the gate until it has nothing left to retry, such as writing to the ledger. */
  async settle(): Promise<void> {
    const due = () => this.#guest.call(({ engine }) => engine.step(BigInt(now()), [])).nextDeadlineMs;
    for (let at = due(); at !== undefined; at = due()) {
      const left = Math.max(0, Number(at) - now());
      await new Promise((resolve) => setTimeout(resolve, left));
    }
  }

  /** @internal Describes this host before the first request that needs it. */
  describeHost(): void {
    if (this.#isHostDescribed) return;
    this.#isHostDescribed = true;
    // Relative folders depend on the current folder of the process and are left out.
    const folders = (process.env.PATH ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
    const machine = {
      workspace: this.#roots.project.folder,
      searchPath: folders.map(withSlashes),
      temporary: withSlashes(os.tmpdir()),
      runsPrompts: this.#options.runPrompt !== undefined,
      confines: findConfiner(folders, this.#roots.project.folder).program !== undefined,
    };
    this.#inputs.unshift({ tag: 'machine', val: machine });
    this.#drive();
  }

  async #ask(line: object): Promise<Record<string, unknown>> {
    const answer = JSON.parse(await this.perform(toWellFormedBytes(line, 'data'))) as Record<string, unknown>;
    const { error } = answer;
    if (answer.waiting !== undefined) throw steppedError();
    if (error === undefined) return answer;
    const { code, message } = error as { code: string; message: string };
    throw new TollgateError(CODES.has(code) ? (code as ErrorCode) : 'invalid_input', message);
  }

  /** Waits for the answer with this number, and drives the gate until then. */
  #waitForAnswer(number: bigint): Promise<ProgramAnswer> {
    const answer = new Promise<ProgramAnswer>((resolve, reject) => this.#pendingAnswers.set(number, { resolve, reject }));
    this.describeHost();
    this.#drive();
    return answer;
  }

  #submit(input: Input): void {
    this.#inputs.push(input);
    this.describeHost();
    this.#drive();
  }

  /** Drives the gate after the caller has returned, because starting a program takes milliseconds. */
  #driveLater(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.describeHost();
      this.#drive();
    });
  }

  /** Passes inputs to the gate and executes its commands until there is nothing left to do. Never throws. */
  #drive(): void {
    if (this.#isSteppedByCaller()) return this.#leaveToCaller();
    this.#mustStepAgain = true;
    if (this.#isDriving) return;
    this.#isDriving = true;
    let deadline: bigint | undefined;
    while (this.#mustStepAgain) {
      this.#mustStepAgain = false;
      deadline = this.#step();
    }
    this.#isDriving = false;
    this.#setTimer(deadline);
  }

  #step(): bigint | undefined {
    const epoch = this.#epoch;
    const inputs = this.#inputs.splice(0, MAX_INPUTS);
    if (this.#inputs.length > 0) this.#driveLater();
    try {
      const { commands, nextDeadlineMs } = this.#guest.call(({ engine }) => engine.step(BigInt(now()), inputs));
      for (const command of commands) {
        // A callback may have caused the instance that issued these commands to fail.
        if (epoch === this.#epoch) this.#execute(command);
      }
      if (epoch === this.#epoch) this.#callComponents();
      return epoch === this.#epoch ? nextDeadlineMs : undefined;
    } catch (error) {
      const fault = error instanceof TollgateError ? error : new TollgateError('guest_trap', String(error), error);
      if (fault.code === 'reentrant') {
        this.#inputs.unshift(...inputs);
        this.#driveLater();
      } else if (epoch === this.#epoch) {
        this.#warn(fault.message);
        this.#rejectPending(fault);
      }
      return undefined;
    }
  }

  /** Calls the third-party hooks that are due, and runs another step once they have answered. */
  #callComponents(): void {
    // A component that is older than third-party hooks does not have this export.
    const asks = this.#guest.call(({ components }) => components?.due()) ?? [];
    for (const { number, round } of asks) {
      const epoch = this.#epoch;
      this.#runner ??= new HookRunner(this.#roots.project.folder, this.#roots.home.folder, this.#grantedFiles());
      void this.#runner.call(round).then((answers) => {
        // The instance that asked may be gone.
        if (epoch !== this.#epoch) return;
        try {
          this.#guest.call(({ components }) => components.report(number, answers));
        } catch (error) {
          this.#warn(String(error));
        }
        this.#drive();
      });
    }
  }

  /** Files for hooks that run in this runtime, as the gate grants them. */
  #grantedFiles(): GrantedFiles {
    return {
      read: (files, name, limit) =>
        valueOrThrow(this.#guest.call(({ components }) => catchContractError(() => components.read(files, name, limit)))),
      find: (files, glob) =>
        valueOrThrow(this.#guest.call(({ components }) => catchContractError(() => components.find(files, glob)))),
    };
  }

  #execute({ id, order }: Command): void {
    const { runPrompt, onRecord, onApproval } = this.#options;
    switch (order.tag) {
      case 'run':
        this.#start(id, async (signal) => endingInput(id, await catchFailure(runProgram(order.val, this.#roots, signal))));
        break;
      case 'prompt':
        this.#start(id, async (signal) =>
          endingInput(id, await catchFailure(answerPrompt(order.val, this.#roots, runPrompt, signal))),
        );
        break;
      case 'look-up':
        this.#start(id, async () => ({ tag: 'found', val: { command: id, answer: await this.#lookups.find(order.val) } }));
        break;
      case 'cancel':
        this.#runs.get(order.val)?.abort();
        break;
      case 'reply': {
        const { number, answer, refused } = order.val;
        this.#pendingAnswers.get(number)?.resolve({ text: toText(answer), refused });
        this.#pendingAnswers.delete(number);
        break;
      }
      case 'record':
        this.#callEmbedder('onRecord', () => onRecord?.(recordOf(order.val)));
        break;
      case 'listen':
      case 'unlisten':
        this.#listen(order.val, order.tag === 'listen');
        break;
      case 'approval':
        this.#callEmbedder('onApproval', () => onApproval?.(approvalOf(order.val)));
        break;
      case 'stopped':
        this.#resolveShutdown();
        break;
    }
  }

  /** Starts something that ends by itself or is canceled, and reports its end exactly once. */
  #start(id: bigint, work: (signal: AbortSignal) => Promise<Input>): void {
    const end = new AbortController();
    this.#runs.set(id, end);
    void work(end.signal).then((input) => {
      // The instance that requested it may be gone.
      if (this.#runs.get(id) !== end) return;
      this.#runs.delete(id);
      this.#inputs.push(input);
      this.#drive();
    });
  }

  #listen(trigger: string, on: boolean): void {
    let failed: string | undefined;
    if (on !== this.#listening.has(trigger)) {
      const resultText = this.#callEmbedder('onListen', () => this.#options.onListen?.(trigger, on));
      failed = resultText instanceof Error ? resultText.message : resultText;
      if (on && failed === undefined) this.#listening.add(trigger);
      else this.#listening.delete(trigger);
    }
    if (!on) return;
    this.#inputs.push({ tag: 'listening', val: failed === undefined ? { trigger } : { trigger, failed } });
    this.#mustStepAgain = true;
  }

  /** Calls a function of the embedder, whose errors must not affect anything else. */
  #callEmbedder<T>(what: string, work: () => T): T | Error {
    try {
      return work();
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      this.#warn(`\`${what}\` threw: ${error.message}`);
      return error;
    }
  }

  #warn(message: string): void {
    try {
      this.#log('warn', message);
    } catch {
      // The log function fails as well.
    }
  }

  #setTimer(deadline: bigint | undefined): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (deadline === undefined) return;
    const left = Math.max(0, Number(deadline) - now());
    this.#timer = setTimeout(() => this.#drive(), Math.min(left, MAX_TIMER_MS));
    if (this.#pendingAnswers.size === 0 && this.#pendingShutdown === undefined) this.#timer.unref();
  }

  /** Rejects everything that waits for an answer. */
  #rejectPending(error: TollgateError): void {
    const waiting = [...this.#pendingAnswers.values()];
    this.#pendingAnswers.clear();
    for (const { reject } of waiting) reject(error);
    this.#resolveShutdown();
  }

  #resolveShutdown(): void {
    this.#pendingShutdown?.resolve();
    this.#pendingShutdown = undefined;
  }

  /** Ends what this host runs, now that the caller takes steps. */
  #leaveToCaller(): void {
    this.#inputs = [];
    const runs = [...this.#runs.values()];
    this.#runs.clear();
    for (const end of runs) end.abort();
    this.#setTimer(undefined);
    this.#rejectPending(steppedError());
  }

  /** Handles a failed instance, which loses its knowledge of runs. The next use sets up a new one. */
  #resetAfterFailure(error: TollgateError): void {
    this.#epoch += 1;
    this.#isHostDescribed = false;
    this.#inputs = [];
    this.#runner?.end();
    const runs = [...this.#runs.values()];
    this.#runs.clear();
    for (const end of runs) end.abort();
    this.#setTimer(undefined);
    this.#rejectPending(error);
  }
}

function steppedError(): TollgateError {
  return new TollgateError('invalid_input', 'the caller takes steps, so hooks are not run here; run what the steps order');
}

function endingInput(command: bigint, ending: Ending): Input {
  return { tag: 'ended', val: { command, ending } };
}

/** Turns a rejection into a failed ending. */
function catchFailure(ending: Promise<Ending>): Promise<Ending> {
  return ending.catch((error: unknown) => ({ tag: 'failed', val: error instanceof Error ? error.message : String(error) }));
}

function approvalOf({ shows, ...approval }: Extract<Order, { tag: 'approval' }>['val']): HookApproval {
  return { ...approval, shows: parseBytes(shows) as HookApproval['shows'] };
}

function newPendingShutdown(): PendingShutdown {
  let resolve = () => {};
  const done = new Promise<void>((end) => {
    resolve = end;
  });
  return { done, resolve };
}
