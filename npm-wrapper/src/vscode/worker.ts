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
import type { FolderGateOptions, ThreadRequest, PromptResult, ThreadMessage } from './messages.js';

const port = parentPort;
if (port === null) throw new Error('gate-worker is started by tollgate/vscode, as a thread');

const send = (message: ThreadMessage) => port.postMessage(message);

interface OpenedGate {
  gate: Tollgate;
  hooks: Hooks | undefined;
  /** The latest call of each operation that takes several answers; the next one waits for it. */
  latestCalls: Map<string, Promise<unknown>>;
}

const openedGates = new Map<string, OpenedGate>();
const prompts = new Map<number, (done: PromptResult) => void>();
let lastPrompt = 0;

function open({ folder, workspace, home, hooks, prompts: asks, triggers }: FolderGateOptions): void {
  const log = (level: 'debug' | 'info' | 'warn' | 'error', message: string, details?: unknown) =>
    send({ type: 'log', folder, level, message, ...(details === undefined ? {} : { details }) });
  try {
    const options: HooksOptions = {
      onRecord: (record) => send({ type: 'record', folder, record }),
      onApproval: (approval) => send({ type: 'approval', folder, approval }),
      onListen: (trigger, on) => {
        const why = whyUnobservable(trigger, triggers);
        if (why === undefined) send({ type: 'listen', folder, trigger, on });
        return why;
      },
    };
    if (asks) options.runPrompt = (text, { hook, signal }) => askEditor(folder, hook, text, signal);
    const gate = createTollgate({ workspace, home, log, hooks: options });
    void openedGates.get(folder)?.gate.close({ drain: false });
    const openedGate: OpenedGate = { gate, hooks: hooks ? gate.hooks : undefined, latestCalls: new Map() };
    openedGates.set(folder, openedGate);
    openedGate.hooks?.reload();
  } catch (error) {
    log('error', error instanceof Error ? error.message : String(error));
  }
}

/** Why a trigger cannot be observed. Triggers that do not belong to the editor are left to other sources. */
function whyUnobservable(trigger: string, triggers: string[]): string | undefined {
  const isTheEditors = /^on[A-Z]/.test(trigger) || trigger === 'gitCommit';
  if (!isTheEditors || triggers.includes(trigger)) return undefined;
  return `the editor cannot observe \`${trigger}\`; it observes: ${triggers.join(', ')}`;
}

/** Lets the editor answer a prompt. */
function askEditor(folder: string, hook: string, text: string, signal: AbortSignal): Promise<PromptOutput> {
  const prompt = ++lastPrompt;
  return new Promise((resolve, reject) => {
    const stop = () => {
      prompts.delete(prompt);
      send({ type: 'unprompt', prompt });
      reject(new Error('canceled'));
    };
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    prompts.set(prompt, (done) => {
      signal.removeEventListener('abort', stop);
      if ('failed' in done) reject(new Error(done.failed));
      else resolve(done);
    });
    send({ type: 'prompt', folder, prompt, hook, text });
  });
}

type GateRequest = Record<string, unknown>;

/** Requests whose answers may wait for hooks. Each is answered at once or as a whole. */
const WAITING_OPS = ['event', 'hooks', 'pre-tool', 'post-tool'];

/** Answers a request, even if the answer takes time or several steps. Other calls are processed in between. */
async function perform({ gate, hooks, latestCalls }: OpenedGate, line: GateRequest): Promise<GateRequest> {
  const op = String(line.op);
  // A folder in which hooks may not run lets every event proceed.
  if (op === 'event' && hooks === undefined) return { continue: true, system_message: null, data: line.data ?? {} };
  if (op === 'hooks' && line.do === 'run') requireTrusted(hooks);
  if (op === 'step') throw new TollgateError('invalid_input', 'the editor runs hooks itself, so it takes no steps for others');
  const ask = async (request: GateRequest): Promise<GateRequest> =>
    hooks === undefined ? gate.perform({ ...request, hooks: false }) : JSON.parse(await hooks.perform(JSON.stringify(request)));
  // A hook may take long, and others need not wait for it.
  if (WAITING_OPS.includes(op)) return ask(line);
  const before = latestCalls.get(op);
  const whole = async () => {
    await before?.catch(() => {});
    let answer = await ask(line);
    while (answer.done === false) {
      await setImmediate();
      answer = await ask({ ...line, more: true });
    }
    return answer;
  };
  const answer = whole();
  latestCalls.set(op, answer);
  return answer;
}

