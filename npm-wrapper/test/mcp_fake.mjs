// An MCP server that misbehaves in the way that its first argument names. The optional second argument is a file for its process
// id.
import * as fs from 'node:fs';
import { createInterface } from 'node:readline';

const [mode, pid] = process.argv.slice(2);
if (pid !== undefined) fs.writeFileSync(pid, String(process.pid));

const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const object = { type: 'object' };
const deep = Array.from({ length: 200 }).reduce((schema) => ({ type: 'object', properties: { a: schema } }), object);
const number = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };

/** The tools that the server lists. Only one of them is as described. */
const TOOLS = {
  liar: [
    { name: 'weather', inputSchema: object, outputSchema: number },
    { name: 'bad_type', inputSchema: { type: 'object', properties: { a: { type: 'text' } } } },
    { name: 'dangling', inputSchema: { type: 'object', properties: { a: { $ref: '#/$defs/none' } } } },
    { name: 'no_schema' },
    { name: 'bell\u0007', inputSchema: object },
    { name: 'weather', inputSchema: object },
    { inputSchema: object },
    'not a tool',
    { name: 'honest', inputSchema: number },
  ],
  deep: [{ name: 'deep', inputSchema: deep }],
};

/** Floods in a way that the other end can slow down but not stop. */
function flood(text) {
  while (process.stdout.write(text));
  process.stdout.once('drain', () => flood(text));
}

function answer({ id, method, params }) {
  if (method === 'initialize') {
    if (mode === 'mute') return;
    const { protocolVersion } = params;
    const capabilities = { tools: { listChanged: true } };
    say({ id, result: { protocolVersion, capabilities, serverInfo: { name: 'fake', version: '1' } } });
    if (mode === 'messages') {
      const data = 'x'.repeat(1 << 16);
      flood(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } })}\n`);
    }
  } else if (method === 'tools/list') {
    say({ id, result: { tools: TOOLS[mode] ?? [{ name: 'tool', inputSchema: object }] } });
  } else if (method === 'tools/call') {
    if (mode === 'hang') return;
    if (mode === 'die') process.exit(3);
    if (mode === 'long') {
      // One message without an end.
      process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"`);
      flood('x'.repeat(1 << 16));
      return;
    }
    const structuredContent = mode === 'liar' ? { n: 'warm' } : undefined;
    say({ id, result: { content: [{ type: 'text', text: `${params.name} ${process.pid}` }], structuredContent } });
  }
}

// Prints more than is read, before anything that could be an answer.
if (mode === 'garbage') flood('garbage\n'.repeat(1 << 18));
if (mode === 'line') flood('x'.repeat(1 << 16));
if (mode === 'complain') {
  console.error('no such graph');
  process.exit(3);
}
// Does not exit when its input ends.
if (mode === 'stay') setInterval(() => {}, 1000);
createInterface({ input: process.stdin }).on('line', (line) => answer(JSON.parse(line)));
