// The scripted model's side of OpenAI's chat interface.

export const chat = {
  offersTools: ({ tools = [] }) => tools.length > 0,
  opening: ({ messages }) => JSON.stringify(messages.find(({ role }) => role === 'user')?.content ?? ''),
  turnsDone: ({ messages }) => messages.filter(({ role }) => role === 'assistant').length,
  speak,
};

function speak(response, { text, calls }, number) {
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

/** The result of each call as reported to the model, by the call's number within its conversation. */
export function resultsIn({ messages }) {
  const text = ({ content }) => (typeof content === 'string' ? content : content.map((part) => part.text).join(''));
  return messages.filter(({ role }) => role === 'tool').map(text);
}

/** The system prompt of a request. */
export function systemOf({ messages }) {
  return messages
    .filter(({ role }) => role === 'system')
    .map(({ content }) => content)
    .join('\n');
}
