/** What each session's model should be told, until it has been. */
export class Prompts {
  readonly #waiting = new Map<string, Waiting[]>();

  /** Keeps a text for the session's next system prompt. */
  tell(session: string, text: string | null | undefined): void {
    if (text == null || text === '') return;
    const waiting = this.#waiting.get(session) ?? [];
    waiting.push({ text, shown: false });
    this.#waiting.set(session, waiting);
  }

  /** What waits for the session. It keeps waiting until somebody has `read` it. */
  show(session: string): string[] {
    const waiting = this.#waiting.get(session) ?? [];
    for (const one of waiting) one.shown = true;
    return waiting.map(({ text }) => text);
  }

  /** The session's model was sent what it was shown. */
  read(session: string): void {
    const left = (this.#waiting.get(session) ?? []).filter(({ shown }) => !shown);
    if (left.length > 0) this.#waiting.set(session, left);
    else this.#waiting.delete(session);
  }

  /** The session is over. */
  forget(session: string): void {
    this.#waiting.delete(session);
  }
}

interface Waiting {
  text: string;
  shown: boolean;
}
