import { Worker } from 'node:worker_threads';
import type { Ruling, ToolCall } from '../api/types.js';
import { type ErrorCode, TollgateError } from '../api/error.js';
import { isGoverned, allowsOnFault } from '../files/on_fault.js';
import type { Opening, Order, Report } from './messages.js';

/** Messages that the thread sends on its own. */
export type News = Exclude<Report, { type: 'answer' | 'refusal' }>;

/** Less than the time that editors give an extension to deactivate. */
const MAX_CLOSING_MS = 2_000;

/** A ruling takes milliseconds; a thread that has not answered after this time is stuck. */
const MAX_RULING_MS = 15_000;

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: TollgateError) => void;
}

/**
 * The thread of the gates, as seen by the extension host.
 *
 * It is started by the first call. If it dies, the next call replaces it and opens the same gates again; nothing is lost, because
 * all state is stored in files.
 */
export class GateThread {
  readonly #file: URL;
  readonly #heard: (news: News) => void;
  readonly #openings = new Map<string, Opening>();
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #last = 0;

  /** @param file the code of the thread @param heard receives messages that it sends on its own */
  constructor(file: URL, heard: (news: News) => void) {
    this.#file = file;
    this.#heard = heard;
  }

  open(opening: Opening): void {
    this.#openings.set(opening.folder, opening);
    if (this.#worker === undefined) this.#start();
    else this.#tell({ type: 'open', opening });
  }

  /** Ends what runs for a folder and closes its gate. */
  async close(folder: string): Promise<void> {
    this.#openings.delete(folder);
    if (this.#worker !== undefined) await this.#answer((id) => ({ type: 'close', folder, id }));
  }

  call<T>(folder: string, method: string, ...args: unknown[]): Promise<T> {
    if (this.#worker === undefined) this.#start();
    return this.#answer((id) => ({ type: 'call', id, folder, method, args })) as Promise<T>;
  }

  /**
   * Checks a call. If the gate does not answer, the host decides: in a governed folder a person is asked, unless the user's
   * settings allow the call.
   */
  async rule(folder: string, call: ToolCall, patienceMs = MAX_RULING_MS): Promise<Ruling> {
    const opening = this.#openings.get(folder);
    if (opening === undefined) throw new TollgateError('workspace_missing', `\`${folder}\` has no gate; open the folder first`);
    try {
      return await this.#inTime(this.call<Ruling>(folder, 'preTool', call), patienceMs);
    } catch (error) {
      const unknown = { effects: [], preHashes: [] };
      if (!isGoverned(opening.workspace)) return { verdict: 'allow', code: 'ungoverned', reason: '', ...unknown };
      const why = error instanceof Error ? error.message : String(error);
      this.#heard({ type: 'log', folder, level: 'error', message: why });
      const passes = allowsOnFault(opening.workspace, opening.home);
      const rest = passes ? '' : ', so the call could not be checked; a person has to decide whether it may run';
      return { verdict: passes ? 'allow' : 'ask', code: 'gate_fault', reason: `${why}${rest}`, ...unknown };
    }
  }

  /** Waits for an answer. A thread that does not answer in time is ended, and the next call replaces it. */
  async #inTime<T>(answer: Promise<T>, patienceMs: number): Promise<T> {
    const timer = setTimeout(() => {
      const worker = this.#worker;
      this.#gone(`the gate has not answered for ${patienceMs} ms and is restarted by the next call`);
      void worker?.terminate();
    }, patienceMs);
    return answer.finally(() => clearTimeout(timer));
  }

  /** Reports the result of a prompt. */
  prompted(prompt: number, done: Extract<Order, { type: 'prompted' }>['done']): void {
    this.#tell({ type: 'prompted', prompt, done });
  }

  /** Ends everything that runs, and then the thread. An editor that is closing does not wait long. */
  async end(): Promise<void> {
    const closed = Promise.allSettled([...this.#openings.keys()].map((folder) => this.close(folder)));
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([closed, new Promise((resolve) => (timer = setTimeout(resolve, MAX_CLOSING_MS)))]);
    clearTimeout(timer);
    const worker = this.#worker;
    this.#gone('the gate was closed');
    await worker?.terminate();
  }

  #start(): void {
    // Without the editor's arguments and standard output, which carries a protocol of its own.
    const worker = new Worker(this.#file, { argv: [], execArgv: [], stdout: true, stderr: true, name: 'tollgate' });
    worker.on('message', (report: Report) => this.#take(report));
    worker.on('error', (error) => this.#lost(worker, error instanceof Error ? error.message : String(error)));
    worker.on('exit', (code) => this.#lost(worker, `exit code ${code}`));
    this.#worker = worker;
    for (const opening of this.#openings.values()) this.#tell({ type: 'open', opening });
  }

  #tell(order: Order): void {
    this.#worker?.postMessage(order);
  }

  #answer(order: (id: number) => Order): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const id = ++this.#last;
      this.#waiting.set(id, { resolve, reject });
      try {
        this.#tell(order(id));
      } catch (error) {
        this.#waiting.delete(id);
        reject(new TollgateError('invalid_input', `the arguments cannot be sent to the gate: ${String(error)}`, error));
      }
    });
  }

  #take(report: Report): void {
    if (report.type !== 'answer' && report.type !== 'refusal') return this.#heard(report);
    const waiting = this.#waiting.get(report.id);
    this.#waiting.delete(report.id);
    if (report.type === 'answer') waiting?.resolve(report.value);
    else waiting?.reject(new TollgateError(report.code as ErrorCode, report.message));
  }

  #lost(worker: Worker, why: string): void {
    if (worker === this.#worker) this.#gone(`the gate failed and is restarted by the next call (${why})`);
  }

  #gone(why: string): void {
    this.#worker = undefined;
    for (const { reject } of this.#waiting.values()) reject(new TollgateError('guest_trap', why));
    this.#waiting.clear();
  }
}
