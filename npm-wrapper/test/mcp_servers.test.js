// MCP servers, real and misbehaving, in both commands: `tollgate mcp` and `tollgate mcp-proxy`.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import {
  testEachHost,
  everything,
  declareFakeServer,
  filesystem,
  isGone,
  createMcpWorkspace,
  declareServer,
  skip,
  waitUntil,
} from './mcp_hosts.js';

const states = ({ servers }) => Object.fromEntries(servers.map(({ name, state }) => [name, state]));
const whyOf = ({ servers }, wanted) => servers.find(({ name }) => name === wanted).why;

test('real servers are connected to, listed and called', { skip }, async (t) => {
  await testEachHost(t, (t, host) => {
    const servers = (workspace) => ({ all: declareServer(everything, 'stdio'), files: declareServer(filesystem, workspace) });
    const { workspace, run } = createMcpWorkspace(t, servers);
    const status = run(host, 'mcp', 'status', '--json');
    assert.equal(status.status, 0, status.stderr);
    assert.deepEqual(states(status.read()), { all: 'connected', files: 'connected' });
    const { tools } = run(host, 'mcp', 'tools', '--json').read();
    const echo = tools.find(({ name }) => name === 'echo');
    assert.deepEqual([echo.server, echo.tool, echo.parameters[0].name], ['all', 'echo', 'message']);
    const write = tools.find(({ name }) => name === 'write_file');
    assert.deepEqual(
      write.parameters.map(({ name, type, required }) => [name, type, required]),
      [
        ['path', 'string', true],
        ['content', 'string', true],
      ],
    );
    const table = run(host, 'mcp', 'tools', 'all');
    assert.match(table.stdout, /^NAME +SERVER +TAKES +WHAT\n/);
    assert.match(table.stdout, /\necho +all +message: string +/);
    const said = run(host, 'mcp', 'call', 'all', 'echo', '{"message":"hi"}', '--session', 's');
    assert.equal(said.stdout, 'Echo: hi\n', said.stderr);
    assert.equal(said.status, 0);
    const read = run(host, 'mcp', 'call', 'files', 'read_text_file', JSON.stringify({ path: path.join(workspace, 'src/a.txt') }));
    assert.equal(read.stdout, 'a\n', read.stderr);
    const image = run(host, 'mcp', 'call', 'all', 'get-tiny-image', '{}', '--json').read();
    assert.deepEqual([...new Set(image.parts.map(({ type }) => type))].sort(), ['image', 'text']);
  });
});

test('a failing call says why, and the exit code with it', { skip }, async (t) => {
  await testEachHost(t, (t, host) => {
    const { run } = createMcpWorkspace(t, (workspace) => ({
      files: declareServer(filesystem, path.join(workspace, 'src')),
      all: declareServer(everything, 'stdio'),
    }));
    for (const [words, status, said] of [
      [['files', 'read_text_file', '{"path":"/etc/hostname"}'], 1, /Access denied/],
      [
        ['files', 'read_text_file', '{"path":7}'],
        1,
        /the arguments do not fit `read_text_file` .*`path` must be string, not integer/,
      ],
      [['files', 'read_text_file', '{}'], 1, /`path` is missing/],
      [['files', 'fly', '{}'], 2, /the MCP server `files` has no tool `fly`; it has /],
      [['none', 'x', '{}'], 2, /there is no MCP server `none`; declared: files, all/],
      [['files', 'read_text_file', '{'], 2, /is not valid JSON/],
      [['files', 'read_text_file', '[]'], 2, /is not a JSON object/],
    ]) {
      const { status: code, stderr, stdout } = run(host, 'mcp', 'call', ...words);
      assert.equal(code, status, `${words.join(' ')}: ${stderr}`);
      assert.match(stderr, said);
      assert.equal(stdout, '');
    }
  });
});

test('two servers may have the same tools', { skip }, async (t) => {
  await testEachHost(t, async (t, host) => {
    const { connect } = createMcpWorkspace(t, {
      one: declareServer(everything, 'stdio'),
      two: declareServer(everything, 'stdio'),
    });
    const { client, call, names } = await connect(host);
    const listed = await names();
    assert.ok(listed.includes('one__echo') && listed.includes('two__echo') && !listed.includes('echo'), listed.join(' '));
    assert.ok(listed.includes('select_active_intent'));
    const { tools } = await client.listTools();
    const { _meta } = tools.find(({ name }) => name === 'two__echo');
    assert.deepEqual(_meta, { 'tollgate/server': 'two', 'tollgate/tool': 'echo' });
    await call('select_active_intent', { intent_id: 'INT-1' });
    const { text } = await call('two__echo', { message: 'hi' });
    assert.match(text, /Echo: hi/);
    assert.match((await call('echo', { message: 'hi' })).text, /no MCP server has a tool `echo`/);
  });
});

