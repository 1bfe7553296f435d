import { isDeepStrictEqual } from 'node:util';
import type { Hooks, Outcome, Ruling, Tollgate, ToolCall } from '../index.js';
import type { Faults } from './faults.js';
import { fields, textIn, type ToolInput } from './host.js';
import type { Prompts } from './prompts.js';

/** How OpenCode begins to tell that a person, or a rule of theirs, did not let a call run. */
const REFUSALS = ['The user rejected permission', 'The user has specified a rule which prevents'];

/** Where the calls of one OpenCode instance are made. */
export interface Place {
  workspace: string;
  directory: string;
}

/** Every tool call, from the model's wish to the ledger. */
export class Calls {
  readonly #gate: Tollgate;
  readonly #hooks: Hooks;
  readonly #prompts: Prompts;
  readonly #faults: Faults;
  readonly #place: Place;
  /** Calls that were let through and have not ended. OpenCode tells of some endings twice, and each is settled once. */
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
    const ruling = this.#ruling(call);
    // There is nobody to ask: OpenCode knows only running and not running.
    if (ruling !== undefined && ruling.verdict !== 'allow') this.#refuse(call, ruling.reason);
    await this.#hear(call);
    if (ruling !== undefined && ruling.code !== 'ungoverned') await this.#augment(call, args);
    this.#open.set(key(sessionID, callID), call);
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

  /** A message's part changed. Of a call that failed OpenCode tells in no other way. */
  async changed(part: Record<string, unknown>): Promise<void> {
    const { status, error } = fields(part.state);
    const session = textIn(part.sessionID);
    if (part.type !== 'tool' || status !== 'error' || session === undefined) return;
    // A sub-agent that a person calls by a command is announced under the id of its part.
    const call = [part.callID, part.id].map((id) => this.#end(session, String(id))).find((found) => found !== undefined);
    if (call === undefined) return;
    const said = textIn(error) ?? 'the tool did not say';
    const isRefusal = REFUSALS.some((refusal) => said.startsWith(refusal));
    const outcome: Outcome = isRefusal ? { status: 'refused', reason: said } : { status: 'failed', error: said };
    this.#prompts.tell(session, this.#settle(call, outcome));
    await this.#told(call, outcome);
  }

  #ruling(call: ToolCall): Ruling | undefined {
    try {
      return this.#gate.preTool(call);
    } catch (error) {
      this.#faults.stop(`ruling on \`${call.tool}\``, error);
      return undefined;
    }
  }

  /** What may have been remembered of the call is laid down again before it is kept from running. */
  #refuse(call: ToolCall, reason: string): never {
    this.#settle(call, { status: 'refused', reason });
    throw new Error(reason);
  }

  /** The workspace's own hooks may stop the call too. */
  async #hear(call: ToolCall): Promise<void> {
    let stopped: string | undefined;
    try {
      const answer = await this.#hooks.event('before_tool', call.session, { tool_name: call.tool, call_id: call.call, args: call.args });
      if (answer.continue) this.#prompts.tell(call.session, answer.systemMessage);
      else stopped = answer.systemMessage ?? `a hook of this workspace stopped \`${call.tool}\`; do it another way, or ask the user`;
    } catch (error) {
      this.#faults.stop(`telling hooks of \`${call.tool}\``, error);
    }
    if (stopped !== undefined) this.#refuse(call, stopped);
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
      const { systemMessage } = await this.#hooks.event('after_tool', session, { tool_name: tool, call_id: call, args, status, ...rest });
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
  if (output === undefined || output === null) return { status: 'failed', error: 'the tool did not say' };
  const { title, metadata, output: text, content, isError } = fields(output);
  if (isError === true) return { status: 'failed', error: textsOf(content) || 'the tool did not say' };
  return { status: 'done', result: plain(content === undefined ? { title, metadata, output: text } : { content }) };
}

function textsOf(content: unknown): string {
  const texts = (Array.isArray(content) ? content : []).flatMap((part: unknown) => textIn(fields(part).text) ?? []);
  return texts.join('\n');
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
