// The steps that prepare a fixture's workspace; `fixtures/README.md` lists them.
import * as fs from 'node:fs';
import * as path from 'node:path';

/** Executes a step in the workspace at `root`. */
export function executeStep(root, step) {
  const [[kind, value]] = Object.entries(step);
  const at = (name) => {
    const file = path.join(root, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    return file;
  };
  if (kind === 'write') fs.writeFileSync(at(value[0]), value[1]);
  else if (kind === 'home') fs.writeFileSync(at(path.join('../home', value[0])), value[1]);
  else if (kind === 'mkdir') fs.mkdirSync(at(value), { recursive: true });
  else if (kind === 'symlink') fs.symlinkSync(value[0], at(value[1]));
  else if (kind === 'hardlink') fs.linkSync(at(value[0]), at(value[1]));
  else if (kind === 'remove') fs.rmSync(at(value), { recursive: true });
  else throw new Error(`unknown step ${kind}`);
}
