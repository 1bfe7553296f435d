// Starts the thread of the gates, and sends requests to it.
import { Worker } from 'node:worker_threads';
import type { Ruling, ToolCall } from '../api/types.js';
import { type ErrorCode, TollgateError } from '../api/error.js';
import { isGoverned, allowsOnFault } from '../files/on_fault.js';
import type { FolderGateOptions, ThreadRequest, ThreadMessage } from './messages.js';

/** Messages that the thread sends on its own. */
export type ThreadNotification = Exclude<ThreadMessage, { type: 'answer' | 'refusal' }>;

/** Less than the time that editors give an extension to deactivate. */
const MAX_CLOSING_MS = 2_000;

/** The message of calls after the end. */
const CLOSED = 'the gate was closed';

/** A ruling takes milliseconds; a thread that has not answered after this time is stuck. */
const MAX_RULING_MS = 15_000;

interface PendingCall {
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
  readonly #onNotification: (notification: ThreadNotification) => void;
  readonly #gateOptions = new Map<string, FolderGateOptions>();
  readonly #pendingCalls = new Map<number, PendingCall>();
  readonly #closings = new Set<Promise<unknown>>();
  #worker: Worker | undefined;
  #hasEnded = false;
  #last = 0;

  /** @param file the code of the thread @param onNotification receives messages that it sends on its own */
  constructor(file: URL, onNotification: (notification: ThreadNotification) => void) {
    this.#file = file;
    this.#onNotification = onNotification;
  }

  open(options: FolderGateOptions): void {
    if (this.#hasEnded) return;
    this.#gateOptions.set(options.folder, options);
    if (this.#worker === undefined) this.#start();
    else this.#send({ type: 'open', opening: options });
  }

  /** Ends what runs for a folder and closes its gate. */
  async close(folder: string): Promise<void> {
    this.#gateOptions.delete(folder);
    if (this.#worker === undefined) return;
    const closing = this.#sendAndWait((id) => ({ type: 'close', folder, id }));
    this.#closings.add(closing);
    await closing.finally(() => this.#closings.delete(closing));
  }

  call<T>(folder: string, method: string, ...args: unknown[]): Promise<T> {
    if (this.#hasEnded) return Promise.reject(new TollgateError('guest_trap', CLOSED));
    if (this.#worker === undefined) this.#start();
    return this.#sendAndWait((id) => ({ type: 'call', id, folder, method, args })) as Promise<T>;
  }

  /**
   * Checks a call. If the gate does not answer, the host decides: in a governed folder a person is asked, unless the user's
   * settings allow the call.
   */
  async rule(folder: string, call: ToolCall, patienceMs = MAX_RULING_MS): Promise<Ruling> {
    const options = this.#gateOptions.get(folder);
    if (options === undefined) throw new TollgateError('workspace_missing', `\`${folder}\` has no gate; open the folder first`);
    try {
      return await this.#withTimeout(this.call<Ruling>(folder, 'preTool', call), patienceMs);
    } catch (error) {
      const unknown = { effects: [], preHashes: [] };
      if (!isGoverned(options.workspace)) return { verdict: 'allow', code: 'ungoverned', reason: '', ...unknown };
      const why = error instanceof Error ? error.message : String(error);
      this.#onNotification({ type: 'log', folder, level: 'error', message: why });
      const passes = allowsOnFault(options.workspace, options.home);
      const rest = passes ? '' : ', so the call could not be checked; a person has to decide whether it may run';
      return { verdict: passes ? 'allow' : 'ask', code: 'gate_fault', reason: `${why}${rest}`, ...unknown };
    }
  }

  /** Waits for an answer. A thread that does not answer in time is ended, and the next call replaces it. */
  async #withTimeout<T>(answer: Promise<T>, patienceMs: number): Promise<T> {
    const timer = setTimeout(() => {
      const worker = this.#worker;
      this.#discardWorker(`the gate has not answered for ${patienceMs} ms and will be restarted by the next call`);
      void worker?.terminate();
    }, patienceMs);
    return answer.finally(() => clearTimeout(timer));
  }

  /** Reports the result of a prompt. */
  reportPromptResult(prompt: number, done: Extract<ThreadRequest, { type: 'prompted' }>['done']): void {
    this.#send({ type: 'prompted', prompt, done });
  }

  /** Ends everything that runs, and then the thread. An editor that is closing does not wait long. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    for (const folder of this.#gateOptions.keys()) this.close(folder).catch(() => {});
    const closed = Promise.allSettled(this.#closings);
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([closed, new Promise((resolve) => (timer = setTimeout(resolve, MAX_CLOSING_MS)))]);
    clearTimeout(timer);
    const worker = this.#worker;
    this.#discardWorker(CLOSED);
    await worker?.terminate();
  }

  #start(): void {
    // Without the editor's arguments and standard output, which carries a protocol of its own.
    const worker = new Worker(this.#file, { argv: [], execArgv: [], stdout: true, stderr: true, name: 'tollgate' });
    worker.on('message', (message: ThreadMessage) => this.#receive(message));
    worker.on('error', (error) => this.#handleExit(worker, error instanceof Error ? error.message : String(error)));
    worker.on('exit', (code) => this.#handleExit(worker, `exit code ${code}`));
    this.#worker = worker;
    for (const options of this.#gateOptions.values()) this.#send({ type: 'open', opening: options });
  }

  #send(request: ThreadRequest): void {
    this.#worker?.postMessage(request);
  }

  #sendAndWait(newRequest: (id: number) => ThreadRequest): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const id = ++this.#last;
      this.#pendingCalls.set(id, { resolve, reject });
      try {
        this.#send(newRequest(id));
      } catch (error) {
        this.#pendingCalls.delete(id);
        reject(new TollgateError('invalid_input', `the arguments cannot be sent to the gate: ${String(error)}`, error));
      }
    });
  }

  #receive(message: ThreadMessage): void {
    if (message.type !== 'answer' && message.type !== 'refusal') return this.#onNotification(message);
    const waiting = this.#pendingCalls.get(message.id);
    this.#pendingCalls.delete(message.id);
    if (message.type === 'answer') waiting?.resolve(message.value);
    else waiting?.reject(new TollgateError(message.code as ErrorCode, message.message));
  }

  #handleExit(worker: Worker, why: string): void {
    if (worker === this.#worker) this.#discardWorker(`the gate failed and will be restarted by the next call (${why})`);
  }

  #discardWorker(why: string): void {
    this.#worker = undefined;
    for (const { reject } of this.#pendingCalls.values()) reject(new TollgateError('guest_trap', why));
    this.#pendingCalls.clear();
  }
}
