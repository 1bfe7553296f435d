// The same third-party hooks give the same records in a process of this runtime and in the native command. Run by
// `cargo xtask test` in every runtime, after the samples have been built.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTollgate } from '../dist/index.js';
import { reportSkip } from './skip.mjs';
import { createGovernedWorkspace, writeFiles } from './workspace_folder.js';

const repository = fileURLToPath(new URL('../../', import.meta.url));
const target = path.resolve(repository, process.env.CARGO_TARGET_DIR ?? 'target');
const native = path.join(target, 'release');
const samples = path.join(target, 'tmp/hooks');
const PATH = process.env.PATH.split(path.delimiter).filter((folder) => !fs.existsSync(path.join(folder, 'tollgate')));

const CALLS = {
  'command-guard': ['git push --force origin main', 'cat ~/.aws/credentials', 'git status'],
  'commit-rules': ['git commit -m stuff', 'git push origin HEAD:main', 'git status'],
};

/** The parts of a record that are the same in every run. */
function comparable({ hook, function: name, status, session, call, said, reason, log }) {
  return { hook, name, status, session, call, said, reason, log };
}

/** The records of a sample's calls, with the native command in the search path or without it. */
async function records(name, isNative) {
  process.env.PATH = [...(isNative ? [native] : []), ...PATH].join(path.delimiter);
  const { workspace, home, discard } = createGovernedWorkspace();
  const hook = { id: 'h', component: 'hooks/h.wasm' };
  const bytes = fs.readFileSync(path.join(samples, `${name}.wasm`));
  writeFiles(workspace, { 'hooks/h.wasm': bytes, '.tollgate/hooks.json': JSON.stringify({ hooks: [hook] }) });
  const gate = createTollgate({ workspace, home });
  const ask = async (line) => JSON.parse(await gate.hooks.perform(JSON.stringify(line)));
  try {
    await ask({ op: 'select-intent', session: 's1', intent: 'INT-001' });
    const approved = await ask({ op: 'hooks', do: 'approve', id: 'h' });
    assert.match(approved.component ?? '', /^sha256:/, JSON.stringify(approved));
    const about = { session: 's1', tool: 'bash' };
    const commands = CALLS[name].map((command, index) => ({ ...about, call: `c${index}`, args: { command } }));
    // The first calls may be made while a separate process is still compiling the component.
    const warm = { op: 'pre-tool', ...about, call: 'warm', args: { command: 'true' } };
    const isReady = async () => ((await ask(warm)).hooks ?? []).every(({ fault }) => fault === undefined);
    for (const end = Date.now() + 60_000; !(await isReady()) && Date.now() < end; ) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    for (const call of commands) await ask({ op: 'pre-tool', ...call });
    const { records: all } = await ask({ op: 'hooks', do: 'history', limit: 100 });
    return all.filter(({ call }) => call !== 'warm').map(comparable);
  } finally {
    gate[Symbol.dispose]?.();
    discard();
  }
}

let compared = 0;
for (const name of ['command-guard', 'commit-rules']) {
  if (!fs.existsSync(path.join(samples, `${name}.wasm`))) {
    reportSkip(`the sample hook ${name} is not built; \`cargo test --release -p tollgate --test examples\` builds it`);
    continue;
  }
  const here = await records(name, false);
  assert.equal(here.length, CALLS[name].length, JSON.stringify(here));
  assert.ok(
    here.every(({ status }) => status === 'success'),
    JSON.stringify(here),
  );
  assert.deepEqual(here, await records(name, true), name);
  compared += here.length;
}
assert.ok(compared > 0, 'no sample is built, so nothing was compared');
console.log(`third-party hooks: ${compared} records, the same in this runtime and in the native command`);
process.exit(0);
