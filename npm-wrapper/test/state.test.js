// Where the state is stored: in the same folder as the other host's, which has the same test cases.
import assert from 'node:assert/strict';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { stateFolder, stateOf } from './imports.js';
import { createTemporaryFolder } from './workspace_folder.js';

const { folder, discard } = createTemporaryFolder();
after(discard);

test('a workspace has a folder of its own', () => {
  assert.equal(
    stateOf('/work space/a', path.join(folder, 'new/state')),
    path.join(folder, 'new/state/602e79202365cbd9b66a1fd2fd657617'),
  );
  assert.notEqual(path.basename(stateOf('/work space/b', folder)), '602e79202365cbd9b66a1fd2fd657617');
});

for (const [home, state, variables, expected] of [
  ['/h', '/s', {}, '/s'],
  ['/h', undefined, { XDG_STATE_HOME: '/x' }, '/h/.local/state/tollgate'],
  [undefined, undefined, { XDG_STATE_HOME: '/x' }, '/x/tollgate'],
  // According to the standard that defines the variable, a relative folder is ignored.
  [
    undefined,
    undefined,
    { XDG_STATE_HOME: 'x', HOME: '/u' },
    process.platform === 'linux' ? '/u/.local/state/tollgate' : undefined,
  ],
]) {
  test(`home ${home}, state ${state}, ${JSON.stringify(variables)}`, { skip: expected === undefined }, () => {
    const before = Object.keys(variables).map((name) => [name, process.env[name]]);
    try {
      Object.assign(process.env, variables);
      assert.equal(stateFolder(home, state), expected);
    } finally {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    }
  });
}
