// Checks the format of commit messages, and keeps agents from pushing to protected branches.
import settings from 'tollgate:hook/settings@0.2.0';

const USUAL = { pattern: '^(feat|fix|docs|test|chore|refactor)(\\([a-z0-9-]+\\))?: .{1,72}$', protected: ['main', 'master'] };

/** The messages in the words of a `git commit` command; null for a message that is only known at run time. */
function messages(words) {
  const found = [];
  for (const [at, word] of words.entries()) {
    if (word === null) found.push(null);
    else if (word === '-m' || word === '--message' || /^-[a-z]*m$/.test(word)) found.push(words[at + 1] ?? null);
    else if (word.startsWith('--message=')) found.push(word.slice('--message='.length));
  }
  return found;
}

export const preTool = {
  check(call) {
    const rules = { ...USUAL, ...JSON.parse(settings.get()) };
    const form = new RegExp(rules.pattern);
    for (const { words } of JSON.parse(call.facts).commands ?? []) {
      if (words[0] !== 'git') continue;
      if (words.includes('commit')) {
        const [first] = messages(words.slice(words.indexOf('commit') + 1));
        const title = first?.split('\n')[0];
        if (title !== undefined && !form.test(title)) {
          const reason = `the commit message "${title}" does not match ${rules.pattern}; for example: "fix(login): lock after five attempts"`;
          return { severity: 'deny', code: 'commit_message', reason };
        }
      }
      const pushed = words.includes('push') && words.find((word) => rules.protected.some((branch) => word === branch || word?.endsWith(`:${branch}`)));
      if (pushed) return { severity: 'deny', code: 'protected_branch', reason: `agents may not push to \`${pushed}\`; push a branch and open a pull request` };
    }
    return undefined;
  },
};
