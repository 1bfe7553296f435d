// Options that choose the workspace, and opening its gate.
import * as fs from 'node:fs';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { createTollgate, Locator, type Tollgate, TollgateError } from '../api/index.js';
import { FAILURE_EXIT_CODE } from './command.js';
import { say, type Output, outputTo } from './output.js';

/** The gate's answer to a request. */
export type Answer = Record<string, unknown>;

/** An open gate, and how to print. */
export interface OpenGate {
  gate: Tollgate;
  /** Opens another gate for the same workspace. */
  reopen(): Tollgate;
  /** The canonical path of the workspace. */
  root: string;
  json: boolean;
  output: Output;
}

/** Why a command did not finish. */
export class CommandError extends Error {
  /** @param answer the gate's answer, for programs */
  constructor(
    message: string,
    readonly answer?: Answer,
  ) {
    super(message);
  }
}

/** The options that every command has. */
const OPTIONS = {
  workspace: { type: 'string' },
  home: { type: 'string' },
  state: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** How a command opens its gate. */
interface GateOptions {
  /** Use the current folder if there is no workspace yet. */
  here?: boolean;
  /** Print no warnings of the gate, because they are part of the command's result. */
  quiet?: boolean;
}

/** Runs a command with the gate of its workspace. The exit code is 0 for success, 1 if the answer is no, 2 for failure. */
export async function withGate<Options extends NonNullable<ParseArgsConfig['options']>>(
  args: string[],
  options: Options,
  usage: string,
  command: (opened: OpenGate, words: string[], values: Partial<Record<keyof Options, string>>) => boolean | Promise<boolean>,
  gateOptions: GateOptions = {},
): Promise<number> {
  let json = false;
  try {
    const { values, positionals } = parseOptions(args, options);
    if (values.help) {
      process.stdout.write(`${usage}\n`);
      return 0;
    }
    json = values.json === true;
    const opened = open(values, json, gateOptions);
    const done = await command(opened, positionals, values as Partial<Record<keyof Options, string>>);
    await opened.gate.close();
    return done ? 0 : 1;
  } catch (error) {
    if (json && error instanceof CommandError && error.answer !== undefined)
      process.stdout.write(`${JSON.stringify(error.answer)}\n`);
    say(error instanceof Error ? error.message : String(error));
    return FAILURE_EXIT_CODE;
  }
}

function parseOptions(args: string[], options: NonNullable<ParseArgsConfig['options']>) {
  try {
    const { values, positionals } = parseArgs({ args, options: { ...OPTIONS, ...options }, allowPositionals: true });
    return { values: values as Record<string, string | boolean | undefined>, positionals };
  } catch (error) {
    throw new CommandError(error instanceof Error ? error.message : String(error));
  }
}

function open(
  values: Record<string, string | boolean | undefined>,
  json: boolean,
  { here = false, quiet = false }: GateOptions,
): OpenGate {
  const named = (name: string) => (typeof values[name] === 'string' ? values[name] : undefined);
  const [home, state] = [named('home'), named('state')];
  const workspace = named('workspace') ?? findWorkspace(home, here);
  const log = (level: string, message: string) => {
    if (!quiet && (level === 'warn' || level === 'error')) say(`${level}: ${message}`);
  };
  try {
    const reopen = () => createTollgate({ workspace, home, state, log });
    const gate = reopen();
    if (home !== undefined && !fs.existsSync(home)) say(`warn: there is no folder \`${home}\`, so --home adds nothing`);
    return { gate, reopen, root: gate.workspace, json, output: outputTo(process.stdout, json) };
  } catch (error) {
    if (error instanceof TollgateError && error.code === 'workspace_missing')
      throw new CommandError(`${error.message} with --workspace`);
    throw error;
  }
}

/** The workspace that a command in the current folder is for. */
function findWorkspace(home: string | undefined, usesHere: boolean): string {
  const here = process.cwd();
  const found = new Locator({ home }).findWorkspace(here);
  if (found.workspace !== null) return found.workspace;
  if (usesHere) return here;
  throw new CommandError(found.why);
}

/** Sends one request and returns the answer, or throws the gate's error. */
export function ask(gate: Tollgate, question: Answer): Answer {
  const answer = gate.perform(question);
  if (answer.error === undefined) return answer;
  throw new CommandError((answer.error as { message: string }).message, answer);
}

/** Repeats a request until the gate is done, because it works through a long ledger in pieces. */
export function askUntilDone(gate: Tollgate, question: Answer): Answer {
  let answer = ask(gate, question);
  while (answer.done === false) answer = ask(gate, { op: question.op, more: true });
  if (answer.done !== true) throw unexpectedAnswer(question);
  return answer;
}

/** The error for an answer that this version of the command cannot interpret. */
export function unexpectedAnswer({ op }: Answer): CommandError {
  return new CommandError(
    `the gate's answer to \`${String(op)}\` cannot be understood; this is a bug in Tollgate, please report it`,
  );
}
