//! `git`: what only reads, what changes the repository, what changes files, and what cannot be known.

use std::collections::BTreeSet;

use super::super::footprint_of_words;
use super::{check_words, spelled, workspace};

fn check_all(commands: &[&str], expected: &str) {
    check_words(&commands.iter().map(|command| (*command, expected)).collect::<Vec<_>>());
}

#[test]
fn looking_needs_nothing() {
    check_all(
        &[
            "git status",
            "git status -sb",
            "git status --short --branch",
            "git status --porcelain=v2",
            "git -C src log",
            "git --no-pager log -5",
            "git -P diff",
            "git --no-optional-locks status",
            "git -c core.pager=cat log",
            "git -c color.ui=always diff --stat",
            "git log",
            "git log -p",
            "git log --oneline -n 20",
            "git log --oneline -20 --graph --all --decorate",
            "git log --since=2.weeks --until yesterday --author=me --grep fix",
            "git log -S needle -- src/auth",
            "git log -Gneedle --pickaxe-regex",
            "git log --format=%H --reverse --first-parent",
            "git log --pretty=format:%h --date=short",
            "git log --follow -p -- src/auth/a.ts",
            "git log -L 1,5:src/auth/a.ts",
            "git log main..HEAD --name-only --no-merges",
            "git diff",
            "git diff --cached",
            "git diff --staged --stat",
            "git diff HEAD~1 -- src",
            "git diff main...HEAD --name-status",
            "git diff -w -U10 --word-diff=color --no-color",
            "git diff --no-index a b",
            "git diff --diff-filter=AM --numstat --shortstat -M -C",
            "git show HEAD:README.md",
            "git show --stat HEAD",
            "git blame -L 1,20 README.md",
            "git blame -w -C -C README.md",
            "git branch",
            "git branch -a",
            "git branch -vv",
            "git branch --show-current",
            "git branch --list fix/*",
            "git branch --merged main",
            "git tag",
            "git tag -l v*",
            "git tag --sort=-creatordate",
            "git remote -v",
            "git remote",
            "git remote get-url origin",
            "git stash list",
            "git stash show -p stash@{0}",
            "git config --get user.name",
            "git config user.email",
            "git config --list --show-origin",
            "git config get user.name",
            "git rev-parse HEAD",
            "git rev-parse --show-toplevel",
            "git rev-parse --abbrev-ref --symbolic-full-name @{u}",
            "git ls-files",
            "git ls-files -z --others --exclude-standard",
            "git ls-tree -r HEAD",
            "git grep foo",
            "git grep -n -i foo -- src",
            "git grep -nE -A3 foo",
            "git worktree list",
            "git reflog",
            "git reflog show -5",
            "git describe --tags --always",
            "git cat-file -p HEAD",
            "git check-ignore -v x",
            "git shortlog -sn --all",
            "git apply --check fix.patch",
            "git apply --stat fix.patch",
            "git submodule status",
            "git merge-base main HEAD",
            "git rev-list --count HEAD",
            "git for-each-ref --format=%(refname)",
            "git name-rev HEAD",
            "git diff-tree -r --no-commit-id HEAD",
            "git whatchanged -3",
            "git count-objects -v",
            "git version",
            "git --version",
            "git help log",
            "git ls-remote --heads origin",
            "git symbolic-ref --short HEAD",
            "git clean -n",
            "git clean -nd src",
            "git rm -n src/auth/a.ts",
            "git bisect log",
            "git format-patch --stdout HEAD~1",
            "git archive HEAD",
            "git fsck",
        ],
        "",
    );
}

#[test]
fn the_repository_alone() {
    check_all(
        &[
            "git add -A",
            "git add src/auth/a.ts",
            "git add -u .",
            "git commit -m rm",
            "git commit -am fix",
            "git commit --amend --no-edit",
            "git commit -m one -m two --no-verify",
            "git commit -F message.txt",
            "git push",
            "git push -u origin feature",
            "git push --force-with-lease origin HEAD",
            "git push origin :old",
            "git fetch",
            "git fetch --all --prune",
            "git fetch origin main",
            "git fetch https://example.org/x.git main",
            "git fetch git@example.org:me/x.git",
            "git tag v1",
            "git tag -a v1 -m one",
            "git branch new",
            "git branch -d old",
            "git branch -m new",
            "git checkout -b new",
            "git switch -c new",
            "git stash drop",
            "git reset",
            "git reset HEAD README.md",
            "git reset --soft HEAD~1",
            "git restore --staged README.md",
            "git rm --cached README.md",
            "git init",
            "git gc",
        ],
        "x:.",
    );
}

