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

/** Tollgate's own tools as an MCP server tells of them. */
export interface OwnTools {
  server: string;
  instructions: string;
  tools: OwnTool[];
}

/** What a call is answered with. */
export interface OwnAnswer {
  /** What the model reads. */
  text: string;
  /** The same for programs, where the text is that of a JSON object. */
  data?: Record<string, unknown> | undefined;
}

/** Every tool that Tollgate offers to an agent. */
export function listOwnTools(gate: Tollgate): OwnTool[] {
  return ownTools(gate).tools;
}

/** What the model reads of a call; throws what is wrong with it. */
export function callOwnTool(gate: Tollgate, session: string, tool: string, args: unknown): string {
  return call(gate, session, tool, args).text;
}

/** Offers the tools to an MCP client on standard input and output, until the input ends. */
export async function serveOwnTools(gate: Tollgate, session: string): Promise<void> {
  const { serve } = await import('../programs/mcp.js');
  await serve(ownTools(gate), (tool, args) => call(gate, session, tool, args));
}

function ownTools(gate: Tollgate): OwnTools {
  return gate.perform({ op: 'own-tools' }) as unknown as OwnTools;
}

function call(gate: Tollgate, session: string, tool: string, args: unknown): OwnAnswer {
  const { text, data, error } = gate.perform({ op: 'own-tool', session, tool, args });
  if (error !== undefined) throw new Error((error as { message: string }).message);
  return { text: String(text), data: data as OwnAnswer['data'] };
}
