import * as os from 'node:os';
import * as path from 'node:path';
import { type ErrorCode, TollgateError } from './error.js';
import { type Done, type HookCommand, prompted, ran, recordOf, type WrittenRecord } from './hook_commands.js';
import type { HookAnswer, HookRecord, HooksOptions } from './hook_types.js';
import { fromBytes, member, text, toText, wellFormed } from './json.js';
import { slashed } from './path.js';
import type { Tollgate } from './tollgate.js';

/** The longest that a timer can be set for; a later deadline is looked at again then. */
const MOST_MS = 0x7fff_ffff;

/** More is not told in one step, so that a flood of events holds nobody up. */
const MOST_INPUTS = 200;

const WAITING = /^\{"waiting":(\d+)\}$/;

/** The codes of operations that are also codes of this package. */
const CODES: ReadonlySet<string> = new Set<ErrorCode>(['unknown_hook', 'not_done', 'workspace_fault']);

/** Whoever waits for an answer. */
interface Waiting {
  resolve: (answer: string) => void;
  reject: (error: TollgateError) => void;
}

/** The end of a shutdown. */
interface Stop {
  done: Promise<void>;
  resolve: () => void;
}

/** Monotonic milliseconds. All steps of a gate must tell the same time, so leave `step` alone where there are hooks. */
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
  readonly #gate: Tollgate;
  readonly #options: HooksOptions;
  #greeted = false;
  /** Goes up with every instance of the component that is lost. */
  #epoch = 0;
  #inputs: Uint8Array[] = [];
  #driving = false;
  #again = false;
  #scheduled = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #waiting = new Map<number, Waiting>();
  readonly #runs = new Map<number, AbortController>();
  readonly #listening = new Set<string>();
  #stop: Stop | undefined;

  /** A gate has its hooks once; `gate.hooks(options)` makes them where there are none. */
  constructor(gate: Tollgate, options: HooksOptions = {}) {
    this.#gate = gate;
    this.#options = options;
    gate.inside.attach(this);
    gate.inside.guest.onLost = (error) => this.#lose(error);
  }

  /** Passes an event on whose answer counts, such as `before_tool`, and waits until every hook has had its say. */
  async event(event: string, session: string, data: object = {}): Promise<HookAnswer> {
    const asked = { op: 'event', event: text(event, 'event'), session: text(session, 'session'), data };
    const answer = await this.#ask(asked);
    return {
      continue: answer.continue !== false,
      systemMessage: typeof answer.system_message === 'string' ? answer.system_message : null,
      data: (answer.data ?? {}) as Record<string, unknown>,
    };
  }

  /** Passes an event on that nobody waits for. Where it is about a file, `data.file` is its path in the workspace. */
  notify(event: string, data: object = {}, session?: string): void {
    const input = wellFormed({ type: 'event', event: text(event, 'event'), session: session ?? null, data }, 'data');
    this.#inputs.push(input);
    this.#soon();
  }

  /** Runs a hook now, whatever its trigger, and waits for its end. */
  async run(id: string, data: object = {}): Promise<HookRecord> {
    const { record } = await this.#ask({ op: 'hooks', do: 'run', id: text(id, 'id'), data });
    return recordOf(record as WrittenRecord);
  }

  /** Looks which hooks are declared by now, and which events have to be listened to for them. Every event does so too. */
  reload(): void {
    this.#inputs.push(wellFormed({ type: 'reload' }, 'input'));
    this.#soon();
  }

  /** Ends a run, by the id of its record. */
  cancel(run: string): void {
    this.#tell({ type: 'cancel', run: text(run, 'run') });
  }

  /** Waits for what is under way, or with `drain: false` ends it. Nothing new is begun meanwhile. */
  shutdown({ drain = true }: { drain?: boolean | undefined } = {}): Promise<void> {
    if (!this.#greeted && this.#inputs.length === 0) return Promise.resolve();
    this.#stop ??= newStop();
    const { done } = this.#stop;
    this.#tell({ type: 'shutdown', drain });
    return done;
  }

  /** As the gate's own `perform`, but an answer that takes time is waited for. */
  async perform(line: string | Uint8Array): Promise<string> {
    const answer = this.#gate.perform(line);
    const number = WAITING.exec(answer)?.[1];
    if (number === undefined) return answer;
    const waiting = new Promise<string>((resolve, reject) => this.#waiting.set(Number(number), { resolve, reject }));
    this.#drive();
    return waiting;
  }

  /** @internal Says what this host is, before the first line that needs it. */
  greet(): void {
    if (this.#greeted) return;
    this.#greeted = true;
    // A folder that is named relative to wherever this process happens to be is no place for programs.
    const folders = (process.env.PATH ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
    const workspace = this.#gate.inside.roots.project.folder;
    const prompts = this.#options.runPrompt !== undefined;
    const temp = slashed(os.tmpdir());
    this.#inputs.unshift(wellFormed({ type: 'hello', workspace, path: folders.map(slashed), temp, prompts }, 'hello'));
    this.#drive();
  }

  async #ask(line: object): Promise<Record<string, unknown>> {
    const answer = JSON.parse(await this.perform(wellFormed(line, 'data'))) as Record<string, unknown>;
    const { error } = answer;
    if (error === undefined) return answer;
    const { code, message } = error as { code: string; message: string };
    throw new TollgateError(CODES.has(code) ? (code as ErrorCode) : 'invalid_input', message);
  }

  #tell(input: object): void {
    this.#inputs.push(wellFormed(input, 'input'));
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
    const inputs = this.#inputs.splice(0, MOST_INPUTS);
    if (this.#inputs.length > 0) this.#soon();
    try {
      const { commands, nextDeadlineMs } = this.#gate.inside.guest.call(({ engine }) => engine.step(BigInt(now()), inputs));
      for (const { id, body } of commands) {
        // A callback may have cost the instance whose commands these are.
        if (epoch === this.#epoch) this.#carryOut(Number(id), body);
      }
      return epoch === this.#epoch ? nextDeadlineMs : undefined;
    } catch (error) {
      const fault = error instanceof TollgateError ? error : new TollgateError('internal', String(error), error);
      if (fault.code === 'reentrant') {
        this.#inputs.unshift(...inputs);
        this.#soon();
      } else if (fault.code !== 'guest_trap') {
        this.#say(fault.message);
        this.#abandon(fault);
      }
      return undefined;
    }
  }

  #carryOut(id: number, body: Uint8Array): void {
    const command = fromBytes(body) as HookCommand;
    const { roots } = this.#gate.inside;
    const { runPrompt, onRecord, onApproval } = this.#options;
    switch (command.type) {
      case 'run':
        this.#start(id, (signal) => ran(command, roots, signal));
        break;
      case 'prompt':
        this.#start(id, (signal) => prompted(command, roots, runPrompt, signal));
        break;
      case 'cancel':
        this.#runs.get(command.id)?.abort();
        break;
      case 'answer': {
        const waiting = command.event === null ? undefined : this.#waiting.get(command.event);
        if (waiting === undefined) break;
        this.#waiting.delete(command.event ?? -1);
        // As it was written: numbers and the order of names do not survive being read.
        waiting.resolve(member(toText(body), 'answer') ?? '{}');
        break;
      }
      case 'record':
        this.#guarded('onRecord', () => onRecord?.(recordOf(command.record)));
        break;
      case 'listen':
      case 'unlisten':
        this.#listen(command.trigger, command.type === 'listen');
        break;
      case 'approval': {
        const { hook, digest, why, notice, shows } = command;
        this.#guarded('onApproval', () => onApproval?.({ hook, digest, why, ...(notice === undefined ? {} : { notice }), shows }));
        break;
      }
      case 'stopped':
        this.#stopped();
        break;
    }
  }

  /** Begins something that ends by itself or is cancelled, and reports its end exactly once. */
  #start(id: number, work: (signal: AbortSignal) => Promise<Done>): void {
    const end = new AbortController();
    this.#runs.set(id, end);
    const failed = (error: unknown): Done => ({ failed: error instanceof Error ? error.message : String(error) });
    void work(end.signal)
      .catch(failed)
      .then((done) => {
        // The instance that wanted it may be gone.
        if (this.#runs.get(id) !== end) return;
        this.#runs.delete(id);
        this.#inputs.push(wellFormed({ type: 'done', id, ...done }, 'done'));
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
    this.#inputs.push(wellFormed({ type: 'listening', trigger, failed: failed ?? null }, 'trigger'));
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
      this.#gate.inside.log('warn', message);
    } catch {
      // Whoever should be told does not listen.
    }
  }

  #arm(deadline: bigint | undefined): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (deadline === undefined) return;
    const left = Math.max(0, Number(deadline) - now());
    this.#timer = setTimeout(() => this.#drive(), Math.min(left, MOST_MS));
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

function newStop(): Stop {
  let resolve = () => {};
  const done = new Promise<void>((end) => {
    resolve = end;
  });
  return { done, resolve };
}
