// Connections to MCP servers, a proxy before them, and a server for the gate's own tools. A file of its own in the package, because it carries a
// client and a server that few need. Its timers keep no process alive: `build.mjs` sees to that.
export { connect } from './mcp_connection.js';
export { serveProxy } from './mcp_proxy.js';
export { serve } from './mcp_server.js';
