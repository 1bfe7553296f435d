// Builds dist/ from the component: `node build.mjs --component PATH`.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { brotliCompressSync, constants } from 'node:zlib';
import { transpile } from '@bytecodealliance/jco';
import * as esbuild from 'esbuild';
import { pack } from './vscode/pack.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const at = (...names) => path.join(here, ...names);

const { values } = parseArgs({ options: { component: { type: 'string', default: at('..', 'target', 'tollgate.wasm') } } });
const component = readComponent(path.resolve(values.component));
const digest = `sha256:${createHash('sha256').update(component).digest('hex')}`;
const { version } = JSON.parse(fs.readFileSync(at('package.json'), 'utf8'));

const modules = await writeGlue(component);
fs.rmSync(at('dist'), { recursive: true, force: true });
await bundle();
await bundleSandbox();
await bundleExtension();
for (const name of modules)
  for (const folder of [at('dist'), at('vscode', 'dist')]) fs.copyFileSync(at('generated', name), path.join(folder, name));
writeTypes();
console.log(`dist/ contains tollgate ${version} (component ${digest})`);
console.log(`vscode/dist/tollgate.vsix has ${Math.ceil(pack(version) / 1024)} KiB`);

function readComponent(file) {
  try {
    return fs.readFileSync(file);
  } catch (error) {
    console.error(`cannot read the component: ${error.message}; build it first, or pass its path with --component`);
    process.exit(2);
  }
}

/** Writes the code that the transpiler generates from the component to generated/, and returns the names of the core modules. */
async function writeGlue(bytes) {
  // The imports are implemented in src/, so nothing is mapped to the transpiler's own WASI packages.
  const options = { name: 'tollgate', instantiation: 'sync', wasiShim: false, nodejsCompat: false };
  const { files } = await transpile(bytes, options);
  fs.rmSync(at('generated'), { recursive: true, force: true });
  const modules = [];
  for (const [name, content] of Object.entries(files)) {
    const file = path.resolve(at('generated'), name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, name === 'tollgate.js' ? improve(Buffer.from(content).toString()) : content);
    if (name.endsWith('.wasm')) modules.push(name);
  }
  return modules;
}

/** Fixes two shortcomings of the generated code. */
function improve(code) {
  return encodeInPlace(keepByteOrderMarks(code));
}

/** The generated decoder would drop a byte order mark at the beginning of a string, and so turn one path into another. */
function keepByteOrderMarks(code) {
  const patched = code.replaceAll('new TextDecoder()', "new TextDecoder('utf-8', { ignoreBOM: true })");
  if (patched === code) throw new Error('the generated code decodes text in a new way; make sure that it keeps byte order marks');
  return patched;
}

/** Replaces matching sources by an import of the bundle `file` in the same folder. */
function beside(filter, file) {
  const resolved = { path: file, external: true };
  return { name: `beside ${file}`, setup: (build) => build.onResolve({ filter }, () => resolved) };
}

/** The MCP client, which is loaded when it is first needed. */
function mcpBeside() {
  return beside(/^\.\.?\/(programs\/)?mcp\.js$/, './mcp.js');
}

/** The main entry of the package, so that its code exists only once. */
function indexBeside(file) {
  return beside(/\/api\/index\.js$/, file);
}

/** The generated code encodes every string into a separate array first, which takes a tenth of a call: most strings are short and ASCII. */
function encodeInPlace(code) {
  const plain =
    /let buf = utf8Encoder\.encode\(s\);\s*let ptr = realloc\(0, 0, 1, buf\.length\);\s*new Uint8Array\(memory\.buffer\)/;
  const patched = code.replace(
    plain,
    `const { length } = s;
    let ptr = length <= 256 ? realloc(0, 0, 1, length) : 0;
    if (ptr !== 0) {
      if (utf8Memory.buffer !== memory.buffer) utf8Memory = new Uint8Array(memory.buffer);
      let at = 0;
      for (let code; at < length && (code = s.charCodeAt(at)) < 128; at += 1) utf8Memory[ptr + at] = code;
      if (at === length) {
        utf8EncodedLen = length;
        return ptr;
      }
    }
    let buf = utf8Encoder.encode(s);
    ptr = realloc(ptr, ptr === 0 ? 0 : length, 1, buf.length);
    new Uint8Array(memory.buffer)`,
  );
  if (patched === code) throw new Error('the generated code encodes text in a new way; measure what that costs');
  return patched.replace('let utf8EncodedLen = 0;', 'let utf8EncodedLen = 0;\n  let utf8Memory = new Uint8Array(0);');
}

