// Calls third-party hooks in a separate process.
import * as path from 'node:path';
import type { Answer, Round } from '../../generated/interfaces/tollgate-hooks-components.js';
import { nativeProgram } from '../programs/confining.js';
import { LineProcess } from './line_process.js';
import { type GrantedFiles, NodeRunner } from './node_runner.js';
import { newAnswer, readAnswer, type WireAnswer, wireRound } from './wire.js';

/** How much longer than the limits of its hooks a round may take: the process has to start, and code has to be loaded. */
const SLACK_MS = 2_000;

/**
 * Calls third-party hooks in a separate process, because a process can always be stopped, unlike a worker in Node or anything in
 * Bun. If the native `tollgate` command is installed, it is that process, with the engine, the limits and the compiler of the
 * other host. Otherwise the process runs this JavaScript runtime.
 */
export class HookRunner {
  readonly #workspace: string;
  readonly #home: string;
  readonly #files: GrantedFiles;
  #native: LineProcess | undefined;
  /** Whether the native command has answered a round. A command that never does is older than third-party hooks. */
  #hasAnswered = false;
  #node: NodeRunner | undefined;
  /** The previous round: rounds run one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(workspace: string, home: string, files: GrantedFiles) {
    this.#workspace = workspace;
    this.#home = home;
    this.#files = files;
  }

  /** Calls the hooks of a round. Never rejects: faults are reported as answers. */
  call(round: Round): Promise<Answer[]> {
    const called = this.#last.then(() => this.#call(round));
    this.#last = called;
    return called;
  }

  /** Ends the processes; the next round starts new ones. */
  end(): void {
    this.#native?.end();
    this.#native = undefined;
    this.#node?.end();
  }

  async #call(round: Round): Promise<Answer[]> {
    const native = this.#node === undefined ? this.#start() : undefined;
    if (native !== undefined) {
      const answers = await this.#callNative(native, round);
      if (answers !== undefined) return answers;
    }
    this.#node ??= new NodeRunner(this.#workspace, this.#home, this.#files);
    return this.#node.call(round);
  }

  async #callNative(native: LineProcess, round: Round): Promise<Answer[] | undefined> {
    const start = performance.now();
    const limit = round.questions.reduce((sum, { limits }) => sum + limits.startMs + limits.wallMs, SLACK_MS);
    const answered = await native.exchange(JSON.stringify(wireRound(round)), limit);
    if (typeof answered === 'string') {
      this.#native = undefined;
      native.end();
      if (answered === 'gone' && !this.#hasAnswered) return undefined;
      // One hook has caused this, but none of them has answered.
      const took = Math.round((performance.now() - start) * 1_000);
      return round.questions.map(({ hook }) => newAnswer(hook, { tag: 'late' }, took));
    }
    this.#hasAnswered = true;
    const { answers } = JSON.parse(answered.line) as { answers?: WireAnswer[] };
    const why = 'the process that runs hooks rejected the call as invalid';
    return answers?.map(readAnswer) ?? round.questions.map(({ hook }) => newAnswer(hook, { tag: 'absent', val: why }, 0));
  }

  #start(): LineProcess | undefined {
    if (this.#native !== undefined && !this.#native.isGone) return this.#native;
    const folders = (process.env.PATH ?? '').split(path.delimiter);
    const program = nativeProgram(folders, this.#workspace);
    if (program === undefined) return undefined;
    this.#native = new LineProcess(program, ['hook-runner', '--workspace', this.#workspace, '--home', this.#home], {});
    return this.#native;
  }
}
