// Connections to MCP servers.
import type { McpOptions, ProgramAnswer } from '../api/types.js';
import { TollgateError } from '../api/error.js';
import type { Connection, TransportOrder } from './mcp_connection.js';

/** At most this much is sent to the gate in one line; its limit is 32 MiB. */
const MAX_LINE = 24 << 20;

/** The longest possible timer; a later deadline is checked again when it fires. */
const MAX_TIMER_MS = 0x7fff_ffff;

/** @internal The parts of the connections. */
export interface ServersParts {
  /** The folder in which servers that are programs run. */
  folder: string;
  /** The gate's own `perform`. */
  perform: (line: string) => string;
  /** Reports an event of a call to the gate, in the format of the program `generic`. */
  exchange: (payload: object) => Promise<ProgramAnswer>;
  options: McpOptions | undefined;
}

interface PendingRequest {
  resolve: (result: unknown) => void;
  reject: (error: TollgateError) => void;
}

/** A command of the gate; `hub.rs` in the guest documents every field. */
interface ConnectionCommand {
  type: string;
  connection?: number;
  command?: number;
  number?: number;
  transport?: TransportOrder;
  tool?: string;
  arguments?: Record<string, unknown>;
  payload?: object;
  message?: string;
  result?: unknown;
  error?: string;
}

/** Monotonic milliseconds. */
function now(): number {
  return Math.floor(performance.now());
}

/**
 * The connections of one gate to MCP servers: executes what the gate decides about them, and reports the results.
 *
 * The gate decides which servers are connected, when and for how long, how their tools are named, and what happens to a call.
 */
export class Servers {
  readonly #parts: ServersParts;
  #options: McpOptions;
  readonly #connections = new Map<number, Promise<Connection>>();
  readonly #closing = new Set<Promise<void>>();
  readonly #pendingRequests = new Map<number, PendingRequest>();
  #inputs: object[] = [];
  #last = 0;
  #isDriving = false;
  /** Increases with every failed instance of the component. */
  #epoch = 0;
  #timer: NodeJS.Timeout | undefined;
  #deadline: number | undefined;

  /** @internal Created by the gate. */
  constructor(parts: ServersParts) {
    this.#parts = parts;
    this.#options = parts.options ?? {};
  }

  /** @internal Changes how a person is asked about calls. */
  setOptions(options: McpOptions): void {
    this.#options = options;
  }

