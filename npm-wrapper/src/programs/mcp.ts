// Connections to MCP servers, a proxy for them, and a server for the gate's own tools. This is a separate file in the package, because
// it contains an MCP client and server that few users need. Its timers do not keep the process alive; `build.mjs` takes care of that.
export { connect } from './mcp_connection.js';
export { serveProxy } from './mcp_proxy.js';
export { serve } from './mcp_server.js';