test('a killed server loses its tools, comes back, and the others go on', async (t) => {
  await testEachHost(t, async (t, host) => {
    let pid = '';
    const { connect } = createMcpWorkspace(t, (_, top) => {
      pid = path.join(top, 'pid');
      return { first: declareFakeServer('plain', {}, pid), liar: declareFakeServer('liar') };
    });
    const { client, call, names, said } = await connect(host);
    let changes = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      changes += 1;
    });
    assert.ok((await names()).includes('tool'));
    const before = fs.readFileSync(pid, 'utf8');
    process.kill(Number(before), 'SIGKILL');
    await waitUntil('its tools go', async () => changes >= 1);
    await waitUntil('it is noticed', async () => /the MCP server `first` is not available: it ended/.test(said()));
    assert.match((await call('honest', { n: 1 })).text, /^honest \d+/);
    // A client that has listed the tools is not notified of the change, so nothing is listed until the notification arrives.
    await waitUntil('it comes back', async () => changes >= 2);
    assert.notEqual(fs.readFileSync(pid, 'utf8'), before);
    assert.ok((await names()).includes('tool'));
  });
});

test('a server that never answers holds nobody up', async (t) => {
  await testEachHost(t, (t, host) => {
    const servers = {
      mute: declareFakeServer('mute', { connectTimeoutMs: 500 }),
      hang: declareFakeServer('hang', { callTimeoutMs: 500 }),
      fine: declareFakeServer('plain'),
    };
    const { run } = createMcpWorkspace(t, servers);
    const status = run(host, 'mcp', 'status', '--json');
    assert.equal(status.status, 1, 'one is not available');
    assert.deepEqual(states(status.read()), { mute: 'unavailable', hang: 'connected', fine: 'connected' });
    assert.equal(whyOf(status.read(), 'mute'), 'it was not ready in time: it may take 0.5 s');
    const called = run(host, 'mcp', 'call', 'hang', 'tool');
    assert.equal(called.status, 1);
    assert.match(called.stderr, /`tool` of the MCP server `hang` did not answer within 0\.5 s and was canceled/);
  });
});

test('a server that floods is cut off, and the others go on', async (t) => {
  await testEachHost(t, (t, host) => {
    const { run } = createMcpWorkspace(t, {
      garbage: declareFakeServer('garbage'),
      line: declareFakeServer('line'),
      messages: declareFakeServer('messages'),
      fine: declareFakeServer('plain'),
    });
    const answer = run(host, 'mcp', 'status', '--json').read();
    const { fine, garbage, line } = states(answer);
    assert.deepEqual([fine, garbage, line], ['connected', 'unavailable', 'unavailable']);
    for (const name of ['garbage', 'line']) assert.match(whyOf(answer, name), /^it sent more than it may and was cut off/);
  });
});

test('a server that lies about its schema is found out', async (t) => {
  await testEachHost(t, async (t, host) => {
    const { run } = createMcpWorkspace(t, { liar: declareFakeServer('liar'), deep: declareFakeServer('deep') });
    const { tools, servers } = run(host, 'mcp', 'tools', '--json').read();
    const deep = servers.find(({ name }) => name === 'deep');
    assert.equal(deep.state, 'connected', deep.why);
    assert.match(deep.warnings.join('\n'), /^(the tool `deep` is left out|a tool cannot be read)/);
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['weather', 'honest'],
    );
    const { warnings } = servers.find(({ name }) => name === 'liar');
    for (const said of [
      '`bad_type` is left out',
      '`dangling` is left out',
      '`no_schema` is left out',
      'has an invalid name: `bell`',
    ]) {
      assert.ok(
        warnings.some((warning) => warning.includes(said)),
        `${said}: ${warnings.join('\n')}`,
      );
    }
    assert.ok(warnings.some((warning) => warning.includes('`weather` is listed twice')));
    const called = run(host, 'mcp', 'call', 'liar', 'weather', '--json').read();
    assert.equal(called.outcome, 'done', called.text);
    assert.match(called.notes.join('\n'), /does not match what the MCP server `liar` declares for `weather`: `n` must be number/);
  });
});

test('what a server complains about is told', async (t) => {
  await testEachHost(t, (t, host) => {
    const { run } = createMcpWorkspace(t, {
      broken: declareFakeServer('complain'),
      missing: { command: 'no-such-program-here' },
    });
    const answer = run(host, 'mcp', 'status', '--json').read();
    assert.match(whyOf(answer, 'broken'), /^it could not be connected to: no such graph$/);
    assert.equal(
      whyOf(answer, 'missing'),
      'its program `no-such-program-here` cannot be found; install it, or correct `command`',
    );
  });
});

test('a server whose file cannot be run is told in the same words', { skip: process.platform !== 'linux' }, async (t) => {
  await testEachHost(t, (t, host) => {
    let open;
    t.after(() => fs.closeSync(open));
    const { run } = createMcpWorkspace(t, (_, top) => {
      const script = (name, mode) => {
        const file = path.join(top, name);
        fs.writeFileSync(file, '#!/bin/sh\n', { mode });
        return file;
      };
      const servers = { busy: { command: script('busy', 0o700) }, plain: { command: script('plain', 0o600) } };
      open = fs.openSync(servers.busy.command, 'r+');
      return servers;
    });
    const answer = run(host, 'mcp', 'status', '--json').read();
    assert.match(whyOf(answer, 'busy'), /Text file busy \(os error 26\)/);
    assert.match(whyOf(answer, 'plain'), /Permission denied \(os error 13\)/);
  });
});

