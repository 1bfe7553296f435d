/** Elements of all tables together, and memories, as in the other host. */
const MAX_TABLE_ELEMENTS = 100_000;
const MAX_MEMORIES = 8;
const PAGE = 65_536;

const TABLES = 4;
const MEMORIES = 5;
const FUNCTIONS = 0x70;

/** A hook that asks for more than it may have. */
export class OutOf extends Error {}

/** What the modules of one component take. */
export class Caps {
  readonly #maxPages: number;
  #pages = 0;
  #memories = 0;
  #elements = 0;

  constructor(memoryBytes: number) {
    this.#maxPages = Math.floor(memoryBytes / PAGE);
  }

  /** A core module whose memories and tables cannot grow beyond the limits. */
  apply(module: Uint8Array): Uint8Array {
    const parts: Uint8Array[] = [module.subarray(0, 8)];
    const reader = new Reader(module, 8);
    while (reader.at < module.length) {
      const start = reader.at;
      const id = reader.byte();
      const size = reader.number();
      const content = module.subarray(reader.at, reader.at + size);
      reader.at += size;
      if (id === MEMORIES) parts.push(section(id, this.#limits(content, false)));
      else if (id === TABLES) parts.push(section(id, this.#limits(content, true)));
      else parts.push(module.subarray(start, reader.at));
    }
    return Buffer.concat(parts);
  }

  #limits(content: Uint8Array, isTable: boolean): number[] {
    const reader = new Reader(content, 0);
    const count = reader.number();
    const out = leb128(count);
    for (let at = 0; at < count; at += 1) {
      if (isTable && reader.byte() !== FUNCTIONS) throw new Error('it uses tables of something other than functions');
      const flags = reader.byte();
      if (flags > 1) throw new Error('it uses memories or tables of another kind');
      const least = reader.number();
      const most = flags === 1 ? reader.number() : Number.MAX_SAFE_INTEGER;
      if (isTable) {
        this.#elements += least;
        if (this.#elements > MAX_TABLE_ELEMENTS) throw new OutOf('it ran out of tables');
        out.push(FUNCTIONS, 1, ...leb128(least), ...leb128(Math.min(most, MAX_TABLE_ELEMENTS)));
      } else {
        this.#memories += 1;
        this.#pages += least;
        if (this.#pages > this.#maxPages || this.#memories > MAX_MEMORIES) throw new OutOf('it ran out of memory');
        out.push(1, ...leb128(least), ...leb128(Math.min(most, this.#maxPages)));
      }
    }
    return out;
  }
}

function section(id: number, content: number[]): Uint8Array {
  return Uint8Array.from([id, ...leb128(content.length), ...content]);
}

function leb128(value: number): number[] {
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return [...bytes, left];
    bytes.push((left % 128) + 128);
  }
}

class Reader {
  readonly #bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  byte(): number {
    const byte = this.#bytes[this.at];
    if (byte === undefined) throw new Error('one of its modules is damaged');
    this.at += 1;
    return byte;
  }

  number(): number {
    let value = 0;
    for (let factor = 1; factor <= 128 ** 4; factor *= 128) {
      const byte = this.byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
    throw new Error('one of its modules is damaged');
  }
}
