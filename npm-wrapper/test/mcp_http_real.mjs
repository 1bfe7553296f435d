// The real server over its two network transports, in both commands. It listens on all interfaces, so run this in a network that
// only has loopback, as `mcp_http.test.js` does.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as os from 'node:os';
import { test } from 'node:test';
import { testEachHost, everything, PATIENCE_MS, createMcpWorkspace, waitUntil } from './mcp_hosts.js';

const isAlone = Object.keys(os.networkInterfaces()).every((name) => name === 'lo');

/** Starts the server; `stop` kills it. */
async function start(mode, port) {
  const env = { ...process.env, PORT: String(port) };
  const child = spawn(process.execPath, [everything, mode], { env, stdio: 'ignore' });
  const isUp = async () =>
    fetch(`http://127.0.0.1:${port}/none`).then(
      () => true,
      () => false,
    );
  await waitUntil('the server listens', isUp);
  return async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
}

for (const [mode, type, at, first] of [
  ['streamableHttp', 'http', 'mcp', 39_101],
  ['sse', 'sse', 'sse', 39_201],
]) {
  test(`${mode}: connect, list, call, a failing call, a killed server`, async (t) => {
    assert.ok(isAlone, 'this network is not alone');
    let port = first;
    await testEachHost(t, async (t, host) => {
      port += 1;
      let stop = await start(mode, port);
      t.after(() => stop());
      const declared = { type, url: `http://127.0.0.1:${port}/${at}`, connectTimeoutMs: PATIENCE_MS };
      const { run, connect } = createMcpWorkspace(t, { web: declared });
      const status = run(host, 'mcp', 'status', '--json');
      assert.equal(status.status, 0, status.stderr);
      assert.equal(run(host, 'mcp', 'call', 'web', 'get-sum', '{"a":2,"b":3}').stdout, 'The sum of 2 and 3 is 5.\n');
      const failing = run(host, 'mcp', 'call', 'web', 'get-sum', '{"a":"x","b":3}');
      assert.equal(failing.status, 1);
      assert.match(failing.stderr, /`a` must be number, not string/);

      const { call, names, said } = await connect(host);
      await call('select_active_intent', { intent_id: 'INT-1' });
      assert.match((await call('echo', { message: 'hi' })).text, /Echo: hi/);
      await stop();
      // Over HTTP, it may take a call to notice that the server has gone away.
      const gone = await waitUntil('it is noticed', async () => {
        const { text } = await call('echo', { message: 'hi' });
        return /Echo/.test(text) ? undefined : text;
      });
      assert.match(gone, /`web`/);
      await waitUntil('its tools are gone', async () => !(await names()).includes('echo'));
      assert.match(said(), /the MCP server `web` is not available: it ended/);
      stop = await start(mode, port);
      await waitUntil('it comes back', async () => (await names()).includes('echo'));
      assert.match((await call('echo', { message: 'again' })).text, /Echo: again/);
    });
  });
}
