const NEWLINE = 0x0a;

/** Cuts a stream of bytes into lines, holding no more than `most` bytes of any. */
export class Lines {
  #pieces: Uint8Array[] = [];
  #length = 0;

  constructor(readonly most: number) {}

  /** The lines that these bytes complete. */
  *feed(bytes: Uint8Array): Generator<Uint8Array> {
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      this.#keep(bytes.subarray(start, end));
      yield this.#take();
      start = end + 1;
    }
    this.#keep(bytes.subarray(start));
  }

  /** The last line, which nothing ended. */
  rest(): Uint8Array {
    return this.#take();
  }

  /** What exceeds the limit is dropped here, so that an endless line takes no memory. */
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

/** Whether a line holds nothing but ASCII white space. */
export function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0c || byte === 0x0d);
}
