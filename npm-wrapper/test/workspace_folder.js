// Workspaces for tests: each is a new folder that is removed when the test ends.
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';

const INTENTS = `active_intents:
  - id: INT-001
    name: Login hardening
    status: IN_PROGRESS
    owned_scope: ["src/auth/**"]
`;

/** A new folder with a resolved path, and a function that removes it. */
export function createTemporaryFolder(prefix = 'tollgate test ') {
  const folder = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), prefix));
  return { folder, discard: () => fs.rmSync(folder, { recursive: true, force: true }) };
}

/** Writes files, given as `{ path: content }`. */
export function writeFiles(folder, files) {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(folder, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, content);
  }
}

/** A workspace governed by the intent INT-001, which owns `src/auth/**`, with a home folder beside it. */
export function createGovernedWorkspace() {
  const { folder, discard } = createTemporaryFolder();
  const workspace = path.join(folder, 'work space');
  const home = path.join(folder, 'home');
  fs.mkdirSync(home);
  writeFiles(workspace, { '.orchestration/active_intents.yaml': INTENTS, 'src/auth/login.ts': 'login' });
  return { workspace, home, discard };
}

/** The state folder of the only workspace that was used with this home folder. */
export function stateOf(home) {
  const folder = path.join(home, '.local/state/tollgate');
  const [only, ...more] = fs.readdirSync(folder);
  if (more.length > 0) throw new Error(`several workspaces have their state in ${folder}`);
  return path.join(folder, only);
}
