// The packed extension.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import * as path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inflateRawSync } from 'node:zlib';
import { createTollgate, listOwnTools } from 'tollgate';
import { createTemporaryFolder } from './workspace_folder.js';

const wrapper = fileURLToPath(new URL('..', import.meta.url));
const vsix = fs.readFileSync(path.join(wrapper, 'vscode/dist/tollgate.vsix'));
const manifest = JSON.parse(fs.readFileSync(path.join(wrapper, 'vscode/package.json'), 'utf8'));

/** The files of an archive, read through its central directory. */
function unpack(archive) {
  const files = new Map();
  const end = archive.lastIndexOf('PK\x05\x06');
  let at = archive.readUInt32LE(end + 16);
  for (let count = archive.readUInt16LE(end + 10); count > 0; count -= 1) {
    const [packed, nameLength] = [archive.readUInt32LE(at + 20), archive.readUInt16LE(at + 28)];
    const local = archive.readUInt32LE(at + 42);
    const begin = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
    files.set(archive.toString('utf8', at + 46, at + 46 + nameLength), inflateRawSync(archive.subarray(begin, begin + packed)));
    at += 46 + nameLength;
  }
  return files;
}

test('the archive holds the extension, its schemas and the component, and nothing else', () => {
  // Parts of bundles have a hash in their names.
  const names = [...unpack(vsix).keys()].map((name) => name.replace(/-[0-9A-Z]{8}\.mjs$/, '-HASH.mjs'));
  assert.deepEqual(names.sort(), [
    '[Content_Types].xml',
    'extension.vsixmanifest',
    'extension/LICENSE-APACHE',
    'extension/LICENSE-MIT',
    'extension/README.md',
    'extension/dist/extension.cjs',
    'extension/dist/gate-worker.cjs',
    'extension/dist/hook-sandbox/jco-transpile.LICENSE.txt',
    'extension/dist/hook-sandbox/js-component-bindgen-component.core.wasm',
    'extension/dist/hook-sandbox/js-component-bindgen-component.core2.wasm',
    'extension/dist/hook-sandbox/main.mjs',
    'extension/dist/hook-sandbox/transpile-HASH.mjs',
    'extension/dist/mcp.LICENSES.txt',
    'extension/dist/mcp.js',
    'extension/dist/package.json',
    'extension/dist/tollgate.core.wasm',
    'extension/dist/tollgate.core2.wasm',
    'extension/dist/tollgate.core3.wasm',
    'extension/media/icon.png',
    'extension/media/tollgate.svg',
    'extension/package.json',
    'extension/schemas/config.schema.json',
    'extension/schemas/extension.schema.json',
    'extension/schemas/hooks.schema.json',
    'extension/schemas/intents.schema.json',
  ]);
});

test('everything that the manifest names is in the archive', () => {
  const files = unpack(vsix);
  const { contributes } = manifest;
  const named = [
    manifest.main,
    manifest.icon,
    ...contributes.viewsContainers.activitybar.map(({ icon }) => icon),
    ...[...contributes.jsonValidation, ...contributes.yamlValidation].map(({ url }) => url),
  ];
  for (const name of named) assert.ok(files.has(path.posix.join('extension', name)), name);
  assert.deepEqual(JSON.parse(files.get('extension/package.json')), manifest);
  const core = fs.readFileSync(path.join(wrapper, 'dist/tollgate.core.wasm'));
  assert.ok(files.get('extension/dist/tollgate.core.wasm').equals(core), 'the same bytes as in the npm package');
});

test('the same files make the same archive', async () => {
  const { archive } = await import('../vscode/pack.mjs');
  const files = new Map([['package.json', path.join(wrapper, 'vscode/package.json')]]);
  assert.ok(archive(files).equals(archive(files)));
});

