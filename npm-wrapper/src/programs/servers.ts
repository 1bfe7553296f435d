import type { McpOptions, ProgramAnswer } from '../api/types.js';
import { TollgateError } from '../api/error.js';
import type { Connection, TransportOrder } from './mcp_connection.js';

/** The most that is sent to the gate at once; it takes lines of 32 MiB. */
const MAX_LINE = 24 << 20;

/** The longest that a timer can be set for; a later deadline is looked at again then. */
const MAX_TIMER_MS = 0x7fff_ffff;

/** @internal What connections are made of. */
export interface ServersParts {
  /** Where servers that are programs run. */
  folder: string;
  /** The gate's own `perform`. */
  perform: (line: string) => string;
  /** Tells the gate of an event of a call, in the words of the program `generic`. */
  exchange: (payload: object) => Promise<ProgramAnswer>;
  options: McpOptions | undefined;
}

interface Waiting {
  resolve: (result: unknown) => void;
  reject: (error: TollgateError) => void;
}

/** What the gate orders; `hub.rs` in the guest has every field. */
interface Order {
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
 * The connections of one gate to MCP servers: carries out what the gate decides about them, and reports the results to it.
 *
 * Which servers are connected to, when, for how long, what their tools are called and what becomes of a call, the gate decides.
 */
export class Servers {
  readonly #parts: ServersParts;
  #options: McpOptions;
  readonly #connections = new Map<number, Promise<Connection>>();
  readonly #ending = new Set<Promise<void>>();
  readonly #waiting = new Map<number, Waiting>();
  #inputs: object[] = [];
  #last = 0;
  #driving = false;
  /** Goes up with every instance of the component that is lost. */
  #epoch = 0;
  #timer: NodeJS.Timeout | undefined;
  #deadline: number | undefined;

  /** @internal Made by the gate. */
  constructor(parts: ServersParts) {
    this.#parts = parts;
    this.#options = parts.options ?? {};
  }

  /** @internal Changes how calls reach a person. */
  use(options: McpOptions): void {
    this.#options = options;
  }

  /** Asks for something, such as `status`, `tools` or `call`, and waits for the result. */
  request(method: string, params: object = {}, signal?: AbortSignal): Promise<unknown> {
    this.#last += 1;
    const number = this.#last;
    const answer = new Promise<unknown>((resolve, reject) => this.#waiting.set(number, { resolve, reject }));
    signal?.addEventListener('abort', () => this.#cancel(number), { once: true });
    this.tell({ type: 'request', number, method, params });
    return answer;
  }

  /** @internal Tells the gate something about connections. */
  tell(input: object): void {
    this.#inputs.push(input);
    this.#drive();
  }

  /** Ends every connection; resolves when the servers have ended. The next request connects again. */
  async close(): Promise<void> {
    if (this.#connections.size > 0 || this.#waiting.size > 0) this.tell({ type: 'shutdown' });
    for (const connection of [...this.#connections.keys()]) this.#disconnect(connection);
    await Promise.all(this.#ending);
  }

  /** @internal Ends all connections and rejects all requests, because the instance that knew of them has failed. */
  lose(error: TollgateError): void {
    this.#epoch += 1;
    this.#inputs = [];
    for (const connection of [...this.#connections.keys()]) this.#disconnect(connection);
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(error);
    this.#arm(undefined);
  }

  #cancel(number: number): void {
    const waiting = this.#waiting.get(number);
    if (waiting === undefined) return;
    this.#waiting.delete(number);
    waiting.reject(new TollgateError('not_done', 'the request was canceled'));
    this.tell({ type: 'cancel', number });
  }

  /** Tells the gate what happened and does what it says, until there is nothing more to tell. Throws nothing. */
  #drive(): void {
    if (this.#driving) return;
    this.#driving = true;
    try {
      while (this.#inputs.length > 0 || (this.#deadline !== undefined && this.#deadline <= now())) this.#step();
    } catch (error) {
      const isBusy = error instanceof TollgateError && error.code === 'reentrant';
      if (isBusy) setImmediate(() => this.#drive());
      else this.lose(error instanceof TollgateError ? error : new TollgateError('guest_trap', String(error), error));
    } finally {
      this.#driving = false;
    }
    this.#arm(this.#deadline);
  }

  #step(): void {
    const epoch = this.#epoch;
    const [texts, taken] = this.#batch();
    const line = `{"op":"mcp","do":"step","now_ms":${now()},"inputs":[${texts}]}`;
    const turn = JSON.parse(this.#parts.perform(line)) as { commands?: Order[]; next_deadline_ms?: number | null };
    this.#inputs.splice(0, taken);
    this.#deadline = turn.next_deadline_ms ?? undefined;
    for (const order of turn.commands ?? []) {
      // A callback may have cost the instance whose orders these are.
      if (epoch === this.#epoch) this.#obey(order);
    }
  }

  /** As many inputs as go into one line, and how many these are. */
  #batch(): [texts: string, taken: number] {
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

  #obey(order: Order): void {
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
        const waiting = this.#waiting.get(number);
        this.#waiting.delete(number);
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
    if (epoch === this.#epoch) this.tell({ type: 'exchanged', command, text, refused });
  }

  async #ask(command: number, number: number, message: string): Promise<void> {
    const epoch = this.#epoch;
    const accepted = await this.#options.ask?.(message, number).catch(() => undefined);
    if (epoch === this.#epoch) this.tell({ type: 'decided', command, accepted: accepted ?? null });
  }

  #connect(connection: number, order: TransportOrder): void {
    const epoch = this.#epoch;
    const report = (input: object) => {
      if (epoch === this.#epoch) this.tell(input);
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
    this.#ending.add(ended);
    void ended.then(() => this.#ending.delete(ended));
  }

  #arm(deadline: number | undefined): void {
    this.#deadline = deadline;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (deadline === undefined) return;
    this.#timer = setTimeout(() => this.#drive(), Math.min(Math.max(0, deadline - now()), MAX_TIMER_MS));
    if (this.#waiting.size === 0) this.#timer.unref();
  }
}
