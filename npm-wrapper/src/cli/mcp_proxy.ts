// `tollgate mcp-proxy`: an MCP server in front of others, on standard input and output. Every call to them passes the gate.
import { ask, onGate } from './workspace.js';

const USAGE = `Usage: tollgate mcp-proxy [SERVER...] [--session SESSION] [--workspace DIR] [--home DIR] [--state DIR]

  SERVER     Only these servers; all that are declared where none is named
  --session  The session that calls belong to; a new one where none is named`;

const OPTIONS = { session: { type: 'string' } } as const;

export function main(args: string[]): Promise<number> {
  return onGate(args, OPTIONS, USAGE, async ({ gate }, names, { session }) => {
    const opening = ask(gate, { op: 'mcp', do: 'open' }) as { session: string; server: string; instructions: string };
    const { serveProxy } = await import('../programs/mcp.js');
    gate.mcp.tell({ type: 'want', servers: names.length > 0 ? names : null });
    await serveProxy({
      name: opening.server,
      instructions: opening.instructions,
      session: session ?? opening.session,
      request: (method, params, signal) => gate.mcp.request(method, params, signal),
      connect: (options) => gate.mcp.use(options),
    });
    return true;
  });
}
