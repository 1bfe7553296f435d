// The workspace that the tests open: two intents, a ledger with a few entries, and a hook.
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { createTollgate } from 'tollgate';
import { RECORDER } from '../recorder.mjs';

export const INTENTS = `active_intents:
  - id: INT-001
    name: Login hardening
    description: Rate-limit and audit the login flow.
    status: IN_PROGRESS
    owned_scope: [src/auth/**, docs/auth.md]
    constraints: [Keep the public API stable.]
    acceptance_criteria: [Five failed logins lock the account.]
  - id: INT-002
    name: Billing rounding
    status: PLANNED
    owned_scope: [src/billing/**]
  - id: INT-000
    name: Project skeleton
    status: COMPLETED
    owned_scope: ["**"]
`;

/** Writes the event to a file, so that the test sees that the script ran. */
const SCRIPT = `import { appendFileSync } from 'node:fs';
appendFileSync('hook-ran.txt', process.env.TOLLGATE_EVENT + '\\n');
console.log('checked, token=ghp_0123456789abcdefghijklmnopqrstuvwxyz');
`;

const DECLARED = {
  schemaVersion: 1,
  hooks: [
    {
      id: 'note-save',
      trigger: 'onDidSaveTextDocument',
      pattern: 'src/**',
      command: ['node', 'hooks/note.mjs'],
      timeoutMs: 10_000,
    },
    { id: 'note-commit', trigger: 'gitCommit', allowGit: true, repoRoot: '.', command: ['node', 'hooks/note.mjs'] },
    { id: 'ask-model', trigger: 'onDidSaveTextDocument', pattern: 'docs/**', prompt: 'Is this clear?' },
  ],
};

/** The contents of the file. */
export const HOOKS = `${JSON.stringify(DECLARED, null, 2)}\n`;

function write(root, files) {
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(root, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
  }
}

/** Creates the workspace. The entries come from calls through a gate, as an agent makes them. */
export function makeWorkspace(root, home) {
  write(home, RECORDER);
  write(root, {
    '.orchestration/active_intents.yaml': INTENTS,
    '.tollgate/hooks.json': HOOKS,
    'hooks/note.mjs': SCRIPT,
    'src/auth/login.ts': 'export const login = () => 1;\n',
    'src/auth/limit.ts': 'export const limit = 5;\n',
    'src/billing/pay.ts': 'export const pay = () => 2;\n',
    'docs/auth.md': '# Login\n',
  });
  const gate = createTollgate({ workspace: root, home });
  gate.selectIntent('agent', 'INT-001');
  for (const [at, file, text] of [
    [1, 'src/auth/login.ts', 'export const login = () => limit(5);\n'],
    [2, 'docs/auth.md', '# Login\n\nFive failed logins lock the account.\n'],
    [3, 'src/auth/login.ts', 'import { limit } from "./limit";\nexport const login = () => limit;\n'],
  ]) {
    const call = { session: 'agent', call: `c${at}`, tool: 'write_to_file', args: { path: file, content: text } };
    const { verdict } = gate.preTool(call);
    if (verdict !== 'allow') throw new Error(`the workspace cannot be made: ${file} is ${verdict}`);
    fs.writeFileSync(path.join(root, file), text);
    gate.postTool(call, { status: 'done' });
  }
  git(root, 'init', '--quiet', '--initial-branch=main');
  git(root, 'add', '.');
  commit(root, 'begin');
  return gate;
}

export function git(root, ...words) {
  execFileSync('git', ['-C', root, ...words], { stdio: 'ignore' });
}

export function commit(root, message) {
  git(
    root,
    '-c',
    'user.name=Test',
    '-c',
    'user.email=test@example.org',
    'commit',
    '--quiet',
    '--all',
    '--allow-empty',
    '-m',
    message,
  );
}
