import * as fs from 'node:fs';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Caps, OutOf } from './caps.js';
import { Lent, type Line } from './lent.js';

/** The message of a fault is cut to this many characters. */
const MAX_FAULT = 300;

/** A question as it arrives; names are those of the contract, with `_` in them. */
export interface Asked {
  /** The folder of the component's code. */
  glue: string;
  question: {
    hook: string;
    settings: string;
    limits: { memory_bytes: number; lifted_bytes: number };
  };
  subject: { augment?: unknown; pre_tool?: unknown; post_tool?: Ended; event?: { session: string | null } };
}

interface Ended {
  call: unknown;
  outcome: Record<string, string | null>;
}

/** What came of calling a hook. */
export interface Answered {
  reply: Record<string, unknown>;
  took_us: number;
  log: Line[];
}

type Functions = Record<string, (...words: unknown[]) => unknown>;

interface Instance {
  exports: Record<string, Functions | undefined>;
  lent: Lent;
  memories: WebAssembly.Memory[];
}

/** The generated code, of which each instance is made. */
interface Code {
  instantiate(
    module: (name: string) => WebAssembly.Module,
    imports: Record<string, unknown>,
    core: (module: WebAssembly.Module, imports?: Record<string, unknown>) => Pick<WebAssembly.Instance, 'exports'>,
  ): Instance['exports'];
}

/** The hooks that were started in this process. */
export class Hooks {
  readonly #instances = new Map<string, Instance>();

  constructor() {
    strictText();
  }

  /** Calls a hook. Never fails: what goes wrong is an answer. */
  async answer({ glue, question, subject }: Asked): Promise<Answered> {
    const key = JSON.stringify(question);
    maxText = question.limits.lifted_bytes;
    const start = process.hrtime.bigint();
    let lent: Lent | undefined;
    let reply: Answered['reply'];
    try {
      let instance = this.#instances.get(key);
      this.#instances.delete(key);
      if (instance === undefined) {
        lent = new Lent(question.settings, question.limits.lifted_bytes);
        instance = await begin(glue, lent, question.limits.memory_bytes);
      }
      lent = instance.lent;
      reply = call(instance, subject);
      bound(instance, reply, question.limits);
      this.#instances.set(key, instance);
    } catch (error) {
      reply = { broke: [...explain(error)].slice(0, MAX_FAULT).join('') };
    }
    const took_us = Number((process.hrtime.bigint() - start) / 1_000n);
    return { reply, took_us, log: lent?.takeLog() ?? [] };
  }
}

async function begin(glue: string, lent: Lent, memoryBytes: number): Promise<Instance> {
  const code = (await import(pathToFileURL(path.join(glue, 'hook.mjs')).href)) as Code;
  const caps = new Caps(memoryBytes);
  const memories: WebAssembly.Memory[] = [];
  const module = (name: string) => new WebAssembly.Module(caps.apply(fs.readFileSync(path.join(glue, path.basename(name)))));
  const core = (found: WebAssembly.Module, imports?: Record<string, unknown>) => {
    const instance = new WebAssembly.Instance(found, imports);
    for (const item of Object.values(instance.exports)) {
      if (item instanceof WebAssembly.Memory && !memories.includes(item)) memories.push(item);
    }
    return { exports: Object.fromEntries(Object.entries(instance.exports).map(aligned)) };
  };
  return { exports: code.instantiate(module, lent.imports(), core), lent, memories };
}

/** The functions of the contract point to their answer, which generated code does not expect to lie anywhere in particular. */
function aligned([name, item]: [string, unknown]): [string, unknown] {
  if (!name.startsWith('tollgate:hook/') || typeof item !== 'function') return [name, item];
  const checked = (...words: unknown[]): unknown => {
    const pointer: unknown = item(...words);
    if (typeof pointer === 'number' && pointer % 4 !== 0) throw new Error('pointer not aligned');
    return pointer;
  };
  return [name, checked];
}

