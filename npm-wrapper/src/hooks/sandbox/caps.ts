/** The limits on the elements of all tables together and on the number of memories, as in the other host. */
const MAX_TABLE_ELEMENTS = 100_000;
const MAX_MEMORIES = 8;
const PAGE_BYTES = 65_536;

const TABLE_SECTION = 4;
const MEMORY_SECTION = 5;
const FUNCTION_REFERENCE = 0x70;

/** Thrown if a hook asks for more than it may have. */
export class LimitExceeded extends Error {}

/** Caps the memories and tables of the modules of one component, and counts what they take. */
export class Caps {
  readonly #maxPages: number;
  #pages = 0;
  #memories = 0;
  #elements = 0;

  constructor(memoryBytes: number) {
    this.#maxPages = Math.floor(memoryBytes / PAGE_BYTES);
  }

  /** Rewrites a core module so that its memories and tables cannot grow beyond the limits. */
  apply(module: Uint8Array): Uint8Array {
    const parts: Uint8Array[] = [module.subarray(0, 8)];
    const reader = new ModuleReader(module, 8);
    while (reader.at < module.length) {
      const start = reader.at;
      const id = reader.readByte();
      const size = reader.readNumber();
      const content = module.subarray(reader.at, reader.at + size);
      reader.at += size;
      if (id === MEMORY_SECTION) parts.push(encodeSection(id, this.#capLimits(content, false)));
      else if (id === TABLE_SECTION) parts.push(encodeSection(id, this.#capLimits(content, true)));
      else parts.push(module.subarray(start, reader.at));
    }
    return Buffer.concat(parts);
  }

  #capLimits(content: Uint8Array, isTable: boolean): number[] {
    const reader = new ModuleReader(content, 0);
    const count = reader.readNumber();
    const out = encodeLeb128(count);
    for (let at = 0; at < count; at += 1) {
      if (isTable && reader.readByte() !== FUNCTION_REFERENCE)
        throw new Error('it uses tables of something other than functions');
      const flags = reader.readByte();
      if (flags > 1) throw new Error('it uses memories or tables of another kind');
      const least = reader.readNumber();
      const most = flags === 1 ? reader.readNumber() : Number.MAX_SAFE_INTEGER;
      if (isTable) {
        this.#elements += least;
        if (this.#elements > MAX_TABLE_ELEMENTS) throw new LimitExceeded('it ran out of tables');
        out.push(FUNCTION_REFERENCE, 1, ...encodeLeb128(least), ...encodeLeb128(Math.min(most, MAX_TABLE_ELEMENTS)));
      } else {
        this.#memories += 1;
        this.#pages += least;
        if (this.#pages > this.#maxPages || this.#memories > MAX_MEMORIES) throw new LimitExceeded('it ran out of memory');
        out.push(1, ...encodeLeb128(least), ...encodeLeb128(Math.min(most, this.#maxPages)));
      }
    }
    return out;
  }
}

function encodeSection(id: number, content: number[]): Uint8Array {
  return Uint8Array.from([id, ...encodeLeb128(content.length), ...content]);
}

function encodeLeb128(value: number): number[] {
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return [...bytes, left];
    bytes.push((left % 128) + 128);
  }
}

class ModuleReader {
  readonly #bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  readByte(): number {
    const byte = this.#bytes[this.at];
    if (byte === undefined) throw new Error('one of its modules is damaged');
    this.at += 1;
    return byte;
  }

  readNumber(): number {
    let value = 0;
    for (let factor = 1; factor <= 128 ** 4; factor *= 128) {
      const byte = this.readByte();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
    throw new Error('one of its modules is damaged');
  }
}
