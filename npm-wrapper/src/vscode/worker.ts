/**
 * The thread in which the gates run.
 *
 * The gate is synchronous. Compiling it takes tens of milliseconds, and reading a large ledger or workspace may take as long; the
 * extension host, which all extensions share, must not wait for that.
 */

import { setImmediate } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import type { Finding, Outcome, ToolCall } from '../api/types.js';
import { TollgateError } from '../api/error.js';
import type { HooksOptions, PromptOutput } from '../api/hook_types.js';
import type { Hooks } from '../hooks/hooks.js';
import { callOwnTool, createTollgate, type Tollgate } from '../api/index.js';
import type { Opening, Order, PromptResult, Report } from './messages.js';

const port = parentPort;
if (port === null) throw new Error('gate-worker is started by tollgate/vscode, as a thread');

const report = (said: Report) => port.postMessage(said);

interface Place {
  gate: Tollgate;
  hooks: Hooks | undefined;
  /** The latest call of each operation that takes several answers; the next one waits for it. */
  underWay: Map<string, Promise<unknown>>;
}

const places = new Map<string, Place>();
const prompts = new Map<number, (done: PromptResult) => void>();
let lastPrompt = 0;

function open({ folder, workspace, home, hooks, prompts: asks, triggers }: Opening): void {
  const log = (level: 'debug' | 'info' | 'warn' | 'error', message: string, details?: unknown) =>
    report({ type: 'log', folder, level, message, ...(details === undefined ? {} : { details }) });
  try {
    const options: HooksOptions = {
      onRecord: (record) => report({ type: 'record', folder, record }),
      onApproval: (approval) => report({ type: 'approval', folder, approval }),
      onListen: (trigger, on) => {
        const why = unheard(trigger, triggers);
        if (why === undefined) report({ type: 'listen', folder, trigger, on });
        return why;
      },
    };
    if (asks) options.runPrompt = (text, { hook, signal }) => ask(folder, hook, text, signal);
    const gate = createTollgate({ workspace, home, log, hooks: options });
    const place: Place = { gate, hooks: hooks ? gate.hooks : undefined, underWay: new Map() };
    places.set(folder, place);
    place.hooks?.reload();
  } catch (error) {
    log('error', error instanceof Error ? error.message : String(error));
  }
}

/** Why a trigger cannot be observed. Triggers that do not belong to the editor are left to other sources. */
function unheard(trigger: string, triggers: string[]): string | undefined {
  const isTheEditors = /^on[A-Z]/.test(trigger) || trigger === 'gitCommit';
  if (!isTheEditors || triggers.includes(trigger)) return undefined;
  return `the editor cannot observe \`${trigger}\`; it observes: ${triggers.join(', ')}`;
}

/** Lets the editor answer a prompt. */
function ask(folder: string, hook: string, text: string, signal: AbortSignal): Promise<PromptOutput> {
  const prompt = ++lastPrompt;
  return new Promise((resolve, reject) => {
    const stop = () => {
      prompts.delete(prompt);
      report({ type: 'unprompt', prompt });
      reject(new Error('canceled'));
    };
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    prompts.set(prompt, (done) => {
      signal.removeEventListener('abort', stop);
      if ('failed' in done) reject(new Error(done.failed));
      else resolve(done);
    });
    report({ type: 'prompt', folder, prompt, hook, text });
  });
}

type Line = Record<string, unknown>;

/** Answers a request, even if the answer takes several steps. Other calls are processed in between. */
async function perform({ gate, underWay }: Place, line: Line): Promise<Line> {
  const op = String(line.op);
  const before = underWay.get(op);
  const whole = async () => {
    await before?.catch(() => {});
    let answer = gate.perform(line);
    while (answer.done === false) {
      await setImmediate();
      answer = gate.perform({ ...line, more: true });
    }
    return answer;
  };
  const answer = whole();
  underWay.set(op, answer);
  return answer;
}

/** A folder in which hooks may not run lets every event proceed. */
const quiet = { proceed: true, systemMessage: null, data: {} };

const METHODS: Record<string, (place: Place, ...args: never[]) => unknown> = {
  perform,
  preTool: ({ gate }, call: ToolCall) => gate.preTool(call),
  postTool: ({ gate }, call: ToolCall, outcome: Outcome) => gate.postTool(call, outcome),
  planLookups: ({ gate }, call: ToolCall) => gate.planLookups(call),
  // Servers run in the workspace, so they are not started in one that is not trusted.
  mcp: ({ gate, hooks }, method: string, params: object) => {
    if (method !== 'declared') trusted(hooks);
    return gate.mcp.request(method, params);
  },
  augment: ({ gate }, call: ToolCall, findings: Finding[]) => gate.augment(call, findings),
  augmentWith: ({ gate }, call: ToolCall) => gate.augmentWith(call),
  respond: ({ gate, hooks }, program: string, event: string | undefined, payload: object) =>
    trusted(hooks) && gate.respond(program, event, payload),
  ownTool: ({ gate }, session: string, tool: string, args: object) => callOwnTool(gate, session, tool, args),
  selectIntent: ({ gate }, session: string, intent: string) => gate.selectIntent(session, intent),
  clearIntent: ({ gate }, session: string) => gate.clearIntent(session),
  inheritIntent: ({ gate }, session: string, parent: string) => gate.inheritIntent(session, parent),
  currentIntent: ({ gate }, session: string) => gate.currentIntent(session),
  context: ({ gate }, session: string, limit?: number) => gate.context(session, limit),
  event: ({ hooks }, event: string, session: string, data: object) => hooks?.event(event, session, data) ?? { ...quiet, data },
  notify: ({ hooks }, event: string, data: object, session?: string) => hooks?.notify(event, data, session),
  run: ({ hooks }, id: string, data?: object) => trusted(hooks).run(id, data),
  reload: ({ hooks }) => hooks?.reload(),
  cancel: ({ hooks }, run: string) => hooks?.cancel(run),
};

function trusted(hooks: Hooks | undefined): Hooks {
  if (hooks !== undefined) return hooks;
  throw new TollgateError('invalid_input', 'hooks do not run in an untrusted workspace; trust it first');
}

async function carryOut(order: Exclude<Order, { type: 'open' | 'prompted' }>): Promise<unknown> {
  const place = places.get(order.folder);
  if (order.type === 'close') {
    places.delete(order.folder);
    return place?.gate.close({ drain: false });
  }
  const method = Object.hasOwn(METHODS, order.method) ? METHODS[order.method] : undefined;
  if (place === undefined || method === undefined) {
    throw new TollgateError('invalid_input', `the gate of \`${order.folder}\` is not open; the log says why`);
  }
  return method(place, ...(order.args as never[]));
}

port.on('message', (order: Order) => {
  if (order.type === 'open') return open(order.opening);
  if (order.type === 'prompted') {
    prompts.get(order.prompt)?.(order.done);
    prompts.delete(order.prompt);
    return;
  }
  carryOut(order).then(
    (value) => report({ type: 'answer', id: order.id, value }),
    (error: unknown) => {
      const [code, message] = error instanceof TollgateError ? [error.code, error.message] : ['internal', String(error)];
      report({ type: 'refusal', id: order.id, code, message });
    },
  );
});
