// `tollgate eval`: answers operations, one JSON line each.
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { createTollgate, digest, type Tollgate, TollgateError, type TollgateOptions, version } from '../api/index.js';
import { FAILURE_EXIT_CODE } from './command.js';
import { isBlank, LineSplitter } from './lines.js';
import { ancestryReport } from './confirm.js';

const USAGE = 'usage: tollgate eval --workspace DIR [--home DIR] [--state DIR]   or: tollgate eval --version';

/** The answer to a line on which the gate failed. */
const FAILURE_ANSWER = JSON.stringify({
  error: { code: 'guest_trap', message: 'the gate failed on this line and was restarted; the next line works' },
});

/** The parsed command line; `undefined` if it is invalid. */
function parseCommandLine(args: string[]) {
  const option = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  try {
    const { values } = parseArgs({
      args,
      options: { workspace: option, home: option, state: option, version: flag, help: flag },
    });
    return values;
  } catch (error) {
    printError(error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

function printError(message: string): void {
  process.stderr.write(`tollgate: ${message}\n`);
}

function open(workspace: string, home: string | undefined, state: string | undefined): Tollgate | undefined {
  const log: TollgateOptions['log'] = (level, message) => {
    if (level === 'warn' || level === 'error') printError(`${level}: ${message}`);
  };
  try {
    return createTollgate({ workspace, home, state, log });
  } catch (error) {
    if (!(error instanceof TollgateError)) throw error;
    printError(error.code === 'workspace_missing' ? `${error.message} with --workspace` : error.message);
    return undefined;
  }
}

async function answer(gate: Tollgate, ancestry: Uint8Array, line: Uint8Array): Promise<string> {
  try {
    // With every line, because the instance that knew it may have failed while hooks ran.
    gate.perform(ancestry);
    return await gate.hooks.perform(line);
  } catch (error) {
    if (!(error instanceof TollgateError) || error.code !== 'guest_trap') throw error;
    printError(`error: ${error.message}`);
    return FAILURE_ANSWER;
  }
}

/** Answers every line of the input, one after the other. */
async function answerLines(gate: Tollgate): Promise<void> {
  const lines = new LineSplitter(gate.longestLine + 1);
  // This protocol is for host programs and cannot ask a person; but an agent could use it as well.
  const ancestry = Buffer.from(JSON.stringify(ancestryReport()));
  const reply = async (line: Uint8Array) => {
    if (isBlank(line)) return;
    if (!process.stdout.write(`${await answer(gate, ancestry, line)}\n`)) await once(process.stdout, 'drain');
  };
  for await (const bytes of process.stdin) {
    for (const line of lines.feed(bytes as Uint8Array)) await reply(line);
  }
  await reply(lines.takeRest());
  await gate.close();
}

export async function main(args: string[]): Promise<number> {
  const values = parseCommandLine(args);
  if (values === undefined || (values.workspace === undefined && !values.version && !values.help)) {
    if (values !== undefined) printError('`--workspace DIR` is missing');
    process.stderr.write(`${USAGE}\n`);
    return FAILURE_EXIT_CODE;
  }
  if (values.version || values.help) {
    process.stdout.write(values.version ? `tollgate ${version} (component ${digest})\n` : `${USAGE}\n`);
    return 0;
  }
  const gate = open(values.workspace ?? '', values.home, values.state);
  if (gate === undefined) return FAILURE_EXIT_CODE;
  await answerLines(gate);
  return 0;
}