/** Calls the function for a subject. What it refuses in its own words is an answer, too. */
function call({ exports }: Instance, { augment, pre_tool, post_tool, event }: Asked['subject']): Answered['reply'] {
  const find = (name: string, method: string) => {
    const found = exports[`tollgate:hook/${name}@0.2.0`]?.[method];
    if (found === undefined) throw new Error('the component does not export what is to be called');
    return found;
  };
  try {
    if (augment !== undefined) return said('advice', find('augment', 'apply')(augment));
    if (pre_tool !== undefined) return said('objection', find('pre-tool', 'check')(pre_tool));
    if (post_tool !== undefined) {
      const [tag = '', val] = Object.entries(post_tool.outcome)[0] ?? [];
      return said('remark', find('post-tool', 'settle')(post_tool.call, { tag, val: val ?? undefined }));
    }
    return said('reaction', find('events', 'handle')({ ...event, session: event?.session ?? undefined }));
  } catch (error) {
    const failure = failureIn(error);
    if (failure === undefined) throw error;
    return failure.tag === 'settings' ? { unusable_settings: failure.val } : { failed: failure.val };
  }
}

function said(name: string, value: unknown): Answered['reply'] {
  return value === undefined || value === null ? { nothing: null } : { [name]: value };
}

/** The error of the contract in what an export threw. */
function failureIn(error: unknown): { tag: string; val: string } | undefined {
  if (!(error instanceof Error) || !Object.hasOwn(error, 'payload')) return undefined;
  const { payload } = error as Error & { payload: unknown };
  const { tag, val } = (payload ?? {}) as { tag?: unknown; val?: unknown };
  return typeof tag === 'string' && typeof val === 'string' ? { tag, val } : undefined;
}

/** What the engine of the other host does not let pass while it is called, is looked for afterwards. */
function bound({ memories }: Instance, reply: Answered['reply'], limits: Asked['question']['limits']): void {
  const used = memories.reduce((sum, memory) => sum + memory.buffer.byteLength, 0);
  if (used > limits.memory_bytes) throw new OutOf('it ran out of memory');
  const [said] = Object.values(reply);
  const texts = typeof said === 'string' ? [said] : Object.values(said ?? {});
  const lifted = texts.reduce((sum, text) => sum + (typeof text === 'string' ? Buffer.byteLength(text) : 0), 0);
  if (lifted > limits.lifted_bytes) throw new Error(TOO_MUCH);
}

/** What traps are called in the other host. */
const TRAPS: [RegExp, string][] = [
  [/unreachable/i, 'wasm `unreachable` instruction executed'],
  [/call stack|stack overflow/i, 'call stack exhausted'],
  [/divide by zero|division by zero/i, 'integer divide by zero'],
  [/unrepresentable in integer|invalid conversion/i, 'invalid conversion to integer'],
  [/unrepresentable|integer overflow/i, 'integer overflow'],
  [/signature mismatch|null function|call_indirect/i, 'indirect call type mismatch'],
  [/table/i, 'undefined element: out of bounds table access'],
  [/memory|out of bounds/i, 'out of bounds memory access'],
];

/** What a fault is called. */
function explain(error: unknown): string {
  if (error instanceof OutOf) return error.message;
  const message = error instanceof Error ? error.message : String(error);
  const isStack = error instanceof RangeError && /call stack/i.test(message);
  if (error instanceof WebAssembly.RuntimeError || isStack) {
    if (message.startsWith('wasm trap: ')) return `it trapped: ${message}`;
    const trap = TRAPS.find(([pattern]) => pattern.test(message))?.[1] ?? message;
    return `it trapped: wasm trap: ${trap}`;
  }
  return `it broke the contract: ${message}`;
}

const TOO_MUCH = 'too much data is passed to the host';

/** How long a text may be that a hook hands out. */
let maxText = 0;

/** Generated code decodes text that is not UTF-8 as something else, drops byte order marks and takes any length; the other host does not. */
function strictText(): void {
  const Lenient = globalThis.TextDecoder;
  globalThis.TextDecoder = class extends Lenient {
    constructor(encoding = 'utf-8', options: { fatal?: boolean; ignoreBOM?: boolean } = {}) {
      super(encoding, { ...options, fatal: true, ignoreBOM: true });
    }

    override decode(bytes?: ArrayBuffer | NodeJS.ArrayBufferView | null, options?: { stream?: boolean }): string {
      if ((bytes?.byteLength ?? 0) > maxText) throw new Error(TOO_MUCH);
      return super.decode(bytes, options);
    }
  } as typeof TextDecoder;
}
