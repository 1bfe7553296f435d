// The scripted model's side of Anthropic's Messages interface.

const USAGE = { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };

export const messages = {
  offersTools: ({ tools = [] }) => tools.length > 0,
  opening: (asked) => JSON.stringify(asked.messages.find(({ role }) => role === 'user')?.content ?? ''),
  turnsDone: (asked) => asked.messages.filter(({ role }) => role === 'assistant').length,
  speak,
};

/** Answers one request, streamed if the request asks for that. */
function speak(response, { text, calls }, number, asked) {
  const content = calls.map(([name, input], index) => ({ type: 'tool_use', id: `toolu_${number}_${index}`, name, input }));
  if (text !== '') content.unshift({ type: 'text', text });
  const stop_reason = calls.length > 0 ? 'tool_use' : 'end_turn';
  const message = {
    id: `msg_${number}`,
    type: 'message',
    role: 'assistant',
    model: asked.model,
    stop_sequence: null,
    usage: USAGE,
  };
  if (!asked.stream) {
    response.writeHead(200, { 'content-type': 'application/json' });
    // A request that only counts tokens reads the first field.
    response.end(JSON.stringify({ input_tokens: 1, ...message, content, stop_reason }));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const say = (type, more) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`);
  say('message_start', { message: { ...message, content: [], stop_reason: null } });
  content.forEach((block, index) => {
    const isText = block.type === 'text';
    say('content_block_start', { index, content_block: isText ? { ...block, text: '' } : { ...block, input: {} } });
    const delta = isText ? { type: 'text_delta', text } : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) };
    say('content_block_delta', { index, delta });
    say('content_block_stop', { index });
  });
  say('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: USAGE });
  say('message_stop', {});
  response.end();
}

/** The text of a message or a result, including results within a message. */
function textOf(content) {
  return typeof content === 'string' ? content : content.map((part) => part.text ?? textOf(part.content ?? '')).join('\n');
}

/** The result of each call as reported to the model, `{ text, failed }`, in the order of the calls. */
export function resultsIn({ messages }) {
  const parts = messages.filter(({ content }) => Array.isArray(content)).flatMap(({ content }) => content);
  const results = new Map(parts.filter(({ type }) => type === 'tool_result').map((result) => [result.tool_use_id, result]));
  return parts
    .filter(({ type }) => type === 'tool_use')
    .map(({ id }) => results.get(id))
    .map((result) => ({ text: textOf(result?.content ?? ''), failed: result?.is_error === true }));
}

/** Everything that was sent to the model. */
export function textsIn({ messages }) {
  return messages
    .filter(({ role }) => role === 'user')
    .map(({ content }) => textOf(content))
    .join('\n');
}
