// Instances of third-party hooks, and calls of their functions.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Caps, LimitExceeded } from './caps.js';
import { HostImports, type HookLogLine } from './host_imports.js';

/** Fault messages are truncated to this many characters. */
const MAX_FAULT_CHARS = 300;

/** A question as it arrives. Names are those of the contract, with `_` instead of `-`. */
export interface HookRequest {
  /** The folder of the component's code. */
  glue: string;
  question: {
    hook: string;
    settings: string;
    limits: { memory_bytes: number; lifted_bytes: number };
  };
  subject: { augment?: unknown; pre_tool?: unknown; post_tool?: FinishedCall; event?: { session: string | null } };
}

interface FinishedCall {
  call: unknown;
  outcome: Record<string, string | null>;
}

/** The result of calling a hook. */
export interface HookResult {
  reply: Record<string, unknown>;
  took_us: number;
  log: HookLogLine[];
}

type ExportedFunctions = Record<string, (...words: unknown[]) => unknown>;

interface HookInstance {
  exports: Record<string, ExportedFunctions | undefined>;
  hostImports: HostImports;
  memories: WebAssembly.Memory[];
}

/** The generated code, from which instances are created. */
interface GeneratedCode {
  instantiate(
    module: (name: string) => WebAssembly.Module,
    imports: Record<string, unknown>,
    core: (module: WebAssembly.Module, imports?: Record<string, unknown>) => Pick<WebAssembly.Instance, 'exports'>,
  ): HookInstance['exports'];
}

/** The hooks that were started in this process. */
export class HookInstances {
  readonly #instances = new Map<string, HookInstance>();

  constructor() {
    installStrictTextDecoder();
  }

  /** Calls a hook. Never rejects: faults are reported as answers. */
  async answer({ glue, question, subject }: HookRequest): Promise<HookResult> {
    const key = JSON.stringify(question);
    maxTextBytes = question.limits.lifted_bytes;
    const start = process.hrtime.bigint();
    let hostImports: HostImports | undefined;
    let reply: HookResult['reply'];
    try {
      let instance = this.#instances.get(key);
      this.#instances.delete(key);
      if (instance === undefined) {
        hostImports = new HostImports(question.settings, question.limits.lifted_bytes);
        instance = await instantiateHook(glue, hostImports, question.limits.memory_bytes);
      }
      hostImports = instance.hostImports;
      reply = callHook(instance, subject);
      enforceLimits(instance, reply, question.limits);
      this.#instances.set(key, instance);
    } catch (error) {
      reply = { broke: [...describeFault(error)].slice(0, MAX_FAULT_CHARS).join('') };
    }
    const took_us = Number((process.hrtime.bigint() - start) / 1_000n);
    return { reply, took_us, log: hostImports?.takeLog() ?? [] };
  }
}

async function instantiateHook(glue: string, hostImports: HostImports, memoryBytes: number): Promise<HookInstance> {
  const code = (await import(pathToFileURL(path.join(glue, 'hook.mjs')).href)) as GeneratedCode;
  const caps = new Caps(memoryBytes);
  const memories: WebAssembly.Memory[] = [];
  const module = (name: string) => new WebAssembly.Module(caps.apply(fs.readFileSync(path.join(glue, path.basename(name)))));
  const core = (found: WebAssembly.Module, imports?: Record<string, unknown>) => {
    const instance = new WebAssembly.Instance(found, imports);
    for (const item of Object.values(instance.exports)) {
      if (item instanceof WebAssembly.Memory && !memories.includes(item)) memories.push(item);
    }
    return { exports: Object.fromEntries(Object.entries(instance.exports).map(withAlignmentCheck)) };
  };
  return { exports: code.instantiate(module, hostImports.byName(), core), hostImports, memories };
}

/**
 * Makes a function of the contract throw if its answer is not aligned. Generated code does not check the alignment of answers.
 */
function withAlignmentCheck([name, item]: [string, unknown]): [string, unknown] {
  if (!name.startsWith('tollgate:hook/') || typeof item !== 'function') return [name, item];
  const checked = (...words: unknown[]): unknown => {
    const pointer: unknown = item(...words);
    if (typeof pointer === 'number' && pointer % 4 !== 0) throw new Error('pointer not aligned');
    return pointer;
  };
  return [name, checked];
}

