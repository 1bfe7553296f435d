import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import test from 'node:test';
import { carryOut } from '../dist/index.js';

const plan = (requests, totalMs = 2000, timeoutMs = 300) => ({
  concepts: ['auth'],
  totalMs,
  lookups: Object.entries(requests).map(([source, request]) => ({ concept: 'auth', source, request, timeoutMs })),
});

const run = (...argv) => ({ run: { argv, stdin: null, inherit: ['PATH'] } });

test('sources that answer, know nothing, print garbage, fail, hang, or are not there, all at once', async () => {
  const options = {
    functions: {
      known: (concept) => `about ${concept}`,
      ignorant: async () => undefined,
      broken: async () => {
        throw new Error('no network');
      },
      slow: () => new Promise(() => {}),
    },
    mcpTool: async (server, tool, args) => `${server} ${tool} ${JSON.stringify(args)}`,
  };
  const asked = {
    said: run('echo', 'hello'),
    garbage: run('printf', '\\377x'),
    failing: run('sh', '-c', 'echo why >&2; exit 3'),
    hanging: run('sleep', '60'),
    leaving: run('sh', '-c', 'sleep 60 & echo gone'),
    flooding: run('yes'),
    absent: run('no-such-program-here'),
    known: { function: {} },
    ignorant: { function: {} },
    broken: { function: {} },
    slow: { function: {} },
    nobody: { function: {} },
    graph: { mcp: { server: 's', tool: 't', arguments: { name: 'auth' } } },
    strange: null,
  };
  const answers = Object.fromEntries((await carryOut(plan(asked), options)).map(({ source, answer }) => [source, answer]));
  assert.deepEqual(answers, {
    said: { text: 'hello\n' },
    garbage: { text: '\ufffdx' },
    failing: { failed: 'exit status: 3: why' },
    hanging: 'late',
    leaving: { text: 'gone\n' },
    flooding: 'late',
    absent: 'unavailable',
    known: { text: 'about auth' },
    ignorant: 'unknown',
    broken: { failed: 'no network' },
    slow: 'late',
    nobody: 'unavailable',
    graph: { text: 's t {"name":"auth"}' },
    strange: 'unavailable',
  });
});

test('the environment is small, and the folder the one that is named', async () => {
  process.env.TOLLGATE_TEST_SECRET = 'x';
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'lookups-')));
  const [{ answer }] = await carryOut(plan({ env: run('sh', '-c', 'pwd; env') }), { folder });
  assert.ok(answer.text.startsWith(`${folder}\n`));
  assert.ok(!answer.text.includes('TOLLGATE_TEST_SECRET'));
  fs.rmSync(folder, { recursive: true });
});
