/** How much one server may send, as the gate orders it. */
export interface ServerLimits {
  /** The longest message, and all tools together. */
  message_bytes: number;
  /** What is not a message. */
  garbage_bytes: number;
  /** Messages that were not asked for, between two answers. */
  unasked_bytes: number;
  /** The pages of a list of tools. */
  pages: number;
}

/** Counts what a server sends, and notes that it was too much. */
export class Bounds {
  readonly limits: ServerLimits;
  #garbage = 0;
  #unasked = 0;
  #exceeded = false;

  constructor(limits: ServerLimits) {
    this.limits = limits;
  }

  /** Whether bytes that are not a message are still within bounds. */
  takeGarbage(bytes: number): boolean {
    this.#garbage += bytes;
    return this.#check(this.#garbage <= this.limits.garbage_bytes);
  }

  /** The same for bytes of messages. */
  take(bytes: number): boolean {
    this.#unasked += bytes;
    return this.#check(this.#unasked <= this.limits.unasked_bytes);
  }

  /** The same for a message that is not complete yet. */
  mayGrowTo(bytes: number): boolean {
    return this.#check(bytes <= this.limits.message_bytes);
  }

  /** Something that it was asked for has come. */
  answered(): void {
    this.#unasked = 0;
  }

  get areExceeded(): boolean {
    return this.#exceeded;
  }

  #check(isWithin: boolean): boolean {
    this.#exceeded ||= !isWithin;
    return isWithin;
  }
}
