// A child process that answers each line with one line.
import { type ChildProcess, spawn } from 'node:child_process';

/** The length limit of a line. No answer is this long. */
const MAX_LINE_BYTES = 64 << 20;

/** Why no line was received: the time was up, or the process has ended. */
export type NoLineReason = 'late' | 'gone';

/** A child process that answers each line with one line, one at a time. It does not keep this process alive. */
export class LineProcess {
  readonly #child: ChildProcess;
  #buffered = '';
  #isGone = false;
  #resolveExchange: ((line: { line: string } | NoLineReason) => void) | undefined;

  constructor(program: string, args: readonly string[], env: NodeJS.ProcessEnv) {
    this.#child = spawn(program, [...args], { stdio: ['pipe', 'pipe', 'ignore'], env, windowsHide: true });
    const { stdin, stdout } = this.#child;
    stdout?.setEncoding('utf8');
    stdout?.on('data', (text: string) => this.#receive(text));
    for (const event of ['error', 'exit'] as const) this.#child.on(event, () => this.#markGone());
    stdin?.on('error', () => this.#markGone());
    this.#child.unref();
    for (const stream of [stdin, stdout]) (stream as unknown as { unref?: () => void } | null)?.unref?.();
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Sends a line and waits for the next one. */
  exchange(line: string, limitMs: number): Promise<{ line: string } | NoLineReason> {
    return new Promise((resolve) => {
      if (this.#isGone) return resolve('gone');
      // If this process was busy, the answer may have arrived already, so pending input is read before the answer counts as late.
      const late = () => setImmediate(() => setImmediate(() => waiting('late')));
      const timer = setTimeout(late, Math.max(0, limitMs));
      const waiting = (answered: { line: string } | NoLineReason) => {
        if (this.#resolveExchange !== waiting) return;
        clearTimeout(timer);
        this.#resolveExchange = undefined;
        resolve(answered);
      };
      this.#resolveExchange = waiting;
      this.#child.stdin?.write(`${line}\n`);
    });
  }

  /** Ends the process at once. */
  end(): void {
    this.#child.kill('SIGKILL');
    this.#markGone();
  }

  #receive(text: string): void {
    if (this.#isGone) return;
    this.#buffered += text;
    if (this.#buffered.length > MAX_LINE_BYTES) return this.end();
    const end = this.#buffered.indexOf('\n');
    if (end < 0) return;
    const line = this.#buffered.slice(0, end);
    this.#buffered = this.#buffered.slice(end + 1);
    this.#resolveExchange?.({ line });
  }

  #markGone(): void {
    this.#isGone = true;
    this.#buffered = '';
    this.#resolveExchange?.('gone');
  }
}