/** A folder in which hooks may not run lets every event proceed. */
const PROCEED = { proceed: true, systemMessage: null, data: {} };

const METHODS: Record<string, (openedGate: OpenedGate, ...args: never[]) => unknown> = {
  perform,
  preTool: ({ gate }, call: ToolCall) => gate.preTool(call),
  postTool: ({ gate }, call: ToolCall, outcome: Outcome) => gate.postTool(call, outcome),
  // Lookups start programs in the workspace.
  planLookups: ({ gate, hooks }, call: ToolCall) =>
    hooks === undefined ? { concepts: [], lookups: [], totalMs: 0, skipped: [] } : gate.planLookups(call),
  // Servers run in the workspace, so they are not started in one that is not trusted.
  mcp: ({ gate, hooks }, method: string, params: object) => {
    if (method !== 'declared') requireTrusted(hooks);
    return gate.mcp.request(method, params);
  },
  augment: ({ gate }, call: ToolCall, findings: Finding[]) => gate.augment(call, findings),
  augmentWith: ({ gate, hooks }, call: ToolCall) => (hooks === undefined ? gate.augment(call) : gate.augmentWith(call)),
  respond: ({ gate, hooks }, program: string, event: string | undefined, payload: object) =>
    requireTrusted(hooks) && gate.respond(program, event, payload),
  ownTool: ({ gate }, session: string, tool: string, args: object) => callOwnTool(gate, session, tool, args),
  selectIntent: ({ gate }, session: string, intent: string) => gate.selectIntent(session, intent),
  clearIntent: ({ gate }, session: string) => gate.clearIntent(session),
  inheritIntent: ({ gate }, session: string, parent: string) => gate.inheritIntent(session, parent),
  currentIntent: ({ gate }, session: string) => gate.currentIntent(session),
  context: ({ gate }, session: string, limit?: number) => gate.context(session, limit),
  event: ({ hooks }, event: string, session: string, data: object) => hooks?.event(event, session, data) ?? { ...PROCEED, data },
  notify: ({ hooks }, event: string, data: object, session?: string) => hooks?.notify(event, data, session),
  run: ({ hooks }, id: string, data?: object) => requireTrusted(hooks).run(id, data),
  reload: ({ hooks }) => hooks?.reload(),
  cancel: ({ hooks }, run: string) => hooks?.cancel(run),
};

function requireTrusted(hooks: Hooks | undefined): Hooks {
  if (hooks !== undefined) return hooks;
  throw new TollgateError('invalid_input', 'hooks do not run in an untrusted workspace; trust it first');
}

async function executeRequest(request: Exclude<ThreadRequest, { type: 'open' | 'prompted' }>): Promise<unknown> {
  const openedGate = openedGates.get(request.folder);
  if (request.type === 'close') {
    openedGates.delete(request.folder);
    return openedGate?.gate.close({ drain: false });
  }
  const method = Object.hasOwn(METHODS, request.method) ? METHODS[request.method] : undefined;
  if (openedGate === undefined || method === undefined) {
    throw new TollgateError('invalid_input', `the gate of \`${request.folder}\` is not open; the log says why`);
  }
  return method(openedGate, ...(request.args as never[]));
}

port.on('message', (request: ThreadRequest) => {
  if (request.type === 'open') return open(request.opening);
  if (request.type === 'prompted') {
    prompts.get(request.prompt)?.(request.done);
    prompts.delete(request.prompt);
    return;
  }
  executeRequest(request).then(
    (value) => send({ type: 'answer', id: request.id, value }),
    (error: unknown) => {
      const [code, message] = error instanceof TollgateError ? [error.code, error.message] : ['internal', String(error)];
      send({ type: 'refusal', id: request.id, code, message });
    },
  );
});
