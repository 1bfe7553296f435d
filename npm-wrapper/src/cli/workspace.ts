// Which workspace a command is about, and in which form it answers.
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { createTollgate, type Tollgate, TollgateError } from '../api/index.js';
import { FAILED } from './command.js';
import { say, type Screen, screenOn } from './output.js';

/** What makes a folder a workspace. `.git` is a file where a repository has several work trees. */
const MARKS = ['.orchestration', '.tollgate', '.git'];

/** The gate's answer to a line. */
export type Answer = Record<string, unknown>;

/** What a command works on. */
export interface Opened {
  gate: Tollgate;
  /** Another gate of the same workspace, which has seen nothing yet. */
  reopen(): Tollgate;
  /** The workspace, every link followed. */
  root: string;
  json: boolean;
  screen: Screen;
}

/** Why a command stopped before its end. */
export class Stop extends Error {
  /** @param answer the gate's own words for it, for programs */
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

/**
 * Runs a command on the gate of its workspace. The exit code: 0 done, 1 the answer is no, 2 it could not be done. For a command
 * that sets a workspace up it is `here` where there is none yet.
 */
export async function onGate<Options extends NonNullable<ParseArgsConfig['options']>>(
  args: string[],
  options: Options,
  usage: string,
  command: (opened: Opened, words: string[], values: Partial<Record<keyof Options, string>>) => boolean | Promise<boolean>,
  here = false,
): Promise<number> {
  let json = false;
  try {
    const { values, positionals } = parsed(args, options);
    if (values.help) {
      process.stdout.write(`${usage}\n`);
      return 0;
    }
    json = values.json === true;
    const opened = open(values, json, here);
    const done = await command(opened, positionals, values as Partial<Record<keyof Options, string>>);
    await opened.gate.close();
    return done ? 0 : 1;
  } catch (error) {
    if (json && error instanceof Stop && error.answer !== undefined) process.stdout.write(`${JSON.stringify(error.answer)}\n`);
    say(error instanceof Error ? error.message : String(error));
    return FAILED;
  }
}

function parsed(args: string[], options: NonNullable<ParseArgsConfig['options']>) {
  try {
    const { values, positionals } = parseArgs({ args, options: { ...OPTIONS, ...options }, allowPositionals: true });
    return { values: values as Record<string, string | boolean | undefined>, positionals };
  } catch (error) {
    throw new Stop(error instanceof Error ? error.message : String(error));
  }
}

function open(values: Record<string, string | boolean | undefined>, json: boolean, here: boolean): Opened {
  const named = (name: string) => (typeof values[name] === 'string' ? values[name] : undefined);
  const [home, state] = [named('home'), named('state')];
  const workspace = named('workspace') ?? nearest(process.cwd(), home ?? os.homedir(), here);
  const log = (level: string, message: string) => {
    if (level === 'warn' || level === 'error') say(`${level}: ${message}`);
  };
  try {
    const reopen = () => createTollgate({ workspace, home, state, log });
    const gate = reopen();
    if (home !== undefined && !fs.existsSync(home)) say(`warn: there is no folder \`${home}\`, so --home adds nothing`);
    return { gate, reopen, root: gate.workspace, json, screen: screenOn(process.stdout, json) };
  } catch (error) {
    if (error instanceof TollgateError && error.code === 'workspace_missing') throw new Stop(`${error.message} with --workspace`);
    throw error;
  }
}

/** The nearest folder upwards that looks like a workspace. */
function nearest(here: string, home: string, orHere: boolean): string {
  const real = (folder: string) => (fs.existsSync(folder) ? fs.realpathSync.native(folder) : path.resolve(folder));
  const [start, own] = [real(here), real(home)];
  for (let folder = start; ; folder = path.dirname(folder)) {
    // In the home folder, .tollgate/ is the user's own and governs nothing.
    const isMarked = (mark: string) => !(mark === '.tollgate' && folder === own) && fs.existsSync(path.join(folder, mark));
    if (MARKS.some(isMarked)) return folder;
    if (folder === path.dirname(folder)) break;
  }
  if (orHere) return start;
  const marks = '.orchestration/, .tollgate/ or .git';
  throw new Stop(`neither \`${start}\` nor a folder above it has ${marks}; name the workspace with --workspace DIR`);
}

/** One question, one answer. */
export function ask(gate: Tollgate, question: Answer): Answer {
  const answer = gate.perform(question);
  if (answer.error === undefined) return answer;
  throw new Stop((answer.error as { message: string }).message, answer);
}

/** Asks until the gate is done: it works through a long ledger piece by piece. */
export function askUntilDone(gate: Tollgate, question: Answer): Answer {
  let answer = ask(gate, question);
  while (answer.done === false) answer = ask(gate, { op: question.op, more: true });
  if (answer.done !== true) throw strange(question);
  return answer;
}

/** An answer that this version of the command does not understand. */
export function strange({ op }: Answer): Stop {
  return new Stop(`the gate's answer to \`${String(op)}\` cannot be understood; this is a defect of Tollgate, please report it`);
}