/** Calls the function that handles a subject. An error that the function itself returns is an answer, too. */
function callHook(
  { exports }: HookInstance,
  { augment, pre_tool, post_tool, event }: HookRequest['subject'],
): HookResult['reply'] {
  const find = (name: string, method: string) => {
    const found = exports[`tollgate:hook/${name}@0.2.0`]?.[method];
    if (found === undefined) throw new Error('the component does not export the function to be called');
    return found;
  };
  try {
    if (augment !== undefined) return replyOf('advice', find('augment', 'apply')(augment));
    if (pre_tool !== undefined) return replyOf('objection', find('pre-tool', 'check')(pre_tool));
    if (post_tool !== undefined) {
      const [tag = '', val] = Object.entries(post_tool.outcome)[0] ?? [];
      return replyOf('remark', find('post-tool', 'settle')(post_tool.call, { tag, val: val ?? undefined }));
    }
    return replyOf('reaction', find('events', 'handle')({ ...event, session: event?.session ?? undefined }));
  } catch (error) {
    const failure = contractErrorOf(error);
    if (failure === undefined) throw error;
    return failure.tag === 'settings' ? { unusable_settings: failure.val } : { failed: failure.val };
  }
}

function replyOf(name: string, value: unknown): HookResult['reply'] {
  return value === undefined || value === null ? { nothing: null } : { [name]: value };
}

/** The error of the contract in what an export threw; `undefined` for any other error. */
function contractErrorOf(error: unknown): { tag: string; val: string } | undefined {
  if (!(error instanceof Error) || !Object.hasOwn(error, 'payload')) return undefined;
  const { payload } = error as Error & { payload: unknown };
  const { tag, val } = (payload ?? {}) as { tag?: unknown; val?: unknown };
  return typeof tag === 'string' && typeof val === 'string' ? { tag, val } : undefined;
}

/** Checks the limits after a call that the engine of the other host enforces during a call. */
function enforceLimits({ memories }: HookInstance, reply: HookResult['reply'], limits: HookRequest['question']['limits']): void {
  const used = memories.reduce((sum, memory) => sum + memory.buffer.byteLength, 0);
  if (used > limits.memory_bytes) throw new LimitExceeded('it ran out of memory');
  const [said] = Object.values(reply);
  const texts = typeof said === 'string' ? [said] : Object.values(said ?? {});
  const lifted = texts.reduce((sum, text) => sum + (typeof text === 'string' ? Buffer.byteLength(text) : 0), 0);
  if (lifted > limits.lifted_bytes) throw new Error(TOO_MUCH_DATA);
}

/** The names of traps in the other host. */
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

/** Describes a fault, in the same words as the other host. */
function describeFault(error: unknown): string {
  if (error instanceof LimitExceeded) return error.message;
  const message = error instanceof Error ? error.message : String(error);
  const isStack = error instanceof RangeError && /call stack/i.test(message);
  if (error instanceof WebAssembly.RuntimeError || isStack) {
    if (message.startsWith('wasm trap: ')) return `it trapped: ${message}`;
    const trap = TRAPS.find(([pattern]) => pattern.test(message))?.[1] ?? message;
    return `it trapped: wasm trap: ${trap}`;
  }
  return `it broke the contract: ${message}`;
}

const TOO_MUCH_DATA = 'too much data is passed to the host';

/** The length limit of a text that a hook returns, in bytes. */
let maxTextBytes = 0;

/**
 * Makes generated code decode text as the other host does. Otherwise it would decode invalid UTF-8 as something else, drop byte
 * order marks, and accept any length.
 */
function installStrictTextDecoder(): void {
  const Lenient = globalThis.TextDecoder;
  globalThis.TextDecoder = class extends Lenient {
    constructor(encoding = 'utf-8', options: { fatal?: boolean; ignoreBOM?: boolean } = {}) {
      super(encoding, { ...options, fatal: true, ignoreBOM: true });
    }

    override decode(bytes?: ArrayBuffer | NodeJS.ArrayBufferView | null, options?: { stream?: boolean }): string {
      if ((bytes?.byteLength ?? 0) > maxTextBytes) throw new Error(TOO_MUCH_DATA);
      return super.decode(bytes, options);
    }
  } as typeof TextDecoder;
}
