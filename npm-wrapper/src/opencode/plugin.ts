import { createTollgate, digest, Hooks, type Tollgate, version } from '../index.js';
import { Calls } from './calls.js';
import { Faults } from './faults.js';
import { type Client, fields, type Properties, textIn, type ToolInput } from './host.js';
import { hostLog, type Log } from './log.js';
import { workspaceOf } from './place.js';
import { Prompts } from './prompts.js';
import { Sessions } from './sessions.js';
import { intentTools } from './tools.js';

/** Where OpenCode runs, and what the settings say. */
export interface Setting {
  client: Client;
  directory: string;
  home: string | undefined;
}

/** What OpenCode calls while it works, by its own names. */
export function start({ client, directory, home }: Setting): object {
  const log = hostLog(client);
  const workspace = workspaceOf(directory, home);
  const faults = new Faults(workspace, log);
  let gate: Tollgate;
  let governed: boolean;
  try {
    gate = createTollgate({ workspace, home, log });
    governed = gate.perform({ op: 'list-intents' }).governed === true;
  } catch (error) {
    return gateless(faults, error);
  }
  log('info', `Tollgate ${version} (${digest}) is live; \`${workspace}\` is ${governed ? 'governed' : 'not governed: it has no .orchestration/'}`);
  return hooksOf(gate, faults, { workspace, directory }, log, governed);
}

/** OpenCode drops a plugin that throws and goes on without it, so one without a gate stays and follows the settings. */
function gateless(faults: Faults, error: unknown): object {
  faults.note('starting the gate', error);
  return { 'tool.execute.before': async () => faults.stop('starting the gate', error) };
}

function hooksOf(gate: Tollgate, faults: Faults, place: { workspace: string; directory: string }, log: Log, governed: boolean): object {
  const prompts = new Prompts();
  const hooks = new Hooks(gate, {
    onApproval: ({ hook, why }) => log('warn', `the hook \`${hook}\` is ${why} and does not run; see \`tollgate hooks show ${hook}\`, then approve it`),
  });
  const calls = new Calls(gate, hooks, prompts, faults, place);
  const sessions = new Sessions(gate, hooks, prompts, faults);
  return {
    event: async ({ event }: { event: { type: string; properties: Properties } }) => sessions.heard(event.type, fields(event.properties), calls),
    'chat.message': async ({ sessionID }: { sessionID: string }, { parts }: { parts: unknown }) => sessions.asked(sessionID, parts),
    'chat.params': async ({ sessionID, agent }: { sessionID: string; agent: unknown }) =>
      // Older versions give the agent whole.
      sessions.sent(sessionID, textIn(agent) ?? textIn(fields(agent).name)),
    'experimental.chat.system.transform': async ({ sessionID }: { sessionID?: string }, { system }: { system: string[] }) =>
      sessions.prompted(sessionID, system),
    'experimental.text.complete': async ({ sessionID }: { sessionID: string }, { text }: { text: string }) => sessions.said(sessionID, text),
    'tool.execute.before': async (input: ToolInput, output: { args: unknown }) => {
      sessions.called(input.sessionID, input.tool);
      await calls.before(input, output);
    },
    'tool.execute.after': async (input: ToolInput, output: unknown) => calls.after(input, output),
    dispose: async () => sessions.dispose(),
    // Where nothing is governed there is nothing to select, and the model is spared the tools.
    ...(governed ? { tool: intentTools(gate) } : {}),
  };
}
