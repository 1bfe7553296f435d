// `tollgate mcp-serve`: Tollgate's own tools as an MCP server on standard input and output.
import { serveOwnTools } from '../api/own_tools.js';
import { onGate, Stop } from './workspace.js';

const USAGE = 'Usage: tollgate mcp-serve [--workspace DIR] [--home DIR] [--state DIR]';

/**
 * The session of whoever calls without a hook: such a server does not learn which session of its host calls. Where a hook is
 * installed, a selection takes effect for the session in which the hook sees it pass.
 */
const SESSION = 'mcp';

export function main(args: string[]): Promise<number> {
  return onGate(args, {}, USAGE, async ({ gate }, words) => {
    if (words.length > 0) throw new Stop(`that cannot be understood\n${USAGE}`);
    await serveOwnTools(gate, SESSION);
    return true;
  });
}
