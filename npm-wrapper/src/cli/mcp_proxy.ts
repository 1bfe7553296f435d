// `tollgate mcp-proxy`: an MCP server in front of other MCP servers, on standard input and output. The gate checks every call to
// them.
import { ask, withGate } from './workspace.js';

const USAGE = `Usage: tollgate mcp-proxy [SERVER...] [--session SESSION] [--workspace DIR] [--home DIR] [--state DIR]

  SERVER     Only these servers [default: all that are declared]
  --session  The session that calls belong to [default: a new one]`;

const OPTIONS = { session: { type: 'string' } } as const;

export function main(args: string[]): Promise<number> {
  return withGate(args, OPTIONS, USAGE, async ({ gate }, names, { session }) => {
    const opening = ask(gate, { op: 'mcp', do: 'open' }) as { session: string; server: string; instructions: string };
    const { serveProxy } = await import('../programs/mcp.js');
    gate.mcp.report({ type: 'want', servers: names.length > 0 ? names : null });
    await serveProxy({
      name: opening.server,
      instructions: opening.instructions,
      session: session ?? opening.session,
      request: (method, params, signal) => gate.mcp.request(method, params, signal),
      connect: (options) => gate.mcp.setOptions(options),
    });
    return true;
  });
}
