// Converts calls of third-party hooks to and from JSON lines.
import type { Answer, Call, Question, Reply, Round, Subject } from '../../generated/interfaces/tollgate-hooks-components.js';

/** An answer as written by a process that runs hooks. Names are those of the contract, with `_` instead of `-`. */
export interface WireAnswer {
  hook: string;
  reply: Record<string, unknown>;
  took_us: number;
  log: { level: string; text: string }[];
}

export function newAnswer(hook: string, reply: Reply, tookUs: number): Answer {
  return { hook, reply, tookUs: BigInt(tookUs), log: [] };
}

export function wireRound({ subject, questions }: Round): object {
  return { subject: wireSubject(subject), questions: questions.map(wireQuestion) };
}

export function wireSubject(subject: Subject): object {
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

export function wireQuestion({ hook, component, files, settings, limits }: Question): object {
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

export function readAnswer({ hook, reply, took_us, log }: WireAnswer): Answer {
  const [name = 'nothing', value] = Object.entries(reply)[0] ?? [];
  const tag = name.replaceAll('_', '-');
  // Absent values are left out in the contract's own types.
  const val = typeof value === 'object' && value !== null ? omitNulls(value) : value;
  return { hook, reply: { tag, val } as Reply, tookUs: BigInt(took_us), log };
}

function omitNulls(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null));
}
