// Passes OpenCode's callbacks and events to the gate of the folder.
import { isDeepStrictEqual } from 'node:util';
import { createTollgate, digest, type HookApproval, locate, type Tollgate, TollgateError, version } from '../api/index.js';
import { isGoverned, allowsOnFault } from '../files/on_fault.js';
import type { PluginInput, PluginOptions } from './index.js';
import { hostLog, hostNotice, type Log } from './log.js';
import { pluginTools } from './tools.js';

/** The callbacks that are passed to the gate, in addition to `event` and `dispose`. */
const HOOKS = [
  'chat.message',
  'chat.params',
  'experimental.chat.system.transform',
  'experimental.text.complete',
  'tool.execute.before',
  'tool.execute.after',
];

/** The bus events that are passed to the gate, in addition to failed calls; the bus also reports every piece of an answer. */
const EVENTS = ['session.created', 'session.idle', 'session.deleted'];

/** How long to delay OpenCode's exit. */
const MAX_DISPOSE_MS = 3_000;

type Fields = Record<string, unknown>;

interface HostEvent {
  type: string;
  properties?: { part?: { state?: { status?: unknown } } };
}

/** The callbacks of the plugin, by OpenCode's names. */
export function start({ client, directory, worktree }: PluginInput, options: PluginOptions | undefined): object {
  const log = hostLog(client, options?.debug === true);
  const tell = hostNotice(client, log);
  const { home, state } = options ?? {};
  // OpenCode uses `/` if there is no repository.
  const around = worktree === undefined || worktree === '/' ? directory : worktree;
  try {
    const workspace = locate('opencode', undefined, { directory }, { cwd: directory, home, state }) ?? around;
    const hooks = { onApproval: (approval: HookApproval) => tell(`Tollgate: ${approvalMessage(approval)}`) };
    const gate = createTollgate({ workspace, home, state, log, hooks });
    const governed = gate.perform({ op: 'list-intents' }).governed === true;
    const status = governed ? 'governed' : 'not governed: it has no .orchestration/';
    log('info', `Tollgate ${version} (${digest}) is live; \`${workspace}\` is ${status}`);
    const callbacks = callbacksOf(gate, directory, tell, (error, hook) => handleFailure(error, hook, workspace, home, log));
    // Without a governed workspace there is nothing to select, so the tools are left out.
    return { ...callbacks, ...(governed ? { tool: pluginTools(gate) } : {}) };
  } catch (error) {
    // OpenCode drops a plugin that throws and continues without it, so a plugin without a gate stays and blocks calls.
    const refuse = async () => handleFailure(error, 'tool.execute.before', around, home, log);
    return { 'tool.execute.before': refuse };
  }
}

/** Every callback passes its payload to the gate and applies the answer. */
function callbacksOf(
  gate: Tollgate,
  directory: string,
  tell: (message: string) => void,
  failed: (error: unknown, hook: string) => void,
): object {
  const pass = async (hook: string, input: unknown, output?: unknown) => {
    let answer: { throw?: string; output?: Fields; notice?: string };
    try {
      const { text } = await gate.respond('opencode', undefined, payloadOf({ hook, input, output, directory, lasting: true }));
      answer = JSON.parse(text) as typeof answer;
    } catch (error) {
      return failed(error, hook);
    }
    if (answer.notice !== undefined) tell(answer.notice);
    if (answer.throw !== undefined) throw new Error(answer.throw);
    setInPlace(output, answer.output);
  };
  const callbacks = HOOKS.map((hook) => [hook, (input: unknown, output: unknown) => pass(hook, input, output)]);
  return {
    ...Object.fromEntries(callbacks),
    // Provider options, which include keys, are not passed on.
    'chat.params': ({ sessionID, agent, model }: Fields, output: unknown) =>
      pass('chat.params', { sessionID, agent, model }, output),
    event: async ({ event }: { event: HostEvent }) => {
      const isHeard =
        event.type === 'message.part.updated' ? event.properties?.part?.state?.status === 'error' : EVENTS.includes(event.type);
      if (isHeard) await pass('event', { event });
    },
    dispose: async () => {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, MAX_DISPOSE_MS)));
      await Promise.race([pass('dispose', {}).then(() => gate.close()), late]);
      clearTimeout(timer);
      void gate.close({ drain: false });
    },
  };
}

/** A payload as JSON. The result of a finished tool may not be serializable, but its call must still be recorded. */
function payloadOf(payload: Fields): string {
  try {
    return JSON.stringify(payload);
  } catch (error) {
    if (payload.hook === 'tool.execute.before')
      throw new TollgateError('invalid_input', 'the arguments cannot be written as JSON', error);
    return JSON.stringify({ ...payload, output: {} });
  }
}

/** OpenCode continues with the objects that it passed in; new ones would be ignored. */
function setInPlace(target: unknown, fields: unknown): void {
  const held = target as Fields;
  for (const [name, value] of Object.entries(fields ?? {})) {
    const isNested = typeof value === 'object' && value !== null && typeof held[name] === 'object' && held[name] !== null;
    if (isNested) setInPlace(held[name], value);
    else if (!isDeepStrictEqual(held[name], value)) held[name] = value;
  }
}

/** Handles a gate that does not answer: in a governed workspace no call runs then, unless the user's settings allow it. */
function handleFailure(error: unknown, hook: string, workspace: string, home: string | undefined, log: Log): void {
  // Causes are left out, because they may contain text of a call.
  const why = error instanceof TollgateError ? `${error.message} (${error.code})` : 'the gate failed';
  log('error', `\`${hook}\`: ${why}`);
  if (hook !== 'tool.execute.before' || !isGoverned(workspace) || allowsOnFault(workspace, home)) return;
  throw new Error(
    `Tollgate: ${why}, so the call could not be checked; no one can be asked here, so it does not run; let a person run it (gate_fault)`,
  );
}

function approvalMessage({ hook, why, notice }: HookApproval): string {
  const stands = notice === undefined ? `is ${why} and does not run` : `does not run: ${notice}`;
  return `the hook \`${hook}\` ${stands}; review and approve it with \`tollgate hooks approve ${hook}\``;
}
