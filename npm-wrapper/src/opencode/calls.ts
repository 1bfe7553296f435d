import { isDeepStrictEqual } from 'node:util';
import type { Hooks, Outcome, Tollgate, ToolCall } from '../index.js';
import type { Faults } from './faults.js';
import { fields, textIn, type ToolInput } from './host.js';
import type { Prompts } from './prompts.js';

/** How OpenCode begins to tell that a person, or a rule of theirs, did not let a call run. */
const REFUSALS = ['The user rejected permission', 'The user has specified a rule which prevents'];

const UNSAID = 'the tool did not say';

/** Where the calls of one OpenCode instance are made. */
export interface Place {
  workspace: string;
  directory: string;
}

/** Tells hooks of something that has happened already. */
export type Telling = () => Promise<void>;

/** Every tool call, from the model's wish to the ledger. */
export class Calls {
  readonly #gate: Tollgate;
  readonly #hooks: Hooks;
  readonly #prompts: Prompts;
  readonly #faults: Faults;
  readonly #place: Place;
  /** Calls under way. OpenCode tells of some endings twice, and each is settled once. */
  readonly #open = new Map<string, ToolCall>();

  constructor(gate: Tollgate, hooks: Hooks, prompts: Prompts, faults: Faults, place: Place) {
    this.#gate = gate;
    this.#hooks = hooks;
    this.#prompts = prompts;
    this.#faults = faults;
    this.#place = place;
  }

  /** `tool.execute.before`: throwing keeps the call from running, and the model reads exactly what is thrown. */
  async before({ tool, sessionID, callID }: ToolInput, output: { args: unknown }): Promise<void> {
    const args = fields(output.args);
    const call: ToolCall = { session: sessionID, call: callID, tool, args, host: 'opencode', cwd: this.#place.directory };
    // From here on OpenCode may give the call up at any moment.
    this.#open.set(key(sessionID, callID), call);
    const { governed, refused } = this.#ruling(call);
    const reason = refused ?? (await this.#stopped(call));
    if (reason !== undefined) {
      // What the gate may have remembered of the call is laid down again.
      if (this.#end(sessionID, callID) !== undefined) this.#settle(call, { status: 'refused', reason });
      throw new Error(reason);
    }
    if (governed) await this.#augment(call, args);
  }

  /** `tool.execute.after`: the call has ended well, or at least as OpenCode sees it. */
  async after({ sessionID, callID }: ToolInput, output: unknown): Promise<void> {
    const call = this.#end(sessionID, callID);
    if (call === undefined) return;
    const outcome = outcomeOf(output);
    const notice = this.#settle(call, outcome);
    if (notice !== undefined && !append(output, notice)) this.#prompts.tell(sessionID, notice);
    await this.#told(call, outcome);
  }

  /**
   * A call has failed, or was kept from running by somebody else. Of these OpenCode tells only on its bus.
   *
   * It is settled at once. What is returned tells the hooks.
   */
  failed(part: Record<string, unknown>): Telling | undefined {
    const session = String(part.sessionID);
    // A sub-agent that a person calls by a command is announced under the id of its part.
    const call = this.#end(session, String(part.callID)) ?? this.#end(session, String(part.id));
    if (call === undefined) return undefined;
    const said = textIn(fields(part.state).error) ?? UNSAID;
    const isRefusal = REFUSALS.some((refusal) => said.startsWith(refusal));
    return this.#over(call, isRefusal ? { status: 'refused', reason: said } : { status: 'failed', error: said });
  }

  /** The session rests, so none of its calls is under way any more, whatever became of them. */
  rest(session: string): Telling[] {
    const left = [...this.#open.values()].filter((call) => call.session === session);
    return left.map((call) => {
      this.#end(session, call.call);
      return this.#over(call, { status: 'failed', error: UNSAID });
    });
  }

  #over(call: ToolCall, outcome: Outcome): Telling {
    this.#prompts.tell(call.session, this.#settle(call, outcome));
    return () => this.#told(call, outcome);
  }

  /** The gate's ruling. There is nobody to ask: OpenCode knows only running and not running. */
  #ruling(call: ToolCall): { governed: boolean; refused: string | undefined } {
    try {
      const { verdict, code, reason } = this.#gate.preTool(call);
      if (verdict !== 'allow') return { governed: true, refused: reason };
      // What is amiss though the call may run, the model should know.
      if (reason !== '') this.#prompts.tell(call.session, reason);
      return { governed: code !== 'ungoverned', refused: undefined };
    } catch (error) {
      return { governed: false, refused: this.#faults.met(`ruling on \`${call.tool}\``, error) };
    }
  }

  /** Why the workspace's own hooks stop the call, where they do. */
  async #stopped(call: ToolCall): Promise<string | undefined> {
    try {
      const data = { tool_name: call.tool, call_id: call.call, args: call.args };
      const answer = await this.#hooks.event('before_tool', call.session, data);
      if (!answer.continue) return answer.systemMessage ?? `a hook of this workspace stopped \`${call.tool}\`; ask the user`;
      this.#prompts.tell(call.session, answer.systemMessage);
      return undefined;
    } catch (error) {
      return this.#faults.met(`telling hooks of \`${call.tool}\``, error);
    }
  }

  async #augment(call: ToolCall, args: Record<string, unknown>): Promise<void> {
    try {
      const augmented = await this.#gate.augmentWith(call, { folder: this.#place.workspace });
      this.#prompts.tell(call.session, augmented.additionalContext);
      // OpenCode runs the tool with the object that it has; a new one would be ignored.
      for (const [name, value] of Object.entries(augmented.args)) {
        if (!isDeepStrictEqual(args[name], value)) args[name] = value;
      }
    } catch (error) {
      this.#faults.note(`augmenting \`${call.tool}\``, error);
    }
  }

  #end(session: string, id: string): ToolCall | undefined {
    const call = this.#open.get(key(session, id));
    this.#open.delete(key(session, id));
    return call;
  }

