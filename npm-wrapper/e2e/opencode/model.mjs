// A model that follows a script, on loopback. It is spoken to as OpenAI's chat interface, unless told otherwise.
import * as http from 'node:http';

/**
 * Serves `scripts`, a list of `{ when, turns }`: a conversation follows the first one whose `when` stands in its first message
 * of the user. A turn is a text, or a list of calls `[tool, args]` to be made at once. Which turn it is follows from the
 * conversation itself, so a request that is made again gets the same answer. `speak` says it in the words of an interface.
 */
export async function startModel(scripts, speak = chat) {
  const requests = [];
  const server = http.createServer(async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const asked = JSON.parse(Buffer.concat(pieces).toString() || '{}');
    requests.push(asked);
    // What offers no tools is an errand of the program's own, such as finding a title.
    const turn = (asked.tools ?? []).length === 0 ? 'A title' : turnOf(scripts, asked.messages);
    speak(response, typeof turn === 'string' ? { text: turn, calls: [] } : { text: '', calls: turn }, requests.length, asked);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: server.address().port, requests, close: () => server.close() };
}

function turnOf(scripts, messages) {
  const first = JSON.stringify(messages.find(({ role }) => role === 'user')?.content ?? '');
  const script = scripts.find(({ when }) => first.includes(when));
  const done = messages.filter(({ role }) => role === 'assistant').length;
  return script?.turns[done] ?? 'Nothing is left to do.';
}

function chat(response, { text, calls }, number) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const say = (choice, more = {}) => {
    const choices = choice === undefined ? [] : [{ index: 0, finish_reason: null, ...choice }];
    const chunk = { id: `answer-${number}`, object: 'chat.completion.chunk', created: 0, model: 'scripted', choices, ...more };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  };
  say({ delta: { role: 'assistant', content: text } });
  calls.forEach(([name, args], index) => {
    const made = { index, id: `call-${number}-${index}`, type: 'function', function: { name, arguments: JSON.stringify(args) } };
    say({ delta: { tool_calls: [made] } });
  });
  say({ delta: {}, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' });
  say(undefined, { usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } });
  response.end('data: [DONE]\n\n');
}

/** What the model was told came of each call, by the call's number within its conversation. */
export function resultsIn(messages) {
  const text = ({ content }) => (typeof content === 'string' ? content : content.map((part) => part.text).join(''));
  return messages.filter(({ role }) => role === 'tool').map(text);
}

/** The system prompt of a request. */
export function systemOf({ messages }) {
  return messages.filter(({ role }) => role === 'system').map(({ content }) => content).join('\n');
}
