import { Worker } from 'node:worker_threads';
import { type ErrorCode, TollgateError } from '../error.js';
import type { Opening, Order, Report } from './messages.js';

/** What the thread says by itself. */
export type News = Exclude<Report, { type: 'answer' | 'refusal' }>;

/** Less than editors give an extension for its end. */
const MOST_FOR_CLOSING_MS = 2_000;

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: TollgateError) => void;
}

/**
 * The thread that the gates live in, seen from the extension host.
 *
 * It is started by the first call. One that died is replaced by the next call, with the same gates open; nothing is lost by
 * that, because whatever has to outlive a gate is kept in its workspace.
 */
export class GateThread {
  readonly #file: URL;
  readonly #heard: (news: News) => void;
  readonly #openings = new Map<string, Opening>();
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #last = 0;

  /** @param file the thread's code @param heard takes what it says by itself */
  constructor(file: URL, heard: (news: News) => void) {
    this.#file = file;
    this.#heard = heard;
  }

  open(opening: Opening): void {
    this.#openings.set(opening.folder, opening);
    if (this.#worker === undefined) this.#start();
    else this.#tell({ type: 'open', opening });
  }

  /** Ends what runs for a folder, and forgets it. */
  async close(folder: string): Promise<void> {
    this.#openings.delete(folder);
    if (this.#worker !== undefined) await this.#answer((id) => ({ type: 'close', folder, id }));
  }

  call<T>(folder: string, method: string, ...args: unknown[]): Promise<T> {
    if (this.#worker === undefined) this.#start();
    return this.#answer((id) => ({ type: 'call', id, folder, method, args })) as Promise<T>;
  }

  /** Tells how a prompt ended. */
  prompted(prompt: number, done: Extract<Order, { type: 'prompted' }>['done']): void {
    this.#tell({ type: 'prompted', prompt, done });
  }

  /** Ends everything that runs, then the thread. An editor that closes does not wait for long. */
  async end(): Promise<void> {
    const closed = Promise.allSettled([...this.#openings.keys()].map((folder) => this.close(folder)));
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([closed, new Promise((resolve) => (timer = setTimeout(resolve, MOST_FOR_CLOSING_MS)))]);
    clearTimeout(timer);
    const worker = this.#worker;
    this.#gone('the gate was closed');
    await worker?.terminate();
  }

  #start(): void {
    // Nothing of the editor's own standing: neither its arguments nor its standard output, which is a protocol of its own.
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
        reject(new TollgateError('invalid_input', `what was passed cannot be copied to the gate: ${String(error)}`, error));
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
