// Measures augmentation in Node against the same work in plain JavaScript, in one run: `cargo xtask bench`.
//
// The JavaScript version is the obvious one: a regular expression over every string of the arguments, then a note by the
// concept's name. It checks nothing, supports no aliases and links, and has no index.

import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { createTollgate } from '../dist/index.js';
import { race, raced, row } from './race.mjs';

const NOTES = 50_000;

const workspace = fs.mkdtempSync(path.join(os.tmpdir(), 'augment-bench-'));
const notes = path.join(workspace, '.tollgate/concepts');
fs.mkdirSync(notes, { recursive: true });
for (let i = 0; i < NOTES; i += 1) {
  fs.writeFileSync(path.join(notes, `note-${i}.md`), `# Note ${i}\n\nWhat is known, and [[note-${(i * 7) % NOTES}]].\n`);
}

/** The concepts in all strings of the arguments, found with a few lines of JavaScript. */
function plainConcepts(args) {
  const concepts = new Set();
  const visit = (value) => {
    if (typeof value === 'string') for (const [, name] of value.matchAll(/\[\[([^\]]+)\]\]/g)) concepts.add(name.trim());
    else if (Array.isArray(value)) value.forEach(visit);
    else if (value !== null && typeof value === 'object') Object.values(value).forEach(visit);
  };
  visit(args);
  return [...concepts];
}

function plainAugment(args) {
  const sections = [];
  for (const concept of plainConcepts(args)) {
    try {
      sections.push(`## [[${concept}]]\n\n${fs.readFileSync(path.join(notes, `${concept}.md`), 'utf8')}`);
    } catch {
      // There is no such note.
    }
  }
  return { ...args, prompt: `${sections.join('\n\n---\n\n')}\n\n${args.prompt}` };
}

const gate = createTollgate({ workspace, home: workspace });
const begun = performance.now();
while (!gate.perform({ op: 'concepts', query: 'note-1' }).done);
row(`${NOTES} notes, indexed for the first time`, performance.now() - begun, 0, 'ms');

const words = 'text without a concept in it, and then some more of it. '.repeat(8);
const nested = {
  parts: Array.from({ length: 2_200 }, (_, i) => ({ text: `${words}${i % 100 === 0 ? `[[nobody-${i % 700}]]` : ''}` })),
};
const size = (JSON.stringify(nested).length / 1e6).toFixed(2);
const call = (args, tool = 'task') => ({ session: 's', call: 'c', tool, args });
raced(
  `concepts in ${size} MB of nested arguments / plain JS`,
  race(
    30,
    () => plainConcepts(nested),
    () => gate.planLookups(call(nested)),
  ),
);
const asked = (i) => ({ prompt: `Look at [[note-${(i * 7919) % NOTES}]].` });
raced(
  `one of ${NOTES} notes / plain JS`,
  race(
    200,
    (i) => plainAugment(asked(i)),
    (i) => gate.augment(call(asked(i))),
  ),
);
raced(
  'a call without a concept / plain JS',
  race(
    200,
    () => plainAugment({ prompt: 'nothing' }),
    () => gate.augment(call({ prompt: 'nothing' })),
  ),
);

fs.rmSync(workspace, { recursive: true });
