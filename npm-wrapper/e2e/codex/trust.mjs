// Does what a person does under `/hooks` in Codex, through Codex's own app server.
import { spawn } from 'node:child_process';
import * as readline from 'node:readline';

/**
 * Trusts every hook that Codex finds for a workspace. Returns the previous state of each: `[event, state]`, where a state is
 * `untrusted`, `modified` or `trusted`.
 */
export async function trustHooks(codex, workspace, env) {
  const server = spawn(codex, ['app-server'], { cwd: workspace, env, stdio: ['pipe', 'pipe', 'ignore'] });
  try {
    const call = newCaller(server);
    await call('initialize', { clientInfo: { name: 'tollgate', version: '0' }, capabilities: {} });
    server.stdin.write(`${JSON.stringify({ method: 'initialized' })}\n`);
    const { data } = await call('hooks/list', { cwds: [workspace] });
    const hooks = data.flatMap((found) => found.hooks);
    const value = Object.fromEntries(hooks.map(({ key, currentHash }) => [key, { trusted_hash: currentHash }]));
    await call('config/batchWrite', { edits: [{ keyPath: 'hooks.state', value, mergeStrategy: 'upsert' }] });
    return hooks.map(({ eventName, trustStatus }) => [eventName, trustStatus]);
  } finally {
    server.kill();
  }
}

/** Returns a function that calls methods of a JSON-RPC server with one message per line. */
function newCaller(server) {
  const waiting = new Map();
  readline.createInterface({ input: server.stdout }).on('line', (line) => {
    const { id, result, error } = JSON.parse(line);
    const [resolve, reject] = waiting.get(id) ?? [];
    if (error !== undefined) reject?.(new Error(`the app server of Codex: ${error.message}`));
    else resolve?.(result);
  });
  server.on('close', () => waiting.forEach(([, reject]) => reject(new Error('the app server of Codex has ended'))));
  return (method, params) =>
    new Promise((resolve, reject) => {
      const id = waiting.size + 1;
      waiting.set(id, [resolve, reject]);
      server.stdin.write(`${JSON.stringify({ id, method, params })}\n`);
    });
}
