import { createTollgate, digest, type HookApproval, Hooks, type Tollgate, version } from '../index.js';
import type { PluginInput, PluginOptions } from '../opencode.js';
import { Calls, type Place } from './calls.js';
import { Faults } from './faults.js';
import { fields, textIn, type ToolInput } from './host.js';
import { hostLog, type Log } from './log.js';
import { workspaceOf } from './place.js';
import { Prompts } from './prompts.js';
import { Sessions } from './sessions.js';
import { intentTools } from './tools.js';

/** What OpenCode calls while it works, by its own names. */
export function start({ client, directory }: PluginInput, options: PluginOptions | undefined): object {
  const log = hostLog(client, options?.debug === true);
  const home = textIn(options?.home);
  const state = textIn(options?.state);
  const workspace = workspaceOf(directory, home);
  const faults = new Faults(workspace, home, log);
  try {
    const gate = createTollgate({ workspace, home, state, log });
    const governed = gate.perform({ op: 'list-intents' }).governed === true;
    return gated(gate, governed, faults, { workspace, directory }, log);
  } catch (error) {
    return gateless(faults, error);
  }
}

function gated(gate: Tollgate, governed: boolean, faults: Faults, place: Place, log: Log): object {
  const { workspace } = place;
  const standing = governed ? 'governed' : 'not governed: it has no .orchestration/';
  log('info', `Tollgate ${version} (${digest}) is live; \`${workspace}\` is ${standing}`);
  const prompts = new Prompts();
  const hooks = new Hooks(gate, { onApproval: (approval) => log('warn', wanting(approval)) });
  const calls = new Calls(gate, hooks, prompts, faults, place);
  const sessions = new Sessions(calls, gate, hooks, prompts, faults);
  // Where nothing is governed there is nothing to select, and the model is spared the tools.
  return { ...callbacks(calls, sessions), ...(governed ? { tool: intentTools(gate) } : {}) };
}

function wanting({ hook, why, notice }: HookApproval): string {
  const stands = notice === undefined ? `is ${why} and does not run` : `does not run: ${notice}`;
  return `the hook \`${hook}\` ${stands}; a person can look at it and let it run: \`tollgate hooks approve ${hook}\``;
}

/** OpenCode drops a plugin that throws and goes on without it, so one without a gate stays and keeps calls from running. */
function gateless(faults: Faults, error: unknown): object {
  faults.note('starting the gate', error);
  const refuse = async () => {
    const reason = faults.met('starting the gate', error);
    if (reason !== undefined) throw new Error(reason);
  };
  return { 'tool.execute.before': refuse };
}

/** OpenCode's names for what happens. */
function callbacks(calls: Calls, sessions: Sessions): object {
  return {
    event: async ({ event: { type, properties } }: HostEvent) => sessions.heard(type, fields(properties)),
    'chat.message': async ({ sessionID }: InSession, { parts }: { parts: unknown }) => sessions.asked(sessionID, parts),
    // Older versions give the agent whole.
    'chat.params': async ({ sessionID, agent }: InSession & { agent: unknown }) =>
      sessions.sent(sessionID, textIn(agent) ?? textIn(fields(agent).name)),
    'experimental.chat.system.transform': async ({ sessionID }: Partial<InSession>, { system }: { system: string[] }) =>
      sessions.prompted(sessionID, system),
    'experimental.text.complete': async ({ sessionID }: InSession, { text }: { text: string }) => sessions.said(sessionID, text),
    'tool.execute.before': async (input: ToolInput, output: { args: unknown }) => {
      sessions.called(input.sessionID, input.tool);
      await calls.before(input, output);
    },
    'tool.execute.after': async (input: ToolInput, output: unknown) => calls.after(input, output),
    dispose: async () => sessions.dispose(),
  };
}

interface HostEvent {
  event: { type: string; properties: unknown };
}

interface InSession {
  sessionID: string;
}
