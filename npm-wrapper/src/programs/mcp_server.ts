// The tools of a gate for MCP clients.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ErrorCode, ListToolsRequestSchema, McpError } from '@modelcontextprotocol/sdk/types.js';
import { once } from 'node:events';
import type { OwnAnswer, OwnTools } from '../api/own_tools.js';

/** Serves on standard input and output until the input ends. `call` throws what a model can put right. */
export async function serve(
  { server: name, instructions, tools }: OwnTools,
  call: (tool: string, args: unknown) => OwnAnswer,
): Promise<void> {
  const server = new Server({ name, version: TOLLGATE_VERSION }, { capabilities: { tools: {} }, instructions });
  const listed = tools.map(({ name, title, description, schema: inputSchema, changes }) => ({
    name,
    title,
    description,
    inputSchema,
    annotations: { readOnlyHint: !changes, openWorldHint: false },
  }));
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listed }));
  server.setRequestHandler(CallToolRequestSchema, ({ params: { name, arguments: given } }) => {
    const said = (text: string) => [{ type: 'text' as const, text }];
    try {
      const { text, data } = call(name, given ?? {});
      return { content: said(text), ...(data === undefined ? {} : { structuredContent: data }) };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (!tools.some((tool) => tool.name === name)) throw new McpError(ErrorCode.InvalidParams, why);
      return { content: said(why), isError: true };
    }
  });
  const ended = once(process.stdin, 'end');
  await server.connect(new StdioServerTransport());
  await ended;
}
