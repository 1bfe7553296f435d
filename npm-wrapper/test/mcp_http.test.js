// MCP servers on the network, in both commands. The test servers listen only on loopback; the real server listens on all
// interfaces, so it runs in its own network namespace.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import * as http from 'node:http';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { hosts, PATIENCE_MS, createMcpWorkspace, skip } from './mcp_hosts.js';

/**
 * Arguments for `unshare` that give a command a network with only loopback: for root, and for other users if the system allows
 * it.
 */
const ALONE = [['--net'], ['--user', '--map-root-user', '--net']];

/** Loopback is down in a new network namespace. */
const LOOPBACK = ['--', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh'];

const alone = ALONE.find((flags) => spawnSync('unshare', [...flags, ...LOOPBACK, 'true']).status === 0);

const skipReal = skip || (alone === undefined ? 'no network of its own can be made' : false);

/** A server on loopback that records every request. */
async function listen(t, answer) {
  const asked = [];
  const server = http.createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    answer(request, response, server.address().port);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: server.address().port, asked };
}

/** Runs `tollgate mcp status --json` asynchronously, because this process has to answer its requests meanwhile. */
async function statusOf({ workspace, home }, host) {
  const [program, ...before] = host.words;
  const words = [...before, 'mcp', 'status', '--json', '--workspace', workspace, '--home', home];
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'], timeout: 2 * PATIENCE_MS });
  let [out, said] = ['', ''];
  child.stdout.on('data', (piece) => {
    out += piece;
  });
  child.stderr.on('data', (piece) => {
    said += piece;
  });
  await once(child, 'close');
  assert.match(out, /^\{/, said);
  const { servers } = JSON.parse(out);
  return { ...servers[0], said: `${out}${said}` };
}

/** Answers as a server that speaks streamable HTTP. */
function speak(request, response) {
  let body = '';
  request.on('data', (piece) => {
    body += piece;
  });
  request.on('end', () => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const { id, method, params } = JSON.parse(body);
    const results = {
      initialize: () => ({
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'fake', version: '1' },
      }),
      'tools/list': () => ({ tools: [{ name: 'tool', inputSchema: { type: 'object' } }] }),
    };
    if (results[method] === undefined) return void response.writeHead(202).end();
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method]() }));
  });
}

/** Tests one server at a URL in every command. */
async function testEachUrl(t, declare, check) {
  for (const host of hosts) {
    await t.test(host.name, async (inner) => {
      const { servers, settings = {}, others } = await declare(inner);
      check(await statusOf(createMcpWorkspace(inner, servers, settings), host), others);
    });
  }
}

test('a server on the network is connected to, and has its headers', async (t) => {
  const declare = async (t) => {
    const tokens = [];
    const { port } = await listen(t, (request, response) => {
      tokens.push(request.headers.authorization);
      speak(request, response);
    });
    const headers = { Authorization: 'Bearer ${settings.token}' };
    const servers = { web: { url: `http://127.0.0.1:${port}/mcp`, headers } };
    return { servers, settings: { token: 's3cret-value' }, others: tokens };
  };
  await testEachUrl(t, declare, ({ state, tools, said }, tokens) => {
    assert.deepEqual([state, tools], ['connected', 1], said);
    assert.deepEqual([...new Set(tokens)], ['Bearer s3cret-value']);
    assert.ok(!said.includes('s3cret'));
  });
});

test('a redirection within the host is followed', async (t) => {
  const declare = async (t) => {
    const { port, asked } = await listen(t, (request, response) => {
      if (request.url === '/mcp') return void response.writeHead(307, { location: '/mcp/' }).end();
      speak(request, response);
    });
    return { servers: { web: { url: `http://127.0.0.1:${port}/mcp` } }, others: asked };
  };
  await testEachUrl(t, declare, ({ state, said }, asked) => {
    assert.equal(state, 'connected', said);
    assert.ok(asked.includes('POST /mcp/'));
  });
});