function common() {
  return {
    absWorkingDir: here,
    bundle: true,
    platform: 'node',
    target: 'node20',
    // Provided by the editor.
    external: ['vscode'],
    plugins: [mcpBeside()],
    define: { TOLLGATE_VERSION: JSON.stringify(version), TOLLGATE_DIGEST: JSON.stringify(digest) },
    logLevel: 'warning',
  };
}

/** CommonJS has no `import.meta.url`, so it is defined here. */
function commonJs(entry, outfile) {
  const options = common();
  return {
    ...options,
    entryPoints: [entry],
    format: 'cjs',
    outfile,
    define: { ...options.define, 'import.meta.url': 'bundleUrl' },
    banner: { js: "const bundleUrl = require('node:url').pathToFileURL(__filename).href;" },
  };
}

async function bundle() {
  const esm = (entry, outfile) => ({ ...common(), entryPoints: [entry], format: 'esm', outfile });
  await esbuild.build(esm('src/api/index.ts', 'dist/index.js'));
  await bundleMcp();
  const entryPoints = { eval: 'src/cli/eval_main.ts', cli: 'src/cli/main.ts' };
  const commands = { ...common(), entryPoints, format: 'esm', outdir: 'dist', splitting: true };
  await esbuild.build({ ...commands, chunkNames: 'cli-[name]-[hash]', plugins: [mcpBeside(), indexBeside('./index.js')] });
  await esbuild.build(esm('src/vscode/index.ts', 'dist/vscode.js'));
  await esbuild.build(commonJs('src/api/index.ts', 'dist/index.cjs'));
  await esbuild.build(commonJs('src/vscode/index.ts', 'dist/vscode.cjs'));
  await esbuild.build(commonJs('src/vscode/worker.ts', 'dist/gate-worker.cjs'));
  const opencode = { ...common(), entryPoints: ['src/opencode/index.ts'], format: 'esm' };
  await esbuild.build({ ...opencode, outfile: 'dist/opencode.js', plugins: [mcpBeside(), indexBeside('./index.js')] });
  await esbuild.build({
    ...opencode,
    format: 'cjs',
    outfile: 'dist/opencode.cjs',
    plugins: [mcpBeside(), indexBeside('./index.cjs')],
  });
  const define = { ...opencode.define, TOLLGATE_MODULES: JSON.stringify(packed()) };
  await esbuild.build({
    ...opencode,
    define,
    outfile: 'dist/opencode.bundle.js',
    plugins: [mcpBeside(), inline()],
    minifyWhitespace: true,
  });
}

/** Uses the core modules that are embedded in the bundle. */
function inline() {
  const resolved = { path: at('src', 'component', 'core_inline.ts') };
  return { name: 'inline', setup: (build) => build.onResolve({ filter: /\/core_files\.js$/ }, () => resolved) };
}

function packed() {
  // The highest quality takes ten times as long and saves only a tenth.
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
  const pack = (name) => brotliCompressSync(fs.readFileSync(at('generated', name)), { params }).toString('base64');
  return Object.fromEntries(modules.map((name) => [name, pack(name)]));
}

