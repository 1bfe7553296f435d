import assert from 'node:assert/strict';
import test from 'node:test';
import { createTollgate } from '../dist/index.js';
import { createGovernedWorkspace, writeFiles } from './workspace_folder.js';

const { workspace, home, discard } = createGovernedWorkspace();
test.after(discard);
const carryOut = (plan, lookups) => createTollgate({ workspace, home, lookups }).lookUp(plan);

const plan = (requests, totalMs = 2000, timeoutMs = 300) => ({
  concepts: ['auth'],
  totalMs,
  lookups: Object.entries(requests).map(([source, request]) => ({ concept: 'auth', source, request, timeoutMs })),
});

const run = (...argv) => ({ kind: 'run', argv, stdin: '', inherit: ['PATH'], set: [['GIVEN', 'yes']] });

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
    failing: run('sh', '-c', "printf '\\n why\\r\\nmore' >&2; exit 3"),
    killed: run('sh', '-c', 'kill -9 $$'),
    hanging: run('sleep', '60'),
    leaving: run('sh', '-c', 'sleep 60 & echo gone'),
    flooding: run('yes'),
    absent: run('no-such-program-here'),
    known: { kind: 'function' },
    ignorant: { kind: 'function' },
    broken: { kind: 'function' },
    slow: { kind: 'function' },
    nobody: { kind: 'function' },
    graph: { kind: 'mcp', server: 's', tool: 't', arguments: { name: 'auth' } },
    strange: { kind: 'other' },
  };
  const answers = Object.fromEntries((await carryOut(plan(asked), options)).map(({ source, answer }) => [source, answer]));
  assert.deepEqual(answers, {
    said: { text: 'hello\n' },
    garbage: { text: '\ufffdx' },
    failing: { failed: 'exit status: 3: why' },
    killed: { failed: 'exit status: 137' },
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

test('the environment is small, and the folder is the workspace', async () => {
  process.env.TOLLGATE_TEST_SECRET = 'x';
  const [{ answer }] = await carryOut(plan({ env: run('sh', '-c', 'pwd; env') }));
  assert.ok(answer.text.startsWith(`${workspace}\n`));
  assert.ok(answer.text.includes('GIVEN=yes\n'));
  assert.ok(!answer.text.includes('TOLLGATE_TEST_SECRET'));
});

test('what a call names is looked up on the way to its answer', async () => {
  const settings = { augment: { sources: [{ name: 'wiki', function: true }] } };
  const place = createGovernedWorkspace();
  test.after(place.discard);
  writeFiles(place.workspace, { '.tollgate/config.json': JSON.stringify(settings) });
  const lookups = { functions: { wiki: async (concept) => `about ${concept}` } };
  const gate = createTollgate({ ...place, lookups });
  gate.selectIntent('s', 'INT-001');
  const payload = { event: 'before_tool', session: 's', call: 'c', tool: 'bash', args: { command: "echo '[[auth]]'" } };
  const { text, refused } = await gate.respond('generic', undefined, payload);
  assert.equal(refused, undefined);
  assert.match(text, /about auth/);
});
