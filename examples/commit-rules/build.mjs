// Builds commit-rules.wasm from hook.js. No WASI interface is imported, and functions are called synchronously.
import { readFile, writeFile } from 'node:fs/promises';
import { componentize } from 'componentize-qjs';

const { component } = await componentize({
  witPath: '../../wit/hook',
  world: 'checker',
  jsSource: await readFile('hook.js', 'utf8'),
  stubWasi: true,
  sync: true,
  optSize: true,
});
await writeFile('commit-rules.wasm', component);
