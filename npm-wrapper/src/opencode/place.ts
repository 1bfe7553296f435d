import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';

/** What makes a folder a workspace. `.git` is a file where a repository has several work trees. */
const MARKS = ['.orchestration', '.tollgate', '.git'];

/** The workspace of a folder, by the rule of the `tollgate` command: the nearest folder upwards with a mark, else itself. */
export function workspaceOf(directory: string, home: string | undefined): string {
  const [here, own] = [real(directory), real(home ?? os.homedir())];
  for (let folder = here; ; folder = path.dirname(folder)) {
    // In the home folder, .tollgate/ is the user's own and governs nothing.
    const isMarked = (mark: string) => !(mark === '.tollgate' && folder === own) && fs.existsSync(path.join(folder, mark));
    if (MARKS.some(isMarked)) return folder;
    if (folder === path.dirname(folder)) return here;
  }
}

function real(folder: string): string {
  try {
    return fs.realpathSync.native(folder);
  } catch {
    return path.resolve(folder);
  }
}
