import type { Tollgate } from './tollgate.js';

/** One of Tollgate's own tools, the same in every program. */
export interface OwnTool {
  name: string;
  title: string;
  description: string;
  /** The JSON Schema of its arguments. */
  schema: { type: 'object'; properties: Record<string, object>; required: string[]; additionalProperties: false };
  /** Whether it changes something. */
  changes: boolean;
}

/** Every tool that Tollgate offers to an agent. */
export function listOwnTools(gate: Tollgate): OwnTool[] {
  return gate.perform({ op: 'own-tools' }).tools as OwnTool[];
}

/** What the model reads of a call; throws what is wrong with it. */
export function callOwnTool(gate: Tollgate, session: string, tool: string, args: unknown): string {
  const { text, error } = gate.perform({ op: 'own-tool', session, tool, args });
  if (error !== undefined) throw new Error((error as { message: string }).message);
  return String(text);
}
