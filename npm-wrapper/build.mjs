// Makes dist/ from the component: `node build.mjs --component PATH`.
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
await bundleExtension();
for (const name of modules)
  for (const folder of [at('dist'), at('vscode', 'dist')]) fs.copyFileSync(at('generated', name), path.join(folder, name));
writeTypes();
console.log(`dist/ holds tollgate ${version} (component ${digest})`);
console.log(`vscode/dist/tollgate.vsix has ${Math.ceil(pack(version) / 1024)} KiB`);

function readComponent(file) {
  try {
    return fs.readFileSync(file);
  } catch (error) {
    console.error(`cannot read the component: ${error.message}; build it first, or name it with --component`);
    process.exit(2);
  }
}

/** Writes what the transpiler makes of the component to generated/, and returns the names of the core modules. */
async function writeGlue(bytes) {
  // Imports come from the sources beside, so nothing is mapped to the transpiler's own WASI packages.
  const options = { name: 'tollgate', instantiation: 'sync', wasiShim: false, nodejsCompat: false };
  const { files } = await transpile(bytes, options);
  fs.rmSync(at('generated'), { recursive: true, force: true });
  const modules = [];
  for (const [name, content] of Object.entries(files)) {
    const file = path.resolve(at('generated'), name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, name === 'tollgate.js' ? improved(Buffer.from(content).toString()) : content);
    if (name.endsWith('.wasm')) modules.push(name);
  }
  return modules;
}

/** The glue with what it lacks. */
function improved(glue) {
  return encodingInPlace(keepingMarks(glue));
}

/** The glue's decoder would drop a byte order mark that begins a string, and so turn one path into another. */
function keepingMarks(glue) {
  const patched = glue.replaceAll('new TextDecoder()', "new TextDecoder('utf-8', { ignoreBOM: true })");
  if (patched === glue) throw new Error('the glue decodes text in a new way; make sure that it keeps byte order marks');
  return patched;
}

/** Leaves sources that match out of the bundle, which imports the bundle at `file` beside it instead. */
function beside(filter, file) {
  const resolved = { path: file, external: true };
  return { name: `beside ${file}`, setup: (build) => build.onResolve({ filter }, () => resolved) };
}

/** The client for MCP servers, which is loaded when it is first needed. */
function mcpBeside() {
  return beside(/^\.\.?\/(programs\/)?mcp\.js$/, './mcp.js');
}

/** The package's main entry, so that whoever loads both has its code once. */
function indexBeside(file) {
  return beside(/\/api\/index\.js$/, file);
}

/** The glue encodes every string into an array of its own first, which takes a tenth of a call: most strings are short and ASCII. */
function encodingInPlace(glue) {
  const plain =
    /let buf = utf8Encoder\.encode\(s\);\s*let ptr = realloc\(0, 0, 1, buf\.length\);\s*new Uint8Array\(memory\.buffer\)/;
  const patched = glue.replace(
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
  if (patched === glue) throw new Error('the glue encodes text in a new way; look at what that costs');
  return patched.replace('let utf8EncodedLen = 0;', 'let utf8EncodedLen = 0;\n  let utf8Memory = new Uint8Array(0);');
}

function common() {
  return {
    absWorkingDir: here,
    bundle: true,
    platform: 'node',
    target: 'node20',
    // The editor gives it to its extensions.
    external: ['vscode'],
    plugins: [mcpBeside()],
    define: { TOLLGATE_VERSION: JSON.stringify(version), TOLLGATE_DIGEST: JSON.stringify(digest) },
    logLevel: 'warning',
  };
}

/** CommonJS does not say where it stands in the way that the sources ask. */
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

/** Takes the core modules from inside the bundle. */
function inline() {
  const resolved = { path: at('src', 'component', 'core_inline.ts') };
  return { name: 'inline', setup: (build) => build.onResolve({ filter: /\/core_files\.js$/ }, () => resolved) };
}

function packed() {
  // The best quality takes ten times as long for a tenth less.
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
  const pack = (name) => brotliCompressSync(fs.readFileSync(at('generated', name)), { params }).toString('base64');
  return Object.fromEntries(modules.map((name) => [name, pack(name)]));
}

/** The client for MCP servers, which the entry points load when they first need it, and the licences of what it carries. */
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
    // A request to a server that hangs must not keep the process.
    banner: { js: 'const setTimeout = (...words) => globalThis.setTimeout(...words).unref();' },
  });
  const packages = new Set(
    Object.keys(metafile.inputs).flatMap((file) => file.match(/^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//)?.[1] ?? []),
  );
  const notices = [...packages].sort().map((folder) => {
    const licence = fs.readdirSync(at(folder)).find((name) => /^licen[cs]e/i.test(name));
    if (licence === undefined) throw new Error(`${folder} goes into the package, and has no licence`);
    const { name, version } = JSON.parse(fs.readFileSync(at(folder, 'package.json'), 'utf8'));
    return `${name} ${version}\n\n${fs.readFileSync(at(folder, licence), 'utf8').trim()}\n`;
  });
  fs.writeFileSync(at('dist', 'mcp.LICENSES.txt'), `mcp.js carries these packages.\n\n${notices.join('\n---\n\n')}`);
}

/** The extension's own code, in vscode/dist/. */
async function bundleExtension() {
  fs.rmSync(at('vscode', 'dist'), { recursive: true, force: true });
  await esbuild.build({ ...commonJs('vscode/src/extension.mts', 'vscode/dist/extension.cjs'), minifySyntax: true });
  for (const name of ['gate-worker.cjs', 'mcp.js', 'mcp.LICENSES.txt'])
    fs.copyFileSync(at('dist', name), at('vscode', 'dist', name));
  // The extension's own manifest says nothing of modules, and without a word one of these would be taken for CommonJS.
  fs.writeFileSync(at('vscode', 'dist', 'package.json'), '{ "type": "module" }\n');
}

/** Writes the declarations that the entry points need, once for each module system, all in one folder. */
function writeTypes() {
  const tsc = at('node_modules', 'typescript', 'bin', 'tsc');
  const emit = ['--noEmit', 'false', '--declaration', '--emitDeclarationOnly', '--stripInternal', '--outDir', 'generated/types'];
  execFileSync(process.execPath, [tsc, '--project', here, ...emit], { cwd: here, stdio: 'inherit' });
  const names = new Map([
    ['api/index', 'index'],
    ['opencode/index', 'opencode'],
    ['vscode/index', 'vscode'],
  ]);
  // Grows while it is walked.
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