/** Bundles the MCP client, which the entry points load when it is first needed, and the licences of its dependencies. */
async function bundleMcp() {
  const { metafile } = await esbuild.build({
    ...common(),
    plugins: [],
    entryPoints: ['src/programs/mcp.ts'],
    format: 'esm',
    outfile: 'dist/mcp.js',
    minify: true,
    legalComments: 'none',
    metafile: true,
    // A request to a hanging server must not keep the process alive.
    banner: { js: 'const setTimeout = (...words) => globalThis.setTimeout(...words).unref();' },
  });
  const packages = new Set(
    Object.keys(metafile.inputs).flatMap((file) => file.match(/^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//)?.[1] ?? []),
  );
  const notices = [...packages].sort().map((folder) => {
    const licence = fs.readdirSync(at(folder)).find((name) => /^licen[cs]e/i.test(name));
    if (licence === undefined) throw new Error(`${folder} is part of the package, but has no licence`);
    const { name, version } = JSON.parse(fs.readFileSync(at(folder, 'package.json'), 'utf8'));
    return `${name} ${version}\n\n${fs.readFileSync(at(folder, licence), 'utf8').trim()}\n`;
  });
  fs.writeFileSync(at('dist', 'mcp.LICENSES.txt'), `mcp.js contains these packages.\n\n${notices.join('\n---\n\n')}`);
}

/** The program that runs hooks of third parties where the native command is not installed, with the transpiler that it needs. */
async function bundleSandbox() {
  const transpiler = at('node_modules', '@bytecodealliance', 'jco-transpile');
  await esbuild.build({
    ...common(),
    plugins: [],
    entryPoints: { main: 'src/hooks/sandbox/main.ts' },
    format: 'esm',
    outdir: 'dist/hook-sandbox',
    outExtension: { '.js': '.mjs' },
    splitting: true,
    chunkNames: '[name]-[hash]',
    minifyWhitespace: true,
    // The transpiler is a component itself, whose imports do nothing here.
    alias: Object.fromEntries(
      ['cli', 'clocks', 'filesystem', 'io', 'random'].map((name) => [
        `@bytecodealliance/preview2-shim/${name}`,
        './src/hooks/sandbox/transpiler_wasi.ts',
      ]),
    ),
  });
  for (const name of ['js-component-bindgen-component.core.wasm', 'js-component-bindgen-component.core2.wasm'])
    fs.copyFileSync(path.join(transpiler, 'vendor', name), at('dist', 'hook-sandbox', name));
  fs.copyFileSync(path.join(transpiler, 'LICENSE'), at('dist', 'hook-sandbox', 'jco-transpile.LICENSE.txt'));
}

/** The extension's own code, in vscode/dist/. */
async function bundleExtension() {
  fs.rmSync(at('vscode', 'dist'), { recursive: true, force: true });
  await esbuild.build({ ...commonJs('vscode/src/extension.mts', 'vscode/dist/extension.cjs'), minifySyntax: true });
  for (const name of ['gate-worker.cjs', 'mcp.js', 'mcp.LICENSES.txt'])
    fs.copyFileSync(at('dist', name), at('vscode', 'dist', name));
  fs.cpSync(at('dist', 'hook-sandbox'), at('vscode', 'dist', 'hook-sandbox'), { recursive: true });
  // The manifest of the extension does not set a module type, so this file would be treated as CommonJS.
  fs.writeFileSync(at('vscode', 'dist', 'package.json'), '{ "type": "module" }\n');
}

/** Writes the type declarations of the entry points for both module systems, all in one folder. */
function writeTypes() {
  const tsc = at('node_modules', 'typescript', 'bin', 'tsc');
  const emit = ['--noEmit', 'false', '--declaration', '--emitDeclarationOnly', '--stripInternal', '--outDir', 'generated/types'];
  execFileSync(process.execPath, [tsc, '--project', here, ...emit], { cwd: here, stdio: 'inherit' });
  const names = new Map([
    ['api/index', 'index'],
    ['opencode/index', 'opencode'],
    ['vscode/index', 'vscode'],
  ]);
  // Entries are added during the iteration.
  for (const [source, name] of names) {
    const text = fs.readFileSync(at('generated', 'types', 'src', `${source}.d.ts`), 'utf8');
    if (text.includes('generated/')) throw new Error(`the public types in src/${source}.ts depend on generated ones`);
    const declarations = (ending) =>
      text.replaceAll(/from '(\.\.?\/[\w/]+)\.js'/g, (_, to) => {
        const other = path.posix.join(path.posix.dirname(source), to);
        if (!names.has(other)) {
          const short = path.posix.basename(other);
          if ([...names.values()].includes(short)) throw new Error(`two files of public types are called ${short}`);
          names.set(other, short);
        }
        return `from './${names.get(other)}.${ending}'`;
      });
    fs.writeFileSync(at('dist', `${name}.d.ts`), declarations('js'));
    fs.writeFileSync(at('dist', `${name}.d.cts`), declarations('cjs'));
  }
}
