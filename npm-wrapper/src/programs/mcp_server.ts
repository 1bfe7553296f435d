// Serves the tools of a gate to MCP clients.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import { once } from 'node:events';
import type { OwnAnswer, OwnTools, Skill } from '../api/own_tools.js';

/** The skills at the time of the request. */
interface Skills {
  list(): Skill[];
  invoke(id: string, args: object): { description: string; prompt: string };
}

/** Serves on standard input and output until the input ends. Errors of `call` are returned to the model. */
export async function serve(
  { server: name, instructions, tools }: OwnTools,
  call: (tool: string, args: unknown) => OwnAnswer,
  skills: Skills,
): Promise<void> {
  const server = new Server({ name, version: TOLLGATE_VERSION }, { capabilities: { tools: {}, prompts: {} }, instructions });
  const listed = tools.map(({ name, title, description, schema: inputSchema, changes }) => ({
    name,
    title,
    description,
    inputSchema,
    annotations: { readOnlyHint: !changes, openWorldHint: false },
  }));
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listed }));
  server.setRequestHandler(CallToolRequestSchema, ({ params: { name, arguments: given } }) => {
    const resultText = (text: string) => [{ type: 'text' as const, text }];
    try {
      const { text, data } = call(name, given ?? {});
      return { content: resultText(text), ...(data === undefined ? {} : { structuredContent: data }) };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (!tools.some((tool) => tool.name === name)) throw new McpError(ErrorCode.InvalidParams, why);
      return { content: resultText(why), isError: true };
    }
  });
  server.setRequestHandler(ListPromptsRequestSchema, () => ({
    prompts: skills.list().map(({ name, description, parameters }) => ({
      name,
      description,
      ...(parameters.length === 0 ? {} : { arguments: parameters }),
    })),
  }));
  server.setRequestHandler(GetPromptRequestSchema, ({ params: { name, arguments: given } }) => {
    try {
      const { description, prompt } = skills.invoke(name, given ?? {});
      return { description, messages: [{ role: 'user' as const, content: { type: 'text' as const, text: prompt } }] };
    } catch (error) {
      throw new McpError(ErrorCode.InvalidParams, error instanceof Error ? error.message : String(error));
    }
  });
  const ended = once(process.stdin, 'end');
  await server.connect(new StdioServerTransport());
  await ended;
}
