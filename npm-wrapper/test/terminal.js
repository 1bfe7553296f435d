// A person at a terminal, for commands that only a person may run. `script` provides the terminal, detached from the test's
// processes (which an agent program may have started) and with its own environment.
import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * Runs a program as a person would. `typed` is entered line by line, one line for each question. Returns the exit code, standard
 * output and standard error. `terminal` is the program that provides the terminal.
 */
export function atTerminal([program, ...words], { cwd, env, typed = 'y\ny\n', terminal = 'script' }) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tollgate-person-'));
  const at = (name) => path.join(folder, name);
  try {
    fs.writeFileSync(at('typed'), typed);
    const set = Object.entries(env).map(([name, value]) => quoted(`${name}=${value}`));
    const command = ['env', '-i', ...set, ...[program, ...words].map(quoted)].join(' ');
    const line = `cd ${quoted(cwd)} && ${command} >${quoted(at('out'))} 2>${quoted(at('err'))}; echo $? >${quoted(at('code'))}`;
    const stdio = [fs.openSync(at('typed'), 'r'), 'pipe', 'ignore'];
    try {
      // Its output ends when the terminal closes.
      execFileSync('setsid', ['-f', terminal, '-qec', line, '/dev/null'], {
        env: { PATH: '/usr/bin:/bin', SHELL: '/bin/sh' },
        stdio,
      });
    } finally {
      fs.closeSync(stdio[0]);
    }
    const read = (name) => fs.readFileSync(at(name), 'utf8');
    return { status: Number(read('code')), stdout: read('out'), stderr: read('err') };
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs a program without a terminal. */
export function withoutTerminal(command, { cwd, env }) {
  const { status, stdout, stderr } = spawnSync('/usr/bin/setsid', ['--wait', ...command], {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return { status, stdout, stderr };
}
