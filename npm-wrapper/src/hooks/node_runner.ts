import * as fs from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Answer, Question, Reply, Round } from '../../generated/interfaces/tollgate-hooks-components.js';
import { GlueCache } from './glue_cache.js';
import type { LineProcess } from './line_process.js';
import { answer, readAnswer, type WireAnswer, wireQuestion, wireSubject } from './wire.js';

/** Starting an instance and its first call, together; also how long to wait for a component that is being compiled. */
const START_MS = 3_000;

/** One call reads and searches this often. */
const MAX_READS = 64;

/** The files that hooks were granted, read by the gate: it decides what is granted. */
export interface GrantedFiles {
  read(files: string[][], path: string, limitBytes: bigint): Uint8Array;
  find(files: string[][], glob: string): string[];
}

/** What the process of hooks writes: it wants a file, or it has an answer. */
interface Said {
  read?: [path: string, limit: number];
  find?: [glob: string];
  answer?: WireAnswer;
}

/**
 * Calls hooks of third parties in a process of this runtime, where the native command is not installed.
 *
 * Components are transpiled once, in a process of their own, and run with capped memories and tables. The process of hooks is ended
 * when a call is late, and then all hooks start again: there is no other way to stop the call for certain.
 */
export class NodeRunner {
  readonly #workspace: string;
  readonly #home: string;
  readonly #files: GrantedFiles;
  #process: LineProcess | undefined;
  /** The instances that the process has. */
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
    const absent = (why: string) => answer(hook, { tag: 'absent', val: why }, 0);
    const sandbox = findSandbox();
    if (sandbox === undefined) {
      return absent(
        'there is no native `tollgate` command here to run it, and this bundle does not contain the other way; install it',
      );
    }
    if (liesIn(this.#home, this.#workspace)) {
      return absent('the home folder lies in the workspace, where code cannot be kept safely');
    }
    this.#cache ??= new GlueCache(this.#home, sandbox);
    const glue = await this.#cache.get(question.component, START_MS);
    if ('why' in glue) return absent(glue.why);
    const asked = wireQuestion(question);
    const key = JSON.stringify(asked);
    const isNew = !this.#started.has(key);
    const limit = isNew ? START_MS : limits.wallMs;
    const start = performance.now();
    const late = (reply: Reply) => answer(hook, reply, Math.round((performance.now() - start) * 1_000));
    this.#process ??= this.#cache.start('run', [this.#cache.folder]);
    let [line, reads, bytes] = [JSON.stringify({ glue: glue.folder, question: asked, subject }), 0, Number(limits.readBytes)];
    for (;;) {
      const answered = await this.#process.exchange(line, limit - (performance.now() - start));
      if (typeof answered === 'string') {
        this.end();
        // A process that ends by itself was ended by the hook: it took more than the runtime has.
        return late(answered === 'late' ? { tag: 'late' } : { tag: 'broke', val: 'it ended the process that it ran in' });
      }
      const said = JSON.parse(answered.line) as Said;
      if (said.answer !== undefined) {
        const read = readAnswer({ ...said.answer, hook });
        // After a fault the process has thrown the instance away.
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
  #serve(files: string[][], { read, find }: Said, left: number): { line: object; bytes: number } {
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

/** The program that runs hooks, beside this bundle. */
function findSandbox(): string | undefined {
  const file = fileURLToPath(new URL('./hook-sandbox/main.mjs', import.meta.url));
  return fs.existsSync(file) ? file : undefined;
}

function liesIn(folder: string, other: string): boolean {
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
