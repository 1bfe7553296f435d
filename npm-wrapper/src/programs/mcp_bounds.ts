/** Limits on how much one MCP server may send, as set by the gate. */
export interface ServerLimits {
  /** The limit on a single message, and on all tools together. */
  message_bytes: number;
  /** The limit on output that is not a message. */
  garbage_bytes: number;
  /** The limit on unsolicited messages between two answers. */
  unasked_bytes: number;
  /** The limit on the pages of a tool list. */
  pages: number;
}

/** Counts what a server sends, and records whether it sent too much. */
export class ServerBounds {
  readonly limits: ServerLimits;
  #garbage = 0;
  #unasked = 0;
  #exceeded = false;

  constructor(limits: ServerLimits) {
    this.limits = limits;
  }

  /** Counts bytes that are not a message. Returns whether they are still within the limit. */
  countGarbage(bytes: number): boolean {
    this.#garbage += bytes;
    return this.#check(this.#garbage <= this.limits.garbage_bytes);
  }

  /** Counts bytes of messages. Returns whether they are still within the limit. */
  countMessages(bytes: number): boolean {
    this.#unasked += bytes;
    return this.#check(this.#unasked <= this.limits.unasked_bytes);
  }

  /** Whether an incomplete message of this length is still within the limit. */
  mayGrowTo(bytes: number): boolean {
    return this.#check(bytes <= this.limits.message_bytes);
  }

  /** Resets the count of unsolicited messages, because an answer has arrived. */
  resetUnasked(): void {
    this.#unasked = 0;
  }

  get isExceeded(): boolean {
    return this.#exceeded;
  }

  #check(isWithin: boolean): boolean {
    this.#exceeded ||= !isWithin;
    return isWithin;
  }
}
