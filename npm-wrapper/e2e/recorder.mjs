// A hook script that runs unchanged in every program and records the events it receives.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';

/** Every event of an agent's session. `ALWAYS` lists those that every program sends. */
const EVENTS = [
  'session_start',
  'before_agent',
  'before_model',
  'before_tool_selection',
  'after_model',
  'before_tool',
  'after_tool',
  'after_agent',
  'session_end',
];
const ALWAYS = ['session_start', 'before_agent', 'before_tool', 'after_tool', 'after_agent'];

// Events of calls that run at the same time arrive at the same time, so one after the other writes its line.
const SCRIPT = 'exec 9>> "$HOME/recorded.jsonl"; flock 9; cat >&9; echo >&9\n';

/** The files of a home folder in which the script is declared for every event. */
export const RECORDER = {
  '.tollgate/hooks.json': JSON.stringify({
    hooks: EVENTS.map((trigger) => ({ id: `record-${trigger}`, trigger, command: ['sh', '-c', SCRIPT] })),
  }),
};

/** Declares the script in a workspace's home folder. */
export function installRecorder({ home }) {
  for (const [name, text] of Object.entries(RECORDER)) {
    fs.mkdirSync(path.dirname(path.join(home, name)), { recursive: true });
    fs.writeFileSync(path.join(home, name), text);
  }
}

/** The events that the script received, in order. */
export function readRecords({ home }) {
  const file = path.join(home, 'recorded.jsonl');
  const lines = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n') : [];
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
}

/**
 * Asserts that the script received the same events in this program as in any other: the prompt, and a write of `file` by `tool`
 * from start to end, each with the fields that docs/events.md lists. `also` names further events that this program sends,
 * `without` those that it sends only when wired to; `only` names the session to examine when there are others.
 */
export function assertRecorded(played, { program, prompt, tool, argument, file, also = [], without = [], only }) {
  const records = readRecords(played).filter(({ session_id }) => only === undefined || session_id === only);
  const of = (event) => records.filter((record) => record.event === event);
  const told = EVENTS.filter((event) => of(event).length > 0);
  assert.deepEqual(
    told,
    EVENTS.filter((event) => [...ALWAYS, ...also].includes(event) && !without.includes(event)),
  );
  const [session] = of('session_start').map(({ session_id }) => session_id);
  for (const { event, hook, session_id, data } of records) {
    assert.equal(hook, `record-${event}`);
    assert.deepEqual([data.session_id, data.program], [session_id, program], event);
  }
  assert.ok(
    of('before_agent').some(({ session_id, data }) => session_id === session && data.prompt.includes(prompt)),
    'the prompt',
  );
  const writes = (event) =>
    of(event).filter(({ data }) => data.tool_name === tool && String(data.args?.[argument]).includes(file));
  const done = writes('after_tool').find(({ data }) => data.status === 'done');
  assert.ok(done, `no ${tool} of ${file} that was done`);
  const begun = writes('before_tool').find(({ data }) => data.call_id === done.data.call_id);
  assert.ok(begun, `no ${tool} of ${file} that was about to run`);
  assert.deepEqual(begun.data.args, done.data.args);
  assert.equal(done.data.success, true);
  assert.ok('result' in done.data, 'what the tool said');
  const known = ['agent', 'args', 'call_id', 'cwd', 'program', 'session_id', 'tool_name'];
  assert.deepEqual(
    Object.keys(begun.data).filter((field) => !known.includes(field)),
    [],
  );
  assert.deepEqual(
    Object.keys(done.data).filter((field) => ![...known, 'result', 'status', 'success'].includes(field)),
    [],
  );
}
