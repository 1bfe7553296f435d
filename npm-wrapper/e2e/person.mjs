// A person at a terminal, for commands that only one may give: `script` plays the terminal, away from the processes of the test,
// which may be an agent program's, and with an environment of its own.
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** Runs a program as a person would who says yes to every question, and returns what it prints. Throws where it fails. */
export function asPerson(program, words, { cwd, env }) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tollgate-person-'));
  const [typed, shown, code] = ['typed', 'shown', 'code'].map((name) => path.join(folder, name));
  try {
    fs.writeFileSync(typed, 'y\ny\n');
    const set = Object.entries(env).map(([name, value]) => quoted(`${name}=${value}`));
    const command = ['env', '-i', ...set, ...[program, ...words].map(quoted)].join(' ');
    const line = `cd ${quoted(cwd)} && ${command} >${quoted(shown)} 2>&1; echo $? >${quoted(code)}`;
    const stdio = [fs.openSync(typed, 'r'), 'pipe', 'ignore'];
    // The end of its output is the end of the terminal.
    execFileSync('setsid', ['-f', 'script', '-qec', line, '/dev/null'], { env: { PATH: '/usr/bin:/bin', SHELL: '/bin/sh' }, stdio });
    const output = fs.readFileSync(shown, 'utf8');
    if (fs.readFileSync(code, 'utf8').trim() !== '0') throw new Error(`${words.join(' ')}: ${output}`);
    return output;
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}