test('a write out of scope does not reach the server, and one in scope is in the ledger', { skip }, async (t) => {
  await testEachHost(t, async (t, host) => {
    const { workspace, connect } = createMcpWorkspace(t, (workspace) => ({ files: declareServer(filesystem, workspace) }));
    const { call } = await connect(host);
    const write = (name) => call('write_file', { path: path.join(workspace, name), content: 'new\n' });
    assert.match((await write('src/a.txt')).text, /select_active_intent|no intent is active/i);
    const selected = await call('select_active_intent', { intent_id: 'INT-1' });
    assert.match(selected.text, /The active intent is INT-1/);
    const refused = await write('README.md');
    assert.equal(refused.isError, true);
    assert.match(refused.text, /README\.md/);
    assert.equal(fs.readFileSync(path.join(workspace, 'README.md'), 'utf8'), 'readme\n');
    const done = await write('src/a.txt');
    assert.notEqual(done.isError, true, done.text);
    assert.equal(fs.readFileSync(path.join(workspace, 'src/a.txt'), 'utf8'), 'new\n');
    const ledger = fs.readFileSync(path.join(workspace, '.orchestration/agent_trace.jsonl'), 'utf8').trim().split('\n');
    const entries = ledger.map((line) => JSON.parse(line)).filter(({ tool_name }) => tool_name === 'mcp__files__write_file');
    assert.deepEqual(
      entries.map(({ file, intent_id }) => [file.relative_path, intent_id]),
      [['src/a.txt', 'INT-1']],
    );
  });
});

test('a person decides by elicitation, where the client can ask', async (t) => {
  await testEachHost(t, async (t, host) => {
    const { connect } = createMcpWorkspace(t, { odd: declareFakeServer('plain') });
    for (const [capabilities, action, expected] of [
      [{ elicitation: {} }, 'accept', /^tool \d+/],
      [{ elicitation: {} }, 'decline', /a person did not allow it to run/],
      [{ elicitation: {} }, 'cancel', /no one could be asked/],
      [{}, undefined, /what the tool `mcp__odd__tool` does is not known/],
    ]) {
      const { client, call } = await connect(host, capabilities);
      let asked = '';
      if (action !== undefined) {
        client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
          asked = params.message;
          return { action, ...(action === 'accept' ? { content: {} } : {}) };
        });
      }
      await call('select_active_intent', { intent_id: 'INT-1' });
      assert.match((await call('tool')).text, expected, String(action));
      if (action !== undefined) assert.match(asked, /^May `tool` of the MCP server `odd` run\?/);
      await client.close();
    }
  });
});

test('settings reach the server and nobody else', { skip }, async (t) => {
  await testEachHost(t, (t, host) => {
    const declared = { ...declareServer(everything, 'stdio'), env: { TOKEN: '${settings.token}', PLAIN: 'shown' }, trust: true };
    const { run } = createMcpWorkspace(
      t,
      { all: declared, unset: { ...declared, env: { A: '${settings.none}' } } },
      { token: 's3cret-value' },
    );
    const called = run(host, 'mcp', 'call', 'all', 'get-env', '--json');
    assert.match(called.read().text, /"PLAIN": "shown"/);
    assert.match(called.read().text, /"TOKEN": "\[REDACTED\]"/);
    const status = run(host, 'mcp', 'status', '--json');
    assert.equal(whyOf(status.read(), 'unset'), 'the setting `none`, which it needs, is not set');
    for (const { stdout, stderr } of [called, status]) assert.ok(!`${stdout}${stderr}`.includes('s3cret'));
  });
});

test('what only the workspace declares is not started', async (t) => {
  await testEachHost(t, (t, host) => {
    const { run, ship, top } = createMcpWorkspace(t, {});
    const pid = path.join(top, 'pid');
    ship({ shipped: declareFakeServer('plain', {}, pid) });
    const status = run(host, 'mcp', 'status', '--json');
    assert.equal(status.status, 1);
    assert.match(whyOf(status.read(), 'shipped'), /only the workspace declares it.*`tollgate mcp add shipped`/);
    assert.ok(!fs.existsSync(pid));
  });
});

test('no server outlives whoever started it', async (t) => {
  await testEachHost(t, async (t, host) => {
    for (const end of ['close', 'SIGTERM', 'SIGINT']) {
      const pids = [];
      const { connect } = createMcpWorkspace(t, (_, top) => {
        pids.push(...['polite', 'rude'].map((name) => path.join(top, name)));
        return { polite: declareFakeServer('plain', {}, pids[0]), rude: declareFakeServer('stay', {}, pids[1]) };
      });
      const { client, transport, names } = await connect(host);
      await names();
      const started = pids.map((file) => fs.readFileSync(file, 'utf8'));
      if (end === 'close') await client.close();
      else process.kill(transport.pid, end);
      for (const pid of started) assert.ok(await isGone(pid), `${end}: ${pid} is still there`);
    }
  });
});