  /** Returns what the model should be told. The call is over, so a fault stops nothing any more. */
  #settle(call: ToolCall, outcome: Outcome): string | undefined {
    try {
      return this.#gate.postTool(call, outcome).notice;
    } catch (error) {
      this.#faults.note(`entering \`${call.tool}\` in the ledger`, error);
      return undefined;
    }
  }

  async #told({ session, call, tool, args }: ToolCall, outcome: Outcome): Promise<void> {
    try {
      const { status, ...rest } = outcome;
      const data = { tool_name: tool, call_id: call, args, status, ...rest };
      const { systemMessage } = await this.#hooks.event('after_tool', session, data);
      this.#prompts.tell(session, systemMessage);
    } catch (error) {
      this.#faults.note(`telling hooks of \`${tool}\``, error);
    }
  }
}

function key(session: string, call: string): string {
  return JSON.stringify([session, call]);
}

/** A command that exits with an error has run: that is between it and the model. An MCP tool says itself that it failed. */
function outcomeOf(output: unknown): Outcome {
  // A sub-agent that fails ends without a result.
  if (output === undefined || output === null) return { status: 'failed', error: UNSAID };
  const { title, metadata, output: text, content, isError } = fields(output);
  if (content === undefined) return { status: 'done', result: plain({ title, metadata, output: text }) };
  // Pictures and sounds are left out.
  const texts = (Array.isArray(content) ? content : []).filter((part: unknown) => textIn(fields(part).text) !== undefined);
  if (isError !== true) return { status: 'done', result: plain({ content: texts }) };
  return { status: 'failed', error: texts.map((part: unknown) => textIn(fields(part).text)).join('\n') || UNSAID };
}

/** A result as JSON has it; none where it cannot be written so, because it is no reason to leave a call unentered. */
function plain(result: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(result));
  } catch {
    return undefined;
  }
}

/** Puts a text behind what the model is shown of a result, where there is such a place. */
function append(output: unknown, text: string): boolean {
  const shown = fields(output);
  if (typeof shown.output === 'string') shown.output += `\n\n${text}`;
  else if (Array.isArray(shown.content)) shown.content.push({ type: 'text', text });
  else return false;
  return true;
}