test('the gate is nowhere in the code that runs in the extension host', () => {
  for (const name of ['vscode/dist/extension.cjs', 'dist/vscode.js', 'dist/vscode.cjs']) {
    const code = fs.readFileSync(path.join(wrapper, name), 'utf8');
    assert.ok(!code.includes('WebAssembly'), name);
  }
  assert.ok(fs.readFileSync(path.join(wrapper, 'dist/gate-worker.cjs'), 'utf8').includes('WebAssembly'));
});

/** An editor API in which every function exists and does nothing, except those given. */
function editorWith(given) {
  const nothing = new Proxy(function () {}, {
    get: (_, name) =>
      name === Symbol.toPrimitive
        ? () => 0
        : name === Symbol.iterator
          ? [][Symbol.iterator]
          : name === 'then'
            ? undefined
            : nothing,
    set: () => true,
    apply: () => nothing,
    construct: () => nothing,
  });
  const names = fs.readFileSync(path.join(wrapper, 'dist/vscode.cjs'), 'utf8').matchAll(/\bvscode\d*\.(\w+)/g);
  return { ...Object.fromEntries([...names].map(([, name]) => [name, nothing])), ...given };
}

test('every declared command is registered, and every registered one declared', async () => {
  const registered = [];
  const vscode = editorWith({
    commands: {
      registerCommand: (name) => {
        registered.push(name);
        return { dispose: () => {} };
      },
    },
    extensions: { getExtension: () => undefined },
    lm: undefined,
    TextDocumentSaveReason: { Manual: 1, AfterDelay: 2, FocusOut: 3 },
  });
  const require = createRequire(import.meta.url);
  const { default: Module } = await import('node:module');
  const load = Module._load;
  Module._load = (name, ...rest) => (name === 'vscode' ? vscode : load(name, ...rest));
  try {
    const { activateTollgate } = require('../dist/vscode.cjs');
    const state = new Map();
    const workspaceState = { get: (key) => state.get(key), update: async (key, value) => state.set(key, value) };
    const api = await activateTollgate({
      extension: { id: 'test.test', packageJSON: manifest },
      subscriptions: [],
      workspaceState,
    });
    assert.match(api.session, /^vscode-[0-9a-f]{8}$/);
    assert.equal(state.get('tollgate.session'), api.session);
    await api.dispose();
  } finally {
    Module._load = load;
  }
  assert.deepEqual(registered.sort(), manifest.contributes.commands.map(({ command }) => command).sort());
});

test('the types stand without the sources', () => {
  const folder = fs.mkdtempSync(path.join(wrapper, 'generated', 'types test '));
  try {
    const use = `import type { ExtensionContext } from 'vscode';
import { activateTollgate } from 'tollgate/vscode';
export async function activate(context: ExtensionContext): Promise<string> {
  const api = await activateTollgate(context);
  const { verdict } = await api.preTool({ call: 'c1', tool: 'write', args: {} });
  return verdict;
}
`;
    fs.writeFileSync(path.join(folder, 'use.mts'), use);
    fs.writeFileSync(path.join(folder, 'use.cts'), use);
    const tsc = path.join(wrapper, 'node_modules/typescript/bin/tsc');
    const strict = ['--ignoreConfig', '--noEmit', '--strict', '--module', 'NodeNext', '--target', 'ES2022', '--types', 'node'];
    execFileSync(process.execPath, [tsc, ...strict, path.join(folder, 'use.mts'), path.join(folder, 'use.cts')], {
      stdio: 'pipe',
    });
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});

test("the tools that the manifest declares are Tollgate's own, in its own words", () => {
  const { folder, discard } = createTemporaryFolder();
  try {
    const own = listOwnTools(createTollgate({ workspace: folder, home: folder }));
    const declared = manifest.contributes.languageModelTools.map(({ name, displayName, modelDescription, inputSchema }) => [
      name,
      displayName,
      modelDescription,
      inputSchema,
    ]);
    assert.deepEqual(
      declared,
      own.map(({ name, title, description, schema }) => [name, title, description, schema]),
    );
  } finally {
    discard();
  }
});