test('a redirection to another host is refused, and that host is not contacted', async (t) => {
  for (const status of [302, 307, 308]) {
    const declare = async (t) => {
      const other = await listen(t, speak);
      const { port } = await listen(t, (_, response) => {
        response.writeHead(status, { location: `http://127.0.0.1:${other.port}/mcp` }).end();
      });
      const headers = { Authorization: 'Bearer secret-of-the-first' };
      return { servers: { web: { url: `http://127.0.0.1:${port}/mcp`, headers } }, others: other.asked };
    };
    await testEachUrl(t, declare, ({ state, why }, asked) => {
      assert.equal(state, 'unavailable');
      assert.match(why, /^it redirects to another host, which is refused: HTTP 30\d .* to http:\/\/127\.0\.0\.1:\d+\/mcp$/);
      assert.deepEqual(asked, []);
    });
  }
});

test('an SSE server cannot have messages sent to another host', async (t) => {
  const declare = async (t) => {
    const other = await listen(t, speak);
    const { port } = await listen(t, (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`event: endpoint\ndata: http://127.0.0.1:${other.port}/messages\n\n`);
    });
    return { servers: { web: { type: 'sse', url: `http://127.0.0.1:${port}/sse` } }, others: other.asked };
  };
  await testEachUrl(t, declare, ({ state, said }, asked) => {
    assert.equal(state, 'unavailable', said);
    assert.deepEqual(asked, []);
  });
});

test('refused credentials are told without them', async (t) => {
  const declare = async (t) => {
    const { port } = await listen(t, (request, response) => {
      response.writeHead(401).end(`no entry with ${request.headers.authorization}`);
    });
    const headers = { Authorization: 'Bearer ${settings.token}' };
    return { servers: { web: { url: `http://127.0.0.1:${port}/mcp`, headers } }, settings: { token: 's3cret-value' } };
  };
  await testEachUrl(t, declare, ({ state, why, said }) => {
    assert.deepEqual([state, why], ['unavailable', 'it does not accept the credentials: HTTP 401 Unauthorized']);
    assert.ok(!said.includes('s3cret'));
  });
});

test('a server on the network that floods is cut off', async (t) => {
  const pour = (response, text) => {
    while (response.write(text));
    response.once('drain', () => pour(response, text));
  };
  for (const [type, kind, beginning] of [
    ['http', 'application/json', '{"jsonrpc":"2.0","id":0,"result":{"x":"'],
    ['http', 'text/event-stream', 'data: '],
    ['sse', 'text/event-stream', 'data: '],
  ]) {
    const declare = async (t) => {
      const { port } = await listen(t, (_, response) => {
        response.on('error', () => {});
        response.writeHead(200, { 'content-type': kind });
        response.write(beginning);
        pour(response, 'x'.repeat(1 << 16));
      });
      return { servers: { web: { type, url: `http://127.0.0.1:${port}/mcp`, connectTimeoutMs: PATIENCE_MS } } };
    };
    await testEachUrl(t, declare, ({ state, why }) => {
      assert.equal(state, 'unavailable');
      assert.match(why, /^it sent more than it may and was cut off/, `${type} ${kind}`);
    });
  }
});

test('a server that is not there is told in the words of the system', async (t) => {
  const declare = async () => {
    // Nobody listens on a port that was just free, and `fetch` refuses the well-known ones itself.
    const server = http.createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address();
    server.close();
    await once(server, 'close');
    return { servers: { web: { url: `http://127.0.0.1:${port}/mcp` } } };
  };
  await testEachUrl(t, declare, ({ why }) => assert.match(why, /^it could not be connected to: .*(ECONNREFUSED|refused)/i));
});

test('the real server over streamable HTTP and SSE', { skip: skipReal }, () => {
  const real = fileURLToPath(new URL('mcp_http_real.mjs', import.meta.url));
  const words = [...alone, ...LOOPBACK, process.execPath, '--test', '--test-concurrency=1', real];
  // The variable of this test runner must not reach the runner that it starts.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync('unshare', words, { encoding: 'utf8', env, timeout: 10 * PATIENCE_MS });
  assert.equal(status, 0, `${stdout}\n${stderr}`);
});