#[test]
fn files_that_are_named() {
    check_words(&[
        ("git checkout -- src/billing/pay.ts", "w:src/billing/pay.ts"),
        ("git checkout src/billing/pay.ts", "w:src/billing/pay.ts"),
        ("git checkout HEAD~1 -- src/billing", "W:src/billing"),
        ("git checkout HEAD~1 src/billing/pay.ts", "w:src/billing/pay.ts"),
        ("git checkout main -- src/auth/a.ts", "w:src/auth/a.ts"),
        ("git -C src/billing checkout pay.ts", "w:src/billing/pay.ts"),
        ("git restore src/auth/a.ts", "w:src/auth/a.ts"),
        ("git restore src/auth", "W:src/auth"),
        ("git restore --source=HEAD~1 src/auth/a.ts", "w:src/auth/a.ts"),
        ("git restore --staged --worktree a", "w:a"),
        ("git stash push -m x -- src/auth/a.ts", "w:src/auth/a.ts"),
        ("git rm src/auth/a.ts", "d:src/auth/a.ts"),
        ("git rm -rf src/auth", "D:src/auth"),
        ("git rm -f -- src/billing/pay.ts", "d:src/billing/pay.ts"),
        ("git mv src/auth/a.ts src/billing/b.ts", "d:src/auth/a.ts w:src/billing/b.ts"),
        ("git mv src/auth/a.ts src/billing", "d:src/auth/a.ts w:src/billing/a.ts"),
        ("git mv src/auth src/new", "D:src/auth W:src/new"),
        ("git clean -fd", "D:."),
        ("git clean -fdx src/auth", "D:src/auth"),
        ("git reset --hard HEAD~1", "W:."),
        ("git clone https://example.org/y.git", "W:y"),
        ("git clone --depth 1 git@example.org:me/y.git z", "W:z"),
        ("git archive -o a.tar HEAD", "w:a.tar"),
        ("git archive --output a.tar HEAD", "w:a.tar"),
        ("git format-patch -o out HEAD~1", "W:out"),
        ("git bundle create f HEAD", "w:f"),
    ]);
}

#[test]
fn settings_are_control_files() {
    check_words(&[
        ("git config user.name x", "w:.git/config"),
        ("git config core.hooksPath src/auth/hooks", "w:.git/config"),
        ("git config --unset user.name", "w:.git/config"),
        ("git config --add a.b c", "w:.git/config"),
        ("git config --edit", "w:.git/config"),
        ("git config set a.b c", "w:.git/config"),
        ("git config unset a.b", "w:.git/config"),
        ("git config --global user.name x", "w:~/.gitconfig w:~/.config/git/config"),
        ("git config -f cfg a.b c", "w:cfg"),
        ("git config --remove x", "?"),
        ("git remote add o url", "w:.git/config"),
        ("git remote set-url origin https://x/y", "w:.git/config"),
    ]);
}

#[test]
fn what_may_change_any_file_is_unknown() {
    check_all(
        &[
            "git checkout main",
            "git checkout -",
            "git checkout .",
            "git checkout -b new origin/main",
            "git checkout main src/auth/a.ts",
            "git checkout -- *.ts",
            "git checkout -- :/src",
            "git checkout --ours .",
            "git restore .",
            "git restore :/",
            "git switch main",
            "git switch -c new origin/main",
            "git merge main",
            "git merge --abort",
            "git rebase main",
            "git rebase -i HEAD~2",
            "git rebase -x make main",
            "git pull",
            "git pull --rebase",
            "git stash",
            "git stash pop",
            "git stash push",
            "git stash push -u",
            "git cherry-pick abc",
            "git revert HEAD",
            "git apply fix.patch",
            "git am x.mbox",
            "git worktree add ../wt",
            "git worktree remove wt",
            "git submodule update --init",
            "git submodule foreach rm",
            "git bisect start",
            "git bisect run make",
            "git read-tree -u HEAD",
            "git filter-branch --tree-filter rm",
            "git sparse-checkout set src",
        ],
        "?",
    );
}

