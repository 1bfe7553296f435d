import type { Hooks, Tollgate } from '../index.js';
import type { Calls } from './calls.js';
import type { Faults } from './faults.js';
import { fields, type Properties, textIn } from './host.js';
import type { Prompts } from './prompts.js';

/** OpenCode's own errands in a session's name; its model is another one. */
const ERRANDS = ['title', 'summary', 'compaction'];

/** So long OpenCode is kept from ending. */
const FAREWELL_MS = 3_000;

/** What is known about one session. */
interface Session {
  /** Done when the hooks have heard of its beginning. */
  started: Promise<void>;
  /** Done when the hooks have heard of everything so far. */
  told: Promise<void>;
  /** Whether the agent is at work. */
  busy: boolean;
  response: string;
  tools: string[];
}

/** The sessions of one OpenCode instance: who works for whom, what the model is told, and what hooks hear of it. */
export class Sessions {
  readonly #calls: Calls;
  readonly #gate: Tollgate;
  readonly #hooks: Hooks;
  readonly #prompts: Prompts;
  readonly #faults: Faults;
  readonly #known = new Map<string, Session>();
  /** What hooks are still to hear of sessions that are over. */
  readonly #farewells = new Set<Promise<void>>();

  constructor(calls: Calls, gate: Tollgate, hooks: Hooks, prompts: Prompts, faults: Faults) {
    this.#calls = calls;
    this.#gate = gate;
    this.#hooks = hooks;
    this.#prompts = prompts;
    this.#faults = faults;
  }

  /** `event`: OpenCode does not wait for the end of it, so what has to be done at once is done before anything is awaited. */
  heard(type: string, properties: Properties): void {
    if (type === 'message.part.updated') return this.#changed(fields(properties.part));
    const session = textIn(properties.sessionID) ?? textIn(fields(properties.info).id);
    if (session === undefined) return;
    if (type === 'session.created') this.#created(session, textIn(fields(properties.info).parentID));
    if (type === 'session.idle') this.#rest(session);
    if (type === 'session.deleted') this.#end(session);
  }

  /** `chat.message`: the agent sets to work. Throwing keeps it from that. */
  async asked(id: string, parts: unknown): Promise<void> {
    const session = this.#session(id, 'resume');
    await session.started;
    Object.assign(session, { busy: true, response: '', tools: [] });
    // What OpenCode itself put among the user's words is left out.
    const texts = (Array.isArray(parts) ? parts : []).map(fields).filter((part) => part.synthetic !== true);
    const prompt = texts.flatMap((part) => textIn(part.text) ?? []).join('\n');
    const answer = await this.#tell('before_agent', id, { prompt });
    if (answer?.continue === false) throw new Error(answer.systemMessage ?? 'a hook of this workspace stopped the agent');
  }

  /** `experimental.chat.system.transform`: what the model is told before it answers. */
  prompted(id: string | undefined, system: string[]): void {
    if (id === undefined) return;
    try {
      const context = this.#gate.context(id);
      if (context !== '') system.push(context);
    } catch (error) {
      this.#faults.note('telling the model of its intent', error);
    }
    system.push(...this.#prompts.show(id));
  }

  /** `chat.params`: the prompt goes to a model. */
  sent(id: string, agent: string | undefined): void {
    if (agent === undefined || !ERRANDS.includes(agent)) this.#prompts.read(id);
  }

  /** `experimental.text.complete`: the agent has said something. */
  said(id: string, text: string): void {
    const session = this.#known.get(id);
    if (session !== undefined) session.response = text;
  }

  /** A tool is called. */
  called(id: string, tool: string): void {
    this.#known.get(id)?.tools.push(tool);
  }

  /** `dispose`: OpenCode waits for this one, so hooks that take their time are ended. */
  async dispose(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, FAREWELL_MS)));
    await Promise.race([this.#farewell(), late]);
    clearTimeout(timer);
    void this.#hooks.shutdown({ drain: false });
  }

  async #farewell(): Promise<void> {
    for (const id of [...this.#known.keys()]) this.#end(id);
    await Promise.all(this.#farewells);
    await this.#hooks.shutdown({ drain: true });
  }

  #session(id: string, source: string): Session {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const started = this.#tell('session_start', id, { session_id: id, source }).then(() => {});
    const session: Session = { started, told: started, busy: false, response: '', tools: [] };
    this.#known.set(id, session);
    return session;
  }

  #created(id: string, parent: string | undefined): void {
    if (parent !== undefined) {
      try {
        this.#gate.inheritIntent(id, parent);
      } catch (error) {
        this.#faults.note("giving a sub-agent its parent's intent", error);
      }
    }
    this.#session(id, parent === undefined ? 'startup' : 'subagent');
  }

  #changed(part: Record<string, unknown>): void {
    if (part.type !== 'tool' || fields(part.state).status !== 'error') return;
    const telling = this.#calls.failed(part);
    if (telling !== undefined) this.#later(String(part.sessionID), telling);
  }

  #rest(id: string): void {
    for (const telling of this.#calls.rest(id)) this.#later(id, telling);
    const session = this.#known.get(id);
    if (session?.busy !== true) return;
    session.busy = false;
    const { response, tools } = session;
    this.#later(id, () => this.#tell('after_agent', id, { response, tool_calls: tools }));
  }

  #end(id: string): void {
    this.#rest(id);
    const session = this.#known.get(id);
    if (session === undefined) return;
    this.#later(id, () => this.#tell('session_end', id, { session_id: id }));
    this.#known.delete(id);
    const over = session.told.then(() => {
      this.#prompts.forget(id);
      this.#farewells.delete(over);
    });
    this.#farewells.add(over);
  }

  /** Nobody waits for it, but hooks hear of what happens in a session one after the other. */
  #later(id: string, telling: () => Promise<unknown>): void {
    const session = this.#session(id, 'resume');
    session.told = session.told.then(async () => void (await telling()));
  }

  /** Tells the hooks of an event; none where that failed, which stops nobody. */
  async #tell(event: string, id: string, data: object) {
    try {
      const answer = await this.#hooks.event(event, id, data);
      if (answer.continue) this.#prompts.tell(id, answer.systemMessage);
      return answer;
    } catch (error) {
      this.#faults.note(`telling hooks of \`${event}\``, error);
      return undefined;
    }
  }
}
