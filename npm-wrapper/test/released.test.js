// A component built against a released version of the contract still runs in this host, byte for byte as it was released.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { transpile } from '@bytecodealliance/jco';
import * as esbuild from 'esbuild';
import { createTemporaryFolder, createGovernedWorkspace, writeFiles } from './workspace_folder.js';

const here = path.dirname(fileURLToPath(import.meta.url));
const released = path.join(here, '..', '..', 'wit', 'released');
const discards = [];
after(() => discards.forEach((discard) => discard()));

/** This package's library with a different component. */
async function libraryWith(component) {
  const { folder, discard } = createTemporaryFolder('released ');
  discards.push(discard);
  const { files } = await transpile(component, { name: 'tollgate', instantiation: 'sync', wasiShim: false, nodejsCompat: false });
  writeFiles(path.join(folder, 'generated'), files);
  const glue = path.join(folder, 'generated', 'tollgate.js');
  const swap = {
    name: 'swap',
    setup: (build) => build.onResolve({ filter: /\/generated\/tollgate\.js$/ }, () => ({ path: glue })),
  };
  const outfile = path.join(folder, 'generated', 'library.mjs');
  await esbuild.build({
    absWorkingDir: path.join(here, '..'),
    entryPoints: ['src/api/index.ts'],
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile,
    external: ['*/mcp.js'],
    define: { TOLLGATE_VERSION: '"0"', TOLLGATE_DIGEST: '"sha256:0"' },
    plugins: [swap],
    logLevel: 'error',
  });
  return import(pathToFileURL(outfile).href);
}

for (const version of fs.readdirSync(released)) {
  test(`the component of contract ${version} runs`, async () => {
    const { createTollgate } = await libraryWith(fs.readFileSync(path.join(released, version, 'witness.wasm')));
    const { workspace, home, discard } = createGovernedWorkspace();
    discards.push(discard);
    writeFiles(workspace, { 'notes/a.txt': 'abcdefgh', 'notes/deep/b.txt': 'b' });
    const logged = [];
    const gate = createTollgate({ workspace, home, log: (entry) => logged.push(entry) });
    const expected = JSON.parse(fs.readFileSync(path.join(released, version, 'witness.json'), 'utf8'));
    const call = { session: 's', call: 'c', tool: 't', args: { ask: 1 } };
    const { verdict, code, reason, effects } = gate.preTool(call);
    assert.deepEqual({ verdict, code, reason, effects }, expected.check);
    assert.equal(gate.postTool(call, { status: 'failed', error: 'why' }).notice, expected.notice);
    assert.equal(gate.selectIntent('s', 'W-1').id, 'W-1');
    assert.throws(() => gate.selectIntent('s', 'none'), { code: 'unknown_intent' });
    assert.equal(gate.context('s', 12), expected.context);
    assert.equal(gate.perform('abc'), 'cba');
    assert.equal(logged.length > 0, true);
  });
}