  /** Sends a request about MCP servers, such as `status`, `tools` or `call`, and waits for the result. */
  request(method: string, params: object = {}, signal?: AbortSignal): Promise<unknown> {
    this.#last += 1;
    const number = this.#last;
    const answer = new Promise<unknown>((resolve, reject) => this.#pendingRequests.set(number, { resolve, reject }));
    signal?.addEventListener('abort', () => this.#cancel(number), { once: true });
    this.report({ type: 'request', number, method, params });
    return answer;
  }

  /** @internal Reports an input about connections to the gate. */
  report(input: object): void {
    this.#inputs.push(input);
    this.#drive();
  }

  /** Ends every connection; resolves when the servers have ended. The next request connects again. */
  async close(): Promise<void> {
    if (this.#connections.size > 0 || this.#pendingRequests.size > 0) this.report({ type: 'shutdown' });
    for (const connection of [...this.#connections.keys()]) this.#disconnect(connection);
    await Promise.all(this.#closing);
  }

  /** @internal Ends all connections and rejects all requests, because the instance that knew of them has failed. */
  resetAfterFailure(error: TollgateError): void {
    this.#epoch += 1;
    this.#inputs = [];
    for (const connection of [...this.#connections.keys()]) this.#disconnect(connection);
    const waiting = [...this.#pendingRequests.values()];
    this.#pendingRequests.clear();
    for (const { reject } of waiting) reject(error);
    this.#setTimer(undefined);
  }

  #cancel(number: number): void {
    const waiting = this.#pendingRequests.get(number);
    if (waiting === undefined) return;
    this.#pendingRequests.delete(number);
    waiting.reject(new TollgateError('not_done', 'the request was canceled'));
    this.report({ type: 'cancel', number });
  }

  /** Reports everything that happened to the gate and executes its commands, until there is nothing left to do. Never throws. */
  #drive(): void {
    if (this.#isDriving) return;
    this.#isDriving = true;
    try {
      while (this.#inputs.length > 0 || (this.#deadline !== undefined && this.#deadline <= now())) this.#step();
    } catch (error) {
      const isBusy = error instanceof TollgateError && error.code === 'reentrant';
      if (isBusy) setImmediate(() => this.#drive());
      else this.resetAfterFailure(error instanceof TollgateError ? error : new TollgateError('guest_trap', String(error), error));
    } finally {
      this.#isDriving = false;
    }
    this.#setTimer(this.#deadline);
  }

  #step(): void {
    const epoch = this.#epoch;
    const [texts, taken] = this.#nextBatch();
    const line = `{"op":"mcp","do":"step","now_ms":${now()},"inputs":[${texts}]}`;
    const turn = JSON.parse(this.#parts.perform(line)) as { commands?: ConnectionCommand[]; next_deadline_ms?: number | null };
    this.#inputs.splice(0, taken);
    this.#deadline = turn.next_deadline_ms ?? undefined;
    for (const order of turn.commands ?? []) {
      // A callback may have caused the instance that issued these commands to fail.
      if (epoch === this.#epoch) this.#execute(order);
    }
  }

  /** As many inputs as fit into one line, and their number. */
  #nextBatch(): [texts: string, taken: number] {
    const texts: string[] = [];
    let length = 0;
    for (const input of this.#inputs) {
      const text = JSON.stringify(input);
      if (texts.length > 0 && length + text.length > MAX_LINE) break;
      texts.push(text);
      length += text.length;
    }
    return [texts.join(','), texts.length];
  }

  #execute(order: ConnectionCommand): void {
    const { connection = 0, command = 0, number = 0 } = order;
    const to = (use: (connection: Connection) => void) => void this.#connections.get(connection)?.then(use);
    switch (order.type) {
      case 'connect':
        if (order.transport !== undefined) this.#connect(connection, order.transport);
        break;
      case 'list':
        to((server) => server.list());
        break;
      case 'call':
        to((server) => server.call(command, order.tool ?? '', order.arguments ?? {}));
        break;
      case 'cancel':
        to((server) => server.cancel(command));
        break;
      case 'disconnect':
        this.#disconnect(connection);
        break;
      case 'reply': {
        const waiting = this.#pendingRequests.get(number);
        this.#pendingRequests.delete(number);
        if (order.error === undefined) waiting?.resolve(order.result);
        else waiting?.reject(new TollgateError('not_done', order.error));
        break;
      }
      case 'exchange':
        void this.#exchange(command, order.payload ?? {});
        break;
      case 'ask':
        void this.#ask(command, number, order.message ?? '');
        break;
      case 'tools_changed':
        this.#options.onToolsChanged?.();
        break;
    }
  }

  async #exchange(command: number, payload: object): Promise<void> {
    const epoch = this.#epoch;
    const failed = (error: unknown): ProgramAnswer => ({
      text: '',
      refused: error instanceof Error ? error.message : String(error),
    });
    const { text, refused } = await this.#parts.exchange(payload).catch(failed);
    if (epoch === this.#epoch) this.report({ type: 'exchanged', command, text, refused });
  }

  async #ask(command: number, number: number, message: string): Promise<void> {
    const epoch = this.#epoch;
    const accepted = await this.#options.ask?.(message, number).catch(() => undefined);
    if (epoch === this.#epoch) this.report({ type: 'decided', command, accepted: accepted ?? null });
  }

  #connect(connection: number, order: TransportOrder): void {
    const epoch = this.#epoch;
    const report = (input: object) => {
      if (epoch === this.#epoch) this.report(input);
    };
    const made = import('./mcp.js').then(({ connect }) => connect(connection, order, this.#parts.folder, report));
    made.catch((error: unknown) => report({ type: 'closed', connection, kind: 'ended', why: String(error) }));
    this.#connections.set(connection, made);
  }

  #disconnect(connection: number): void {
    const ending = this.#connections.get(connection);
    if (ending === undefined) return;
    this.#connections.delete(connection);
    const ended = ending.then((server) => server.close()).catch(() => {});
    this.#closing.add(ended);
    void ended.then(() => this.#closing.delete(ended));
  }

  #setTimer(deadline: number | undefined): void {
    this.#deadline = deadline;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (deadline === undefined) return;
    this.#timer = setTimeout(() => this.#drive(), Math.min(Math.max(0, deadline - now()), MAX_TIMER_MS));
    if (this.#pendingRequests.size === 0) this.#timer.unref();
  }
}
