// The OpenCode plugin and the calls that OpenCode makes.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after } from 'node:test';
import ours from 'tollgate/opencode';
import { createGovernedWorkspace, writeFiles } from './workspace_folder.js';

const discards = [];
after(() => discards.forEach((discard) => discard()));

/** The plugin in a workspace, what it writes to OpenCode's log, and what it shows to the person. */
export async function startPlugin({
  files = {},
  plugin = ours,
  folder = '',
  place = createGovernedWorkspace(),
  debug,
  showToast,
} = {}) {
  const { workspace, home, discard } = place;
  discards.push(discard);
  writeFiles(workspace, files);
  const log = [];
  const toasts = [];
  const tui = { showToast: showToast ?? (async ({ body }) => toasts.push(body)) };
  const client = { app: { log: async ({ body }) => log.push(body) }, ...(showToast === null ? {} : { tui }) };
  const hooks = await plugin.server({ client, directory: path.join(workspace, folder) }, { home, debug });
  let calls = 0;
  /** Makes one call up to the point where the tool would run. */
  const before = async (tool, args, session = 's1') => {
    const input = { tool, sessionID: session, callID: `c${++calls}` };
    await hooks['tool.execute.before'](input, { args });
    return { ...input, args };
  };
  const event = (type, properties) => hooks.event({ event: { type, properties } });
  const failed = ({ tool, sessionID, callID }, error) =>
    event('message.part.updated', {
      part: { type: 'tool', id: 'p1', tool, sessionID, callID, state: { status: 'error', error } },
    });
  const system = async (sessionID) => {
    const output = { system: ['You are an agent.'] };
    await hooks['experimental.chat.system.transform']({ sessionID, model: {} }, output);
    return output.system.slice(1);
  };
  const ledger = () => {
    const file = path.join(workspace, '.orchestration/agent_trace.jsonl');
    return fs.existsSync(file)
      ? fs
          .readFileSync(file, 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
      : [];
  };
  const select = (session = 's1') => hooks.tool.select_active_intent.execute({ intent_id: 'INT-001' }, { sessionID: session });
  return { workspace, home, log, toasts, hooks, before, event, failed, system, ledger, select };
}
