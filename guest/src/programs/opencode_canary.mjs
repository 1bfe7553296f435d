// Loads a plugin as OpenCode does and lets it see a call that must be denied: a denial is thrown.
// Prints `denied`, `allowed`, `failing` (the gate behind it does not work) or `absent` (OpenCode has not installed it yet).
// With a shell command, prints the arguments that the tool would be run with.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const [named, from, directory, command] = process.argv.slice(2);

function end(said) {
  console.log(said);
  process.exit(0);
}

// A package is named in the configuration, and OpenCode installs it into its cache.
function installed(name) {
  const bare = name.replace(/(?<=.)@[^/@]*$/, '');
  const caches = ['node_modules', `packages/${name}/node_modules`, `packages/${bare}@latest/node_modules`];
  const folders = caches.map((cache) => join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'opencode', cache));
  for (let folder = from; ; folder = dirname(folder)) {
    folders.push(join(folder, 'node_modules'));
    if (folder === dirname(folder)) break;
  }
  return folders.map((folder) => join(folder, bare)).find((path) => existsSync(path));
}

// Of a package, `./server` is for OpenCode.
function entry(path) {
  if (!statSync(path).isDirectory()) return path;
  const about = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
  let entry = about.exports?.['./server'] ?? about.exports?.['.'] ?? about.main ?? 'index.js';
  while (typeof entry === 'object') entry = entry.import ?? entry.default;
  return join(path, entry);
}

const isPath = named.startsWith('.') || resolve(named) === named || /^[A-Za-z]:/.test(named);
const path = named.startsWith('file:') ? fileURLToPath(named) : isPath ? resolve(from, named) : installed(named);
if (path === undefined) end('absent');
const loaded = (await import(pathToFileURL(entry(path)).href)).default;
const plugin = typeof loaded === 'function' ? loaded : loaded.server;
const hooks = await plugin({ directory, worktree: directory, project: { id: 'canary', worktree: directory }, client: {} });
const input = { tool: command === undefined ? 'write' : 'bash', sessionID: 'tollgate-doctor', callID: 'canary' };
const args = command === undefined ? { filePath: directory + '/canary.txt', content: 'canary' } : { command };
const output = { args };
try {
  await hooks['tool.execute.before'](input, output);
} catch (error) {
  const said = String(error.message);
  end(said.includes('(gate_fault)') || said.includes('so nothing is known about the call') ? 'failing' : 'denied');
}
end(command === undefined ? 'allowed' : JSON.stringify(output.args));
