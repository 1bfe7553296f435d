// Splits a stream of bytes into lines.

const NEWLINE = 0x0a;

/** Splits a stream of bytes into lines, keeping at most `most` bytes of each. */
export class LineSplitter {
  #pieces: Uint8Array[] = [];
  #length = 0;

  constructor(readonly most: number) {}

  /** The lines that are completed by these bytes. */
  *feed(bytes: Uint8Array): Generator<Uint8Array> {
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      this.#keep(bytes.subarray(start, end));
      yield this.#take();
      start = end + 1;
    }
    this.#keep(bytes.subarray(start));
  }

  /** The last line, if it has no line break. */
  takeRest(): Uint8Array {
    return this.#take();
  }

  /** Bytes beyond the limit are dropped here, so that an endless line takes no memory. */
  #keep(piece: Uint8Array): void {
    const kept = piece.subarray(0, this.most - this.#length);
    if (kept.byteLength === 0) return;
    this.#pieces.push(kept);
    this.#length += kept.byteLength;
  }

  #take(): Uint8Array {
    const [only] = this.#pieces;
    const line = this.#pieces.length === 1 && only !== undefined ? only : Buffer.concat(this.#pieces, this.#length);
    this.#pieces = [];
    this.#length = 0;
    return line;
  }
}

/** Whether a line consists of ASCII white space. */
export function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0c || byte === 0x0d);
}
