// Output for people: columns, colours, notes.

/** A wider cell overflows its column instead of widening it for every row. */
const MAX_CELL_WIDTH = 48;

const STYLES = { plain: undefined, bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;

export type Style = keyof typeof STYLES;

/** One cell of a row. */
export type Cell = [text: string, style?: Style];

/** Where a command prints to. */
export interface Output {
  /** Prints one line of the result. */
  line(text: string): void;
  paint(style: Style, text: string): string;
  /** Formats rows as aligned columns. */
  rows(rows: Cell[][]): string[];
}

export function outputTo(out: NodeJS.WriteStream, json: boolean): Output {
  const { NO_COLOR, TERM } = process.env;
  const colour = !json && out.isTTY === true && (NO_COLOR ?? '') === '' && TERM !== 'dumb';
  const paint = (style: Style, text: string) => {
    const code = STYLES[style];
    return code !== undefined && colour && text !== '' ? `\u001b[${code}m${text}\u001b[0m` : text;
  };
  const rows = (written: Cell[][]) => {
    const cells = written.map((row) => row.map(([text, style = 'plain']) => ({ text: escape(text), style })));
    const columns = Math.max(0, ...cells.map((row) => row.length));
    const width = (column: number) =>
      Math.max(0, ...cells.map((row) => widthOf(row[column]?.text ?? '')).filter((width) => width <= MAX_CELL_WIDTH));
    const widths = Array.from({ length: columns }, (_, column) => width(column));
    return cells.map((row) => {
      const last = row.findLastIndex(({ text }) => text !== '');
      const shown = row.slice(0, last + 1).map(({ text, style }, at) => {
        const room = widths[at] ?? 0;
        // A column that is empty in every row takes no space, and the last cell is not padded.
        const gap = at < last && room > 0 ? ' '.repeat(Math.max(0, room - widthOf(text)) + 2) : '';
        return paint(style, text) + gap;
      });
      return shown.join('');
    });
  };
  return { line: (text) => void out.write(`${text}\n`), paint, rows };
}

function widthOf(text: string): number {
  return [...text].length;
}

/** Escapes untrusted text for one line: nothing in it can move the cursor or change the writing direction. */
export function escape(text: string): string {
  const named: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };
  const escape = (character: string) => named[character] ?? `\\u{${character.codePointAt(0)?.toString(16)}}`;
  return text.replace(/[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, escape);
}

/** Like `escape`, for a message of several lines. */
export function escapeLines(text: string): string {
  return text
    .replace(/\r?\n$/, '')
    .split(/\r?\n/)
    .map(escape)
    .join('\n');
}

/** `1 file`, `2 files`. */
export function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}

/** Prints a message on standard error. */
export function say(message: string): void {
  process.stderr.write(`tollgate: ${escapeLines(message)}\n`);
}
