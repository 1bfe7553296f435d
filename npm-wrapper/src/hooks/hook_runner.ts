import { type ChildProcess, spawn } from 'node:child_process';
import * as path from 'node:path';
import type { Answer, Call, Question, Reply, Round, Subject } from '../../generated/interfaces/tollgate-hooks-components.js';
import { nativeProgram } from '../programs/confining.js';

/** Beyond the limits of the hooks themselves, a round may take this long: the process starts, and code is loaded. */
const SLACK_MS = 2_000;

const NO_RUNNER = 'there is no native `tollgate` command here to run it; install it and put it into PATH';

/**
 * Calls hooks of third parties in a process of their own, the native `tollgate` command: neither a worker of Node nor anything in Bun can
 * always be stopped, and a process can. It has the engine, the limits and the compiler.
 */
export class HookRunner {
  readonly #workspace: string;
  readonly #home: string;
  #child: ChildProcess | undefined;
  #printed = '';
  #waiting: ((line: string | undefined) => void) | undefined;
  /** Rounds are called one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(workspace: string, home: string) {
    this.#workspace = workspace;
    this.#home = home;
  }

  /** Calls the hooks of a round. Never fails: what goes wrong is an answer. */
  call(round: Round): Promise<Answer[]> {
    const called = this.#last.then(() => this.#call(round));
    this.#last = called;
    return called;
  }

  /** Ends the process; the next round starts another. */
  end(): void {
    const child = this.#child;
    this.#child = undefined;
    this.#printed = '';
    child?.kill('SIGKILL');
    this.#waiting?.(undefined);
  }

  async #call(round: Round): Promise<Answer[]> {
    const absent = (why: string) => round.questions.map(({ hook }) => answer(hook, { tag: 'absent', val: why }, 0));
    const child = this.#start();
    if (child === undefined) return absent(NO_RUNNER);
    const start = performance.now();
    const limit = round.questions.reduce((sum, { limits }) => sum + limits.startMs + limits.wallMs, SLACK_MS);
    const line = await this.#exchange(child, `${JSON.stringify(wireRound(round))}\n`, limit);
    if (line === undefined) {
      // Whichever hook held it up, the process is gone, and none of them has answered.
      const took = Math.round((performance.now() - start) * 1_000);
      this.end();
      return round.questions.map(({ hook }) => answer(hook, { tag: 'late' }, took));
    }
    const { answers } = JSON.parse(line) as { answers?: WireAnswer[] };
    return answers?.map(readAnswer) ?? absent('the process that runs hooks did not understand the call');
  }

  #start(): ChildProcess | undefined {
    if (this.#child !== undefined) return this.#child;
    const folders = (process.env.PATH ?? '').split(path.delimiter);
    const program = nativeProgram(folders, this.#workspace);
    if (program === undefined) return undefined;
    const child = spawn(program, ['hook-runner', '--workspace', this.#workspace, '--home', this.#home], {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: {},
      windowsHide: true,
    });
    child.stdout.setEncoding('utf8');
    child.stdout.on('data', (text: string) => this.#take(child, text));
    for (const event of ['error', 'exit'] as const) child.on(event, () => this.#gone(child));
    child.stdin.on('error', () => this.#gone(child));
    // It holds nobody's process open.
    child.unref();
    for (const stream of [child.stdin, child.stdout]) (stream as unknown as { unref?: () => void }).unref?.();
    this.#child = child;
    return child;
  }

  #exchange(child: ChildProcess, line: string, limitMs: number): Promise<string | undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#waiting?.(undefined), limitMs);
      this.#waiting = (answered) => {
        clearTimeout(timer);
        this.#waiting = undefined;
        resolve(answered);
      };
      child.stdin?.write(line);
    });
  }

  #take(child: ChildProcess, text: string): void {
    if (child !== this.#child) return;
    this.#printed += text;
    const end = this.#printed.indexOf('\n');
    if (end < 0) return;
    const line = this.#printed.slice(0, end);
    this.#printed = this.#printed.slice(end + 1);
    this.#waiting?.(line);
  }

  #gone(child: ChildProcess): void {
    if (child !== this.#child) return;
    this.#child = undefined;
    this.#printed = '';
    this.#waiting?.(undefined);
  }
}

/** An answer as the process writes it. */
interface WireAnswer {
  hook: string;
  reply: Record<string, unknown>;
  took_us: number;
  log: { level: string; text: string }[];
}

function answer(hook: string, reply: Reply, tookUs: number): Answer {
  return { hook, reply, tookUs: BigInt(tookUs), log: [] };
}

function wireRound({ subject, questions }: Round): object {
  return { subject: wireSubject(subject), questions: questions.map(wireQuestion) };
}

function wireSubject(subject: Subject): object {
  switch (subject.tag) {
    case 'augment':
      return { augment: wireCall(subject.val) };
    case 'pre-tool':
      return { pre_tool: wireCall(subject.val) };
    case 'post-tool': {
      const { call, outcome } = subject.val;
      return { post_tool: { call: wireCall(call), outcome: { [outcome.tag]: outcome.val ?? null } } };
    }
    case 'event':
      return { event: { ...subject.val, session: subject.val.session ?? null } };
  }
}

function wireCall({ session, id, tool, args, effects, complete, facts }: Call): object {
  return { session, id, tool, args, effects, complete, facts };
}

function wireQuestion({ hook, component, files, settings, limits }: Question): object {
  const { cpuMs, wallMs, startMs, memoryBytes, liftedBytes, readBytes } = limits;
  return {
    hook,
    component,
    files,
    settings,
    limits: {
      cpu_ms: cpuMs,
      wall_ms: wallMs,
      start_ms: startMs,
      memory_bytes: Number(memoryBytes),
      lifted_bytes: Number(liftedBytes),
      read_bytes: Number(readBytes),
    },
  };
}

function readAnswer({ hook, reply, took_us, log }: WireAnswer): Answer {
  const [name = 'nothing', value] = Object.entries(reply)[0] ?? [];
  const tag = name.replaceAll('_', '-');
  // Absent values are left out in the contract's own types.
  const val = typeof value === 'object' && value !== null ? withoutNulls(value) : value;
  return { hook, reply: { tag, val } as Reply, tookUs: BigInt(took_us), log };
}

function withoutNulls(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null));
}
