// The work that the scripted model does in every program, as far as it is the same, and what it must leave behind.
import assert from 'node:assert/strict';
import { assertRecorded } from './recorder.mjs';
import { modelTurns } from './turns.mjs';
import { assertFiles, assertLive, summarizeEntry, readVerifiedLedger } from './workspace.mjs';

/** The answer to a write outside the intent's scope. */
export const OUT_OF_SCOPE =
  /Tollgate: `src\/billing\/\S+` is not in the scope of INT-001 .*select the intent that owns it \(out_of_scope\)/;

/** The files after the work; null means that the file does not exist. */
const FILES_AFTER = {
  'src/auth/limits.ts': '// [[rate-limits]]\n',
  'src/auth/login.ts': 'one\nTWO\n',
  'src/billing/pay.ts': 'pay\n',
  'src/billing/new.ts': null,
  'src/billing/login.ts': null,
  'src/billing/child.ts': null,
  'src/auth/ok.ts': null,
  '.orchestration/constraints.yaml': null,
  // The kernel stopped these two and allowed the third.
  'src/billing/hidden.ts': null,
  'src/billing/made.ts': null,
  'src/auth/copy.ts': 'ONE\nTWO\n',
};

/** A session of two prompts in which the model does some work, with the help of a sub-agent. */
export function workWithHelp(work, help) {
  return {
    prompts: ['Please do the work', 'Please go on'],
    scripts: (root) => [
      { when: 'SUBTASK', turns: modelTurns(help(root)) },
      { when: 'Please do the work', turns: modelTurns(work(root)) },
    ],
  };
}

/**
 * Asserts that the files, the recorded events and the ledger are as the work must leave them, and that the program is wired.
 * `create`, `edit` and `shell` are the program's tools, and `argument` names the path or patch in a call of `create`.
 * `reportsFailure` tells whether the program reports that a command failed, `hasHelp` whether a sub-agent took part. Returns the
 * ledger's entries.
 */
export function assertWork(played, { program, create, edit, shell, argument, reportsFailure = false, hasHelp = true }) {
  assertFiles(played.workspace, FILES_AFTER);
  const [prompt, file] = ['Please do the work', 'src/auth/new.ts'];
  assertRecorded(played, { program, prompt, tool: create, argument, file, also: ['session_end'] });
  const entries = readVerifiedLedger(played);
  assert.deepEqual(entries.map(summarizeEntry), [
    `${create} ${file} true PASS`,
    `${edit} src/auth/login.ts true PASS`,
    `${shell} src/auth/half.txt ${!reportsFailure} PASS`,
    `${create} src/auth/limits.ts true PASS`,
    `${shell} src/auth/copy.ts true PASS`,
    ...(hasHelp ? [`${create} src/auth/child.ts true PASS`] : []),
    `${create} src/auth/late.ts true PASS`,
  ]);
  assertLive(played.tollgate, program);
  return entries;
}
