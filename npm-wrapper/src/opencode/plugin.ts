import { isDeepStrictEqual } from 'node:util';
import { createTollgate, digest, type HookApproval, locate, type Tollgate, TollgateError, version } from '../api/index.js';
import { isGoverned, letsFaultsPass } from '../files/on_fault.js';
import type { PluginInput, PluginOptions } from './index.js';
import { hostLog, hostNotice, type Log } from './log.js';
import { ownTools } from './tools.js';

/** The callbacks that the gate hears of, and `event` and `dispose`. */
const HOOKS = [
  'chat.message',
  'chat.params',
  'experimental.chat.system.transform',
  'experimental.text.complete',
  'tool.execute.before',
  'tool.execute.after',
];

/** What the gate hears of OpenCode's bus, beside calls that failed; every piece of an answer is told of there as it grows. */
const EVENTS = ['session.created', 'session.idle', 'session.deleted'];

/** How long OpenCode is kept from ending. */
const MAX_DISPOSE_MS = 3_000;

type Fields = Record<string, unknown>;

interface HostEvent {
  type: string;
  properties?: { part?: { state?: { status?: unknown } } };
}

/** What OpenCode calls while it works, by its own names. */
export function start({ client, directory, worktree }: PluginInput, options: PluginOptions | undefined): object {
  const log = hostLog(client, options?.debug === true);
  const tell = hostNotice(client, log);
  const { home, state } = options ?? {};
  // OpenCode's own word for no repository.
  const around = worktree === undefined || worktree === '/' ? directory : worktree;
  try {
    const workspace = locate('opencode', undefined, { directory }, { cwd: directory, home, state }) ?? around;
    const hooks = { onApproval: (approval: HookApproval) => tell(`Tollgate: ${wanting(approval)}`) };
    const gate = createTollgate({ workspace, home, state, log, hooks });
    const governed = gate.perform({ op: 'list-intents' }).governed === true;
    const standing = governed ? 'governed' : 'not governed: it has no .orchestration/';
    log('info', `Tollgate ${version} (${digest}) is live; \`${workspace}\` is ${standing}`);
    const callbacks = callbacksOf(gate, directory, tell, (error, hook) => unanswered(error, hook, workspace, home, log));
    // Where nothing is governed there is nothing to select, and the model is spared the tools.
    return { ...callbacks, ...(governed ? { tool: ownTools(gate) } : {}) };
  } catch (error) {
    // OpenCode drops a plugin that throws and goes on without it, so one without a gate stays and keeps calls from running.
    const refuse = async () => unanswered(error, 'tool.execute.before', around, home, log);
    return { 'tool.execute.before': refuse };
  }
}

/** Every callback hands its payload to the gate, and does what the answer says. */
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
    // What a provider is given, keys among it, is none of the gate's business.
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

/** A payload as JSON. What a tool that has run returned may be no JSON, which is no reason to leave its call unentered. */
function payloadOf(payload: Fields): string {
  try {
    return JSON.stringify(payload);
  } catch (error) {
    if (payload.hook === 'tool.execute.before') throw new TollgateError('invalid_input', 'the arguments are not JSON', error);
    return JSON.stringify({ ...payload, output: {} });
  }
}

/** OpenCode goes on with the very objects that it has given; new ones would be ignored. */
function setInPlace(target: unknown, fields: unknown): void {
  const held = target as Fields;
  for (const [name, value] of Object.entries(fields ?? {})) {
    const isNested = typeof value === 'object' && value !== null && typeof held[name] === 'object' && held[name] !== null;
    if (isNested) setInPlace(held[name], value);
    else if (!isDeepStrictEqual(held[name], value)) held[name] = value;
  }
}

/** A gate that does not answer at all: in a governed workspace no call runs then, unless the user lets faults pass. */
function unanswered(error: unknown, hook: string, workspace: string, home: string | undefined, log: Log): void {
  // Causes are left out: they may quote what a call said.
  const why = error instanceof TollgateError ? `${error.message} (${error.code})` : 'the gate failed';
  log('error', `\`${hook}\`: ${why}`);
  if (hook !== 'tool.execute.before' || !isGoverned(workspace) || letsFaultsPass(workspace, home)) return;
  throw new Error(
    `Tollgate: ${why}; so nothing is known about the call; nobody can be asked here, so it does not run: let a person run it (gate_fault)`,
  );
}

function wanting({ hook, why, notice }: HookApproval): string {
  const stands = notice === undefined ? `is ${why} and does not run` : `does not run: ${notice}`;
  return `the hook \`${hook}\` ${stands}; a person can look at it and let it run: \`tollgate hooks approve ${hook}\``;
}
