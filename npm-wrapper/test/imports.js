// The component's imports on their own, built from the sources.
import * as path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as esbuild from 'esbuild';
import { createTemporaryFolder } from './workspace_folder.js';

const { folder, discard } = createTemporaryFolder();
process.on('exit', discard);

export const bundle = path.join(folder, 'imports.mjs');
const names = [
  'files/roots',
  'files/state',
  'files/workspace',
  'files/records',
  'cli/lines',
  'component/json',
  'programs/process',
  'hooks/script',
];
const contents = names.map((name) => `export * from './${name}.js';`).join('\n');
esbuild.buildSync({
  stdin: { contents, resolveDir: fileURLToPath(new URL('../src', import.meta.url)), loader: 'ts' },
  bundle: true,
  format: 'esm',
  platform: 'node',
  outfile: bundle,
});

const sources = await import(pathToFileURL(bundle));
export const {
  Roots,
  stateFolder,
  stateOf,
  workspaceImport,
  recordsImport,
  LineSplitter,
  isBlank,
  toWellFormedBytes,
  run,
  exitCode,
  copyScript,
} = sources;