#[test]
fn what_is_not_listed_is_unknown() {
    check_all(
        &[
            // Negated, abbreviated or combined options.
            "git rm -n --no-dry-run -f src/billing/pay.ts",
            "git clean -fdx --dry-run --no-dry-run .",
            "git apply --stat --no-stat fix.patch",
            "git apply --check --apply fix.patch",
            "git reset --har",
            "git checkout --for main",
            // Patterns.
            "git clean -fdx :/",
            "git rm -f :/src/billing/pay.ts",
            "git rm -rf *.ts",
            "git rm :(top)README.md",
            // Commands that read, but write with an option.
            "git reflog --output=src/billing/pay.ts",
            "git log --output src/billing/pay.ts",
            "git diff --output=src/billing/pay.ts",
            "git log --outp=src/billing/pay.ts",
            "git log --pretty --output=src/billing/pay.ts",
            "git log --format --output=src/billing/pay.ts",
            "git log --stat --output=src/billing/pay.ts",
            "git log -pn --output=src/billing/pay.ts",
            "git log -cG --output=src/billing/pay.ts",
            "git diff -L --output=src/billing/pay.ts",
            "git rev-list --output=src/billing/pay.ts HEAD",
            "git shortlog --output=src/billing/pay.ts",
            "git blame --output=src/billing/pay.ts README.md",
            "git stash list --output=src/billing/pay.ts",
            "git stash list -- --output=src/billing/pay.ts",
            "git stash show --output=src/billing/pay.ts",
            "git interpret-trailers --in-place --trailer x:y src/billing/pay.ts",
            "git format-patch HEAD~1",
            "git format-patch --output=x HEAD~1",
            "git clone --separate-git-dir=src/billing/x https://example.org/y z",
            "git clone -c core.fsmonitor=x https://example.org/y z",
            "git init --separate-git-dir=src/billing/x",
            "git fsck --lost-found",
            "git unpack-file HEAD:README.md",
            "git difftool -x rm",
            // Commands that read, but run something with an option.
            "git grep -nOrm export",
            "git grep -Orm foo",
            "git grep --open-files=rm foo",
            "git ls-remote --exec rm .",
            "git ls-remote .",
            "git ls-remote ext::sh",
            "git diff --ext-diff",
            "git log -p --textconv",
            "git fetch --upload-pack rm .",
            "git push --receive-pack=rm origin",
            "git -c core.fsmonitor=rm status",
            "git -c alias.x=!rm x",
            "git -c core.pager=rm log",
            "git -c diff.external=rm diff",
            "git --git-dir=src/auth/bare status",
            "git --work-tree=docs status",
            "git --exec-path=src/auth status",
            "git --config-env=a.b=C status",
            "git hook run x",
            "git x",
            "git update-ref refs/heads/x HEAD",
        ],
        "?",
    );
    check_words(&[
        ("git clone ./src/auth/bare z", "W:z ?"),
        ("git init src/auth/x", "x:. ?"),
        ("git push ./src/billing/bare main", "x:. ?"),
        ("git -c remote.x.uploadpack=rm fetch x", "x:. ?"),
    ]);
}

#[test]
fn only_the_workspaces_own_repository_is_certain() {
    let world = workspace();
    for path in ["src/auth/bare/HEAD", "src/auth/bare/config", "src/auth/nested/.git/HEAD"] {
        world.write(path, "ref: refs/heads/main\n");
    }
    world.mkdir("src/auth/bare/objects");
    world.mkdir("src/auth/bare/refs");
    world.mkdir("src/auth/nested/deep");
    world.symlink("bare", "src/auth/link");
    let footprint = |command: &str, cwd: &str| {
        let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
        spelled(&footprint_of_words(&argv, cwd, &*world))
    };
    let unknown = BTreeSet::from(["?".to_owned()]);
    for (command, cwd) in [
        ("git -C src/auth/bare status", ""),
        ("git -C src -C auth/bare status", ""),
        ("git -C src/auth/bare/refs status", ""),
        ("git -C src/auth/link status", ""),
        ("git status", "src/auth/bare"),
        ("git -C src/auth/nested status", ""),
        ("git log", "src/auth/nested/deep"),
        ("git -C /elsewhere status", ""),
        ("git -C .. status", ""),
        ("git status", "/elsewhere"),
        ("git status", "~/x"),
    ] {
        assert_eq!(footprint(command, cwd), unknown, "{command} in `{cwd}`");
    }
    for (command, cwd) in [
        ("git status", "src/auth"),
        ("git -C ../.. status", "src/auth/bare"),
        ("git -C /workspace/src log", ""),
        ("git log", "src/billing"),
    ] {
        assert_eq!(footprint(command, cwd), BTreeSet::new(), "{command} in `{cwd}`");
    }
}
