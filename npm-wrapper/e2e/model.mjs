// A model that follows a script, served on loopback.
import * as http from 'node:http';

/**
 * Serves `scripts`, a list of `{ when, turns }`. A conversation follows the first script whose `when` occurs in the user's first
 * message. A turn is a text, or a list of calls `[tool, args]` to make at once; arguments may be a function of the request. The
 * turn number is derived from the conversation itself, so a repeated request gets the same answer.
 *
 * `dialect` is the program's interface: `offersTools`, `opening` and `turnsDone` read a request, `speak` answers.
 */
export async function startModel(scripts, dialect) {
  const requests = [];
  const server = http.createServer(async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const asked = JSON.parse(Buffer.concat(pieces).toString() || '{}');
    if (request.method !== 'POST') {
      response.writeHead(404).end();
      return;
    }
    requests.push(asked);
    // Requests without tools serve the program itself, for example to find a title.
    const turn = dialect.offersTools(asked) ? turnOf(scripts, dialect, asked) : 'A title';
    const calls =
      typeof turn === 'string' ? [] : turn.map(([tool, args]) => [tool, typeof args === 'function' ? args(asked) : args]);
    const said = { text: typeof turn === 'string' ? turn : '', calls };
    dialect.speak(response, said, requests.length, asked, request.url);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: server.address().port, requests, close: () => server.close() };
}

function turnOf(scripts, dialect, asked) {
  const opening = dialect.opening(asked);
  const script = scripts.find(({ when }) => opening.includes(when));
  return script?.turns[dialect.turnsDone(asked)] ?? 'Nothing is left to do.';
}

/** The number of turns that the model has taken; adjacent items from the model are one turn. */
export function countTurns(items, isModels) {
  return items.filter((item, index) => isModels(item) && !(index > 0 && isModels(items[index - 1]))).length;
}
