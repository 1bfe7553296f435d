// The scripted model's side of OpenAI's Responses interface.
import { countTurns } from '../model.mjs';

const CALLS = ['function_call', 'custom_tool_call'];

const textOf = (content) => (typeof content === 'string' ? content : (content ?? []).map(({ text }) => text ?? '').join('\n'));

const isModels = ({ type, role }) => role === 'assistant' || type === 'reasoning' || CALLS.includes(type);

export const responses = {
  offersTools: ({ tools = [] }) => tools.length > 0,
  opening: (asked) => textsIn(asked),
  turnsDone: ({ input }) => countTurns(input, isModels),
  speak,
};

/** A tool in a namespace is written `namespace/name`. Arguments given as a text belong to a tool that takes text. */
function callItem(number, index, [tool, args]) {
  const [name, namespace] = tool.split('/').reverse();
  const call = { id: `item_${number}_${index}`, call_id: `call_${number}_${index}`, name, status: 'completed' };
  if (namespace !== undefined) call.namespace = namespace;
  if (typeof args === 'string') return { type: 'custom_tool_call', ...call, input: args };
  return { type: 'function_call', ...call, arguments: JSON.stringify(args) };
}

function speak(response, { text, calls }, number, asked) {
  const output = calls.map((call, index) => callItem(number, index, call));
  if (text !== '') {
    const content = [{ type: 'output_text', text, annotations: [] }];
    output.unshift({ type: 'message', id: `message_${number}`, role: 'assistant', status: 'completed', content });
  }
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  const answer = { id: `response_${number}`, object: 'response', created_at: 0, model: asked.model, tools: [], metadata: {} };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const say = (type, more) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`);
  say('response.created', { response: { ...answer, status: 'in_progress', output: [] } });
  output.forEach((item, output_index) => say('response.output_item.done', { output_index, item }));
  say('response.completed', { response: { ...answer, status: 'completed', output, usage } });
  response.end();
}

/** The result of each call as reported to the model, in the order of the calls. */
export function resultsIn({ input }) {
  const results = new Map(
    input.filter(({ type }) => type?.endsWith('_output')).map((item) => [item.call_id, textOf(item.output)]),
  );
  return input.filter(({ type }) => CALLS.includes(type)).map(({ call_id }) => results.get(call_id) ?? '');
}

/** Everything that was sent to the model as the user or the developer. */
export function textsIn({ input }) {
  return input
    .filter(({ role }) => role === 'user' || role === 'developer')
    .map(({ content }) => textOf(content))
    .join('\n');
}
