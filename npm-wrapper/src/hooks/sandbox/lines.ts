// Reads and writes lines on standard input and output.
import * as fs from 'node:fs';

const chunk = Buffer.alloc(64 << 10);
let buffered: Buffer = Buffer.alloc(0);

/** Waits for the next line of standard input; `undefined` at the end of the input. */
export function readLine(): string | undefined {
  for (let from = 0; ; ) {
    const end = buffered.indexOf(10, from);
    if (end >= 0) {
      const line = buffered.toString('utf8', 0, end);
      buffered = buffered.subarray(end + 1);
      return line;
    }
    from = buffered.length;
    const length = readChunk();
    if (length === 0) return undefined;
    buffered = Buffer.concat([buffered, chunk.subarray(0, length)]);
  }
}

function readChunk(): number {
  try {
    return fs.readSync(0, chunk);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EOF') return 0;
    throw error;
  }
}

/** Writes a line to standard output. */
export function writeLine(value: object): void {
  let bytes = Buffer.from(`${JSON.stringify(value)}\n`);
  while (bytes.length > 0) bytes = bytes.subarray(fs.writeSync(1, bytes));
}
