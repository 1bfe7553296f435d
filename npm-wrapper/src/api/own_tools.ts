// Tollgate's own tools: their list, calls of them, and the MCP server that offers them.
import type { Tollgate } from './tollgate.js';

/** One of Tollgate's own tools. */
export interface OwnTool {
  name: string;
  title: string;
  description: string;
  /** The JSON Schema of its arguments. */
  schema: { type: 'object'; properties: Record<string, object>; required: string[]; additionalProperties: false };
  /** Whether it changes anything. */
  changes: boolean;
}

/** Tollgate's own tools, as offered by an MCP server. */
export interface OwnTools {
  server: string;
  instructions: string;
  tools: OwnTool[];
}

/** The answer to a call. */
export interface OwnAnswer {
  /** The text for the model. */
  text: string;
  /** The same as data, if the text is a JSON object. */
  data?: Record<string, unknown> | undefined;
}

/** Lists the tools that Tollgate offers to agents. */
export function listOwnTools(gate: Tollgate): OwnTool[] {
  return readOwnTools(gate).tools;
}

/** Calls a tool and returns the text for the model; throws if the call is invalid. */
export function callOwnTool(gate: Tollgate, session: string, tool: string, args: unknown): string {
  return callTool(gate, session, tool, args).text;
}

/** A skill, as it is listed to MCP clients as a prompt. */
export interface Skill {
  name: string;
  description: string;
  parameters: { name: string; description?: string; required: boolean }[];
}

/** Serves the tools, and the skills as prompts, to an MCP client on standard input and output until the input ends. */
export async function serveOwnTools(gate: Tollgate, session: string): Promise<void> {
  const { serve } = await import('../programs/mcp.js');
  const skills = {
    list: () => (performOrThrow(gate, { op: 'skills', do: 'list' }) as { skills: Skill[] }).skills,
    invoke: (id: string, args: object) =>
      performOrThrow(gate, { op: 'skills', do: 'invoke', id, args }) as { description: string; prompt: string },
  };
  await serve(readOwnTools(gate), (tool, args) => callTool(gate, session, tool, args), skills);
}

function performOrThrow(gate: Tollgate, line: object): unknown {
  const answer = gate.perform(line);
  if (answer.error !== undefined) throw new Error((answer.error as { message: string }).message);
  return answer;
}

function readOwnTools(gate: Tollgate): OwnTools {
  return gate.perform({ op: 'own-tools' }) as unknown as OwnTools;
}

function callTool(gate: Tollgate, session: string, tool: string, args: unknown): OwnAnswer {
  const { text, data, error } = gate.perform({ op: 'own-tool', session, tool, args });
  if (error !== undefined) throw new Error((error as { message: string }).message);
  return { text: String(text), data: data as OwnAnswer['data'] };
}
