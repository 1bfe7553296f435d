// Calls third-party hooks without the native command.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Answer, Question, Reply, Round } from '../../generated/interfaces/tollgate-hooks-components.js';
import { GlueCache } from './glue_cache.js';
import type { LineProcess } from './line_process.js';
import { newAnswer, readAnswer, type WireAnswer, wireQuestion, wireSubject } from './wire.js';

/**
 * The time limit for starting an instance together with its first call; also how long to wait for a component that is being
 * compiled.
 */
const START_MS = 3_000;

/** At most this many reads and searches per call. */
const MAX_READS = 64;

/** Reads files on behalf of hooks. The gate decides which files are granted. */
export interface GrantedFiles {
  read(files: string[][], path: string, limitBytes: bigint): Uint8Array;
  find(files: string[][], glob: string): string[];
}

/** A message of the process that runs hooks: a request for files, or an answer. */
interface RunnerMessage {
  read?: [path: string, limit: number];
  find?: [glob: string];
  answer?: WireAnswer;
}

/**
 * Calls third-party hooks in a process of this runtime, if the native command is not installed.
 *
 * Components are transpiled once, in a separate process, and run with capped memories and tables. The process that runs hooks is
 * ended when a call is late, and then all hooks start again: there is no other way to be certain that the call stops.
 */
export class NodeRunner {
  readonly #workspace: string;
  readonly #home: string;
  readonly #files: GrantedFiles;
  #process: LineProcess | undefined;
  /** The instances that have been started in the process. */
  readonly #started = new Set<string>();
  #cache: GlueCache | undefined;

  constructor(workspace: string, home: string, files: GrantedFiles) {
    this.#workspace = workspace;
    this.#home = home;
    this.#files = files;
  }

  async call({ subject, questions }: Round): Promise<Answer[]> {
    const answers: Answer[] = [];
    for (const question of questions) answers.push(await this.#ask(question, wireSubject(subject)));
    return answers;
  }

  end(): void {
    this.#process?.end();
    this.#process = undefined;
    this.#started.clear();
  }

  async #ask(question: Question, subject: object): Promise<Answer> {
    const { hook, limits } = question;
    const absent = (why: string) => newAnswer(hook, { tag: 'absent', val: why }, 0);
    const sandbox = findSandbox();
    if (sandbox === undefined) {
      return absent(
        'there is no native `tollgate` command here to run it, and this bundle does not contain the sandbox for it; install the native `tollgate`',
      );
    }
    if (isInside(this.#home, this.#workspace)) {
      return absent('the home folder is in the workspace, where code cannot be kept safely');
    }
    this.#cache ??= new GlueCache(this.#home, sandbox);
    const glue = await this.#cache.get(question.component, START_MS);
    if ('why' in glue) return absent(glue.why);
    const asked = wireQuestion(question);
    const key = JSON.stringify(asked);
    const isNew = !this.#started.has(key);
    const limit = isNew ? START_MS : limits.wallMs;
    const start = performance.now();
    const late = (reply: Reply) => newAnswer(hook, reply, Math.round((performance.now() - start) * 1_000));
    this.#process ??= this.#cache.start('run', [this.#cache.folder]);
    let [line, reads, bytes] = [JSON.stringify({ glue: glue.folder, question: asked, subject }), 0, Number(limits.readBytes)];
    for (;;) {
      const answered = await this.#process.exchange(line, limit - (performance.now() - start));
      if (typeof answered === 'string') {
        this.end();
        // If the process ended on its own, the hook caused that by using more than the runtime has.
        return late(answered === 'late' ? { tag: 'late' } : { tag: 'broke', val: 'it ended the process that it ran in' });
      }
      const said = JSON.parse(answered.line) as RunnerMessage;
      if (said.answer !== undefined) {
        const read = readAnswer({ ...said.answer, hook });
        // After a fault, the process has discarded the instance.
        if (read.reply.tag === 'broke') this.#started.delete(key);
        else this.#started.add(key);
        return read;
      }
      reads += 1;
      if (reads > MAX_READS) {
        line = JSON.stringify({ fault: 'too-large' });
        continue;
      }
      const served = this.#serve(question.files, said, bytes);
      bytes -= served.bytes;
      line = JSON.stringify(served.line);
    }
  }

  /** Reads or searches for a hook. */
  #serve(files: string[][], { read, find }: RunnerMessage, left: number): { line: object; bytes: number } {
    try {
      if (read !== undefined) {
        const found = this.#files.read(files, String(read[0]), BigInt(Math.min(Number(read[1]), left)));
        return { line: { bytes: Buffer.from(found).toString('base64') }, bytes: found.length };
      }
      return { line: { paths: this.#files.find(files, String(find?.[0])) }, bytes: 0 };
    } catch (error) {
      const { payload } = error as { payload?: unknown };
      return { line: { fault: typeof payload === 'string' ? payload : 'other' }, bytes: 0 };
    }
  }
}

/** The path of the program that runs hooks, next to this bundle; `undefined` if it does not exist. */
function findSandbox(): string | undefined {
  const file = fileURLToPath(new URL('./hook-sandbox/main.mjs', import.meta.url));
  return fs.existsSync(file) ? file : undefined;
}

function isInside(folder: string, other: string): boolean {
  const real = (name: string) => {
    try {
      return fs.realpathSync(name);
    } catch {
      return path.resolve(name);
    }
  };
  const relative = path.relative(real(other), real(folder));
  return relative === '' || (!relative.startsWith('..') && !path.isAbsolute(relative));
}
