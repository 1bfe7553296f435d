/** The longest message, in bytes. */
export const MAX_MESSAGE = 10 << 20;

/** Of what is not a message, this much is read. */
const MAX_GARBAGE = 1 << 20;

/** Between two answers to what it was asked, a server may send this much in unsolicited messages. */
const MAX_UNASKED = 64 << 20;

/** Counts what a server sends, and notes that it was too much. */
export class Bounds {
  #garbage = 0;
  #unasked = 0;
  #exceeded = false;

  /** Whether bytes that are not a message are still within bounds. */
  takeGarbage(bytes: number): boolean {
    this.#garbage += bytes;
    return this.#check(this.#garbage <= MAX_GARBAGE);
  }

  /** The same for bytes of messages. */
  take(bytes: number): boolean {
    this.#unasked += bytes;
    return this.#check(this.#unasked <= MAX_UNASKED);
  }

  /** The same for a message that is not complete yet. */
  mayGrowTo(bytes: number): boolean {
    return this.#check(bytes <= MAX_MESSAGE);
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
