// `tollgate mcp-serve`: Tollgate's own tools as an MCP server on standard input and output.
import { serveOwnTools } from '../api/own_tools.js';
import { withGate, CommandError } from './workspace.js';

const USAGE = 'Usage: tollgate mcp-serve [--workspace DIR] [--home DIR] [--state DIR]';

/**
 * The session of calls that no hook has seen: an MCP server does not know which session calls it. If a hook is installed, a
 * selection applies to the session in which the hook sees it.
 */
const SESSION = 'mcp';

export function main(args: string[]): Promise<number> {
  return withGate(args, {}, USAGE, async ({ gate }, words) => {
    if (words.length > 0) throw new CommandError(`invalid arguments\n${USAGE}`);
    await serveOwnTools(gate, SESSION);
    return true;
  });
}
