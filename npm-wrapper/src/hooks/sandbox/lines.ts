import * as fs from 'node:fs';

const chunk = Buffer.alloc(64 << 10);
let printed: Buffer = Buffer.alloc(0);

/** The next line of standard input; waits for it. `undefined` at its end. */
export function readLine(): string | undefined {
  for (let from = 0; ; ) {
    const end = printed.indexOf(10, from);
    if (end >= 0) {
      const line = printed.toString('utf8', 0, end);
      printed = printed.subarray(end + 1);
      return line;
    }
    from = printed.length;
    const length = read();
    if (length === 0) return undefined;
    printed = Buffer.concat([printed, chunk.subarray(0, length)]);
  }
}

function read(): number {
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
