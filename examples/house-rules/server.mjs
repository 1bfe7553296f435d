// An MCP server on standard input and output, without any library: one JSON-RPC message a line.
import { createInterface } from 'node:readline';

const RULES = ['Write tests first.', 'Leave the licence alone.'];
const PRIVATE = ['Deploy on Tuesdays.'];
const HAS_TOKEN = (process.env.RULES_TOKEN ?? '') !== '';

const TOOL = {
  name: 'list_rules',
  description: 'The rules of the house; the private ones only with a token',
  inputSchema: { type: 'object', properties: { about: { type: 'string', description: 'a word that a rule must have in it' } } },
  annotations: { readOnlyHint: true },
};

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'house-rules', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [TOOL] }),
  'tools/call': ({ name, arguments: { about = '' } = {} }) => {
    if (name !== TOOL.name) throw new Error(`there is no tool ${name}`);
    const rules = [...RULES, ...(HAS_TOKEN ? PRIVATE : [])].filter((rule) => rule.toLowerCase().includes(about.toLowerCase()));
    return { content: [{ type: 'text', text: rules.join('\n') }] };
  },
};

function answer({ id, method, params }) {
  if (id === undefined) return undefined;
  const handle = METHODS[method];
  if (handle === undefined) return { jsonrpc: '2.0', id, error: { code: -32601, message: `unknown method ${method}` } };
  try {
    return { jsonrpc: '2.0', id, result: handle(params ?? {}) };
  } catch (error) {
    return { jsonrpc: '2.0', id, error: { code: -32602, message: error.message } };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() === '') continue;
  const reply = answer(JSON.parse(line));
  if (reply !== undefined) process.stdout.write(`${JSON.stringify(reply)}\n`);
}
