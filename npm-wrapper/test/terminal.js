// A person at a terminal, for commands that only a person may run. `script` provides the terminal, detached from the test's
// processes (which an agent program may have started) and with its own environment.
import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';

/** Ctrl-D at the beginning of a line, several times: each ends the input of one reader. */
const END_OF_INPUT = '\u0004'.repeat(8);

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * Runs a program as a person would. `typed` is entered line by line, one line for each question. Returns the exit code, standard
 * output and standard error. `terminal` is the program that provides the terminal.
 */
export function atTerminal([program, ...words], { cwd, env, typed = 'y\ny\n', terminal = 'script' }) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tollgate-person-'));
  const at = (name) => path.join(folder, name);
  try {
    execFileSync('mkfifo', [at('typed')]);
    const set = Object.entries(env).map(([name, value]) => quoted(`${name}=${value}`));
    const command = ['env', '-i', ...set, ...[program, ...words].map(quoted)].join(' ');
    const line = `cd ${quoted(cwd)} && ${command} >${quoted(at('out'))} 2>${quoted(at('err'))}; echo $? >${quoted(at('code'))}`;
    // Open for reading and writing, so that it never ends: then `script` would wait two seconds for somebody to read what was typed.
    const keyboard = fs.openSync(at('typed'), 'r+');
    try {
      fs.writeSync(keyboard, typed + END_OF_INPUT);
      // Its output ends when the terminal closes.
      execFileSync('setsid', ['-f', terminal, '-qec', line, '/dev/null'], {
        env: { PATH: '/usr/bin:/bin', SHELL: '/bin/sh' },
        stdio: [keyboard, 'pipe', 'ignore'],
      });
    } finally {
      fs.closeSync(keyboard);
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
