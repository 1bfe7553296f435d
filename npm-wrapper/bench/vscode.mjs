// Measures how long the gate blocks an extension host: `node bench/vscode.mjs`. The thread does the work; what counts is how long
// the host's event loop is blocked, on a large workspace with a long ledger.
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as esbuild from 'esbuild';
import { createTollgate } from 'tollgate';

const FILES = 20_000;
const ENTRIES = 40_000;

const wrapper = fileURLToPath(new URL('..', import.meta.url));
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tollgate-bench-'));
const workspace = path.join(folder, 'work');

function makeWorkspace() {
  for (let at = 0; at < FILES; at += 1) {
    const parent = path.join(workspace, `src/part${at % 200}`);
    if (at < 200) fs.mkdirSync(parent, { recursive: true });
    fs.writeFileSync(path.join(parent, `file${at}.ts`), `export const n = ${at};\n`);
  }
  fs.mkdirSync(path.join(workspace, '.orchestration'));
  const intents = 'active_intents:\n  - { id: INT-001, name: All, status: IN_PROGRESS, owned_scope: ["src/**"] }\n';
  fs.writeFileSync(path.join(workspace, '.orchestration/active_intents.yaml'), intents);
  const gate = createTollgate({ workspace, home: folder });
  gate.selectIntent('s1', 'INT-001');
  const call = (at) => ({
    session: 's1',
    call: `c${at}`,
    tool: 'write_to_file',
    args: { path: `src/part${at % 200}/file${at}.ts`, content: 'x' },
  });
  for (let at = 0; at < 200; at += 1) {
    gate.preTool(call(at));
    fs.writeFileSync(path.join(workspace, call(at).args.path), 'x');
    gate.postTool(call(at), { status: 'done' });
  }
  const ledger = path.join(workspace, '.orchestration/agent_trace.jsonl');
  fs.writeFileSync(ledger, fs.readFileSync(ledger, 'utf8').repeat(ENTRIES / 200));
  return fs.statSync(ledger).size;
}

/** Runs `work` and reports how long it took and the longest time the loop was blocked. */
async function measured(what, work) {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  // The first tick only sets the baseline.
  delays.enable();
  await setTimeout(30);
  const begun = performance.now();
  await work();
  const took = performance.now() - begun;
  await setTimeout(5);
  delays.disable();
  console.log(
    `${what.padEnd(44)} ${took.toFixed(1).padStart(9)} ms   host held up ${(delays.max / 1e6).toFixed(1).padStart(6)} ms`,
  );
}

try {
  const bytes = makeWorkspace();
  console.log(`${FILES} files, ${ENTRIES} entries (${(bytes / 2 ** 20).toFixed(0)} MiB)\n`);
  const outfile = path.join(folder, 'thread.mjs');
  await esbuild.build({
    entryPoints: [path.join(wrapper, 'src/vscode/thread.ts')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile,
  });
  const { GateThread } = await import(pathToFileURL(outfile).href);
  const thread = new GateThread(pathToFileURL(path.join(wrapper, 'dist/gate-worker.cjs')), () => {});
  const write = { session: 's1', call: 'w', tool: 'write_to_file', args: { path: 'src/part1/file1.ts', content: 'y' } };
  const program = { session: 's1', call: 'p', tool: 'bash', args: { command: 'npm test' } };
  const perform = (line) => thread.call('f', 'perform', line);
  for (const [what, work] of [
    [
      'start the thread, load, list the intents',
      () => {
        thread.open({ folder: 'f', workspace, home: folder, hooks: true, prompts: false, triggers: [] });
        return perform({ op: 'list-intents' });
      },
    ],
    ['list the intents', () => perform({ op: 'list-intents' })],
    ['rule on a write', () => thread.call('f', 'preTool', write)],
    ['rule on a program, first look at all files', () => thread.call('f', 'preTool', program)],
    ['enter what the program changed', () => thread.call('f', 'postTool', program, { status: 'done' })],
    ['the context for the model', () => thread.call('f', 'context', 's1')],
    ['500 entries of the ledger', () => perform({ op: 'trace', limit: 500 })],
    ['the ledger for an intent without entries', () => perform({ op: 'trace', intent: 'INT-9', limit: 20 })],
    ['verify the ledger', () => perform({ op: 'verify' })],
    [
      '1,000 notifications',
      async () => {
        for (let at = 0; at < 1000; at += 1) void thread.call('f', 'notify', 'onDidSaveTextDocument', { file: `src/${at}.ts` });
        await thread.call('f', 'currentIntent', 's1');
      },
    ],
  ])
    await measured(what, work);
  await thread.end();

  console.log('\nthe same on the thread that asks, without a thread of its own:');
  const gate = createTollgate({ workspace, home: folder });
  await measured('load, list the intents', () => gate.perform({ op: 'list-intents' }));
  await measured('rule on a program, first look at all files', () => gate.preTool(program));
  await measured('enter what the program changed', () => gate.postTool(program, { status: 'done' }));
  await measured('the ledger for an intent without entries', () => gate.perform({ op: 'trace', intent: 'INT-9', limit: 20 }));
} finally {
  fs.rmSync(folder, { recursive: true, force: true });
}
