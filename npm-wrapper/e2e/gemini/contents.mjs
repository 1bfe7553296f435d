// The scripted model's side of Gemini's interface.
import { countTurns } from '../model.mjs';

const partsOf = ({ contents }, wanted) => contents.filter(({ role }) => role === wanted).flatMap(({ parts }) => parts);

export const contents = {
  offersTools: ({ tools = [] }) => tools.some(({ functionDeclarations = [] }) => functionDeclarations.length > 0),
  opening: (asked) => textsIn(asked),
  turnsDone: (asked) => countTurns(asked.contents, ({ role }) => role === 'model'),
  speak,
};

function speak(response, { text, calls }, number, asked, url) {
  const parts = calls.map(([name, args], index) => ({ functionCall: { id: `call-${number}-${index}`, name, args } }));
  if (text !== '') parts.unshift({ text });
  const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
  const candidates = [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }];
  const answer = JSON.stringify({ candidates, usageMetadata, totalTokens: 1, responseId: `answer-${number}` });
  const streams = url.includes(':streamGenerateContent');
  response.writeHead(200, { 'content-type': streams ? 'text/event-stream' : 'application/json' });
  response.end(streams ? `data: ${answer}\n\n` : answer);
}

/** The result of each call as reported to the model, in the order of the calls. */
export function resultsIn(asked) {
  const answers = partsOf(asked, 'user').filter(({ functionResponse }) => functionResponse);
  const results = new Map(answers.map(({ functionResponse: { id, response } }) => [id, response.output ?? response.error]));
  const made = partsOf(asked, 'model').filter(({ functionCall }) => functionCall);
  return made.map(({ functionCall: { id } }) => results.get(id) ?? '');
}

/** Everything that was sent to the model as the user. */
export function textsIn(asked) {
  return partsOf(asked, 'user')
    .map(({ text }) => text ?? '')
    .join('\n');
}
