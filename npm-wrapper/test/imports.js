// The imports of the component by themselves, as the sources make them.
import * as path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as esbuild from 'esbuild';
import { freshFolder } from './workspace_folder.js';

const { folder, discard } = freshFolder();
process.on('exit', discard);

export const bundle = path.join(folder, 'imports.mjs');
const contents = ['roots', 'workspace', 'records', 'lines', 'process', 'script'].map((name) => `export * from './${name}.js';`).join('\n');
esbuild.buildSync({
  stdin: { contents, resolveDir: fileURLToPath(new URL('../src', import.meta.url)), loader: 'ts' },
  bundle: true,
  format: 'esm',
  platform: 'node',
  outfile: bundle,
});

export const { Roots, workspaceImport, recordsImport, Lines, isBlank, run, exitCode, copyOf } = await import(pathToFileURL(bundle));
