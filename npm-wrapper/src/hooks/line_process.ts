import { type ChildProcess, spawn } from 'node:child_process';

/** More is not taken of one line: no answer is as long. */
const MAX_LINE_BYTES = 64 << 20;

/** Why there is no line: the time was up, or the process is gone. */
export type NoLine = 'late' | 'gone';

/** A process that is asked and answers in lines, one at a time. It does not keep the parent process alive. */
export class LineProcess {
  readonly #child: ChildProcess;
  #printed = '';
  #isGone = false;
  #waiting: ((line: { line: string } | NoLine) => void) | undefined;

  constructor(program: string, args: readonly string[], env: NodeJS.ProcessEnv) {
    this.#child = spawn(program, [...args], { stdio: ['pipe', 'pipe', 'ignore'], env, windowsHide: true });
    const { stdin, stdout } = this.#child;
    stdout?.setEncoding('utf8');
    stdout?.on('data', (text: string) => this.#take(text));
    for (const event of ['error', 'exit'] as const) this.#child.on(event, () => this.#gone());
    stdin?.on('error', () => this.#gone());
    this.#child.unref();
    for (const stream of [stdin, stdout]) (stream as unknown as { unref?: () => void } | null)?.unref?.();
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Sends a line and waits for the next one. */
  exchange(line: string, limitMs: number): Promise<{ line: string } | NoLine> {
    return new Promise((resolve) => {
      if (this.#isGone) return resolve('gone');
      // Where this process was busy itself, the answer may be here already: it is looked for before anybody is called late.
      const late = () => setImmediate(() => setImmediate(() => waiting('late')));
      const timer = setTimeout(late, Math.max(0, limitMs));
      const waiting = (answered: { line: string } | NoLine) => {
        if (this.#waiting !== waiting) return;
        clearTimeout(timer);
        this.#waiting = undefined;
        resolve(answered);
      };
      this.#waiting = waiting;
      this.#child.stdin?.write(`${line}\n`);
    });
  }

  /** Ends the process at once. */
  end(): void {
    this.#child.kill('SIGKILL');
    this.#gone();
  }

  #take(text: string): void {
    if (this.#isGone) return;
    this.#printed += text;
    if (this.#printed.length > MAX_LINE_BYTES) return this.end();
    const end = this.#printed.indexOf('\n');
    if (end < 0) return;
    const line = this.#printed.slice(0, end);
    this.#printed = this.#printed.slice(end + 1);
    this.#waiting?.({ line });
  }

  #gone(): void {
    this.#isGone = true;
    this.#printed = '';
    this.#waiting?.('gone');
  }
}
