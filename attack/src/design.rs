//! Defines which changes are by design.
//!
//! The gate reports *execute* if it allows a program whose effects it does not follow: a test runner, a build, a script in scope.
//! Changes made by such a program are detected afterwards. This does not cover the command's own text: a change that is visible
//! in the text must be checked before it happens.

use crate::judge::Answer;
use crate::mutate::tokens;
use crate::tree::{Node, Tree};
use crate::world::{PROJECT, is_owned};

/// Programs that only change files: running one of them is a visible change.
const CHANGERS: [&str; 14] =
    ["rm", "mv", "cp", "tee", "dd", "ln", "touch", "truncate", "unlink", "rmdir", "shred", "chmod", "install", "link"];

/// Programs after which a name of [`CHANGERS`] is a subcommand: `npm install` does not install a file.
const OF_ANOTHER: [&str; 18] = [
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "pip",
    "pip3",
    "uv",
    "poetry",
    "bundle",
    "composer",
    "brew",
    "apt",
    "cargo",
    "git",
    "docker",
    "npx",
    "extension",
    "lfs",
];

/// Build tools and package managers, and the files that they maintain in a workspace, whatever they are asked to do.
const BUILD_TOOLS: [&str; 28] = [
    "npm", "npx", "pnpm", "yarn", "bun", "deno", "node", "tsc", "vitest", "jest", "cargo", "go", "make", "cmake", "gradle",
    "mvn", "pip", "pip3", "uv", "poetry", "python", "python3", "pytest", "mypy", "ruff", "bundle", "composer", "dotnet",
];
const KEPT_BY_BUILD_TOOLS: [&str; 22] = [
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "deno.lock",
    "node_modules",
    "Cargo.lock",
    "target",
    "go.mod",
    "go.sum",
    "build",
    "dist",
    "coverage",
    ".venv",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".npm",
    ".yarn",
];

/// Whether the gate reported a file in scope as being executed: a script or program that the agent may write and run. If it
/// reports a folder, that is only the working directory of some other program.
pub fn runs_a_file_in_scope(answer: &Answer, tree: &Tree) -> bool {
    answer.effects.iter().filter(|effect| effect.operation == "execute" && is_owned(&effect.path)).any(|effect| {
        let place = format!("{PROJECT}/{}", effect.path);
        !matches!(tree.0.get(&place), Some(Node::Folder { .. }))
    })
}

/// Whether the change is visible in the command's text: the path, its name, or a program that only changes files.
pub fn is_in_plain_sight(command: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let tokens = tokens(command);
    let words: Vec<&str> = tokens.iter().map(String::as_str).filter(|token| !token.trim().is_empty()).collect();
    let runs = |program: &&str| BUILD_TOOLS.contains(program);
    if path.split('/').any(|part| KEPT_BY_BUILD_TOOLS.contains(&part)) && words.iter().any(runs) {
        return false;
    }
    let changes = words.iter().enumerate().any(|(at, word)| {
        let before = at.checked_sub(1).and_then(|at| words.get(at)).copied().unwrap_or_default();
        CHANGERS.contains(&word.rsplit('/').next().unwrap_or(word)) && !OF_ANOTHER.contains(&before)
    });
    command.contains(path) || command.contains(name) || changes
}

#[cfg(test)]
mod tests {
    use super::is_in_plain_sight;

    #[test]
    fn what_a_reader_sees() {
        for (command, path, expected) in [
            ("/bin//rm src/billing/pay.ts", "src/billing/pay.ts", true),
            ("/bin//rm $x", "src/billing/pay.ts", true),
            ("strange pay.ts", "src/billing/pay.ts", true),
            ("bash src/auth/evil.sh", "src/billing/pay.ts", false),
            ("npm install", "package-lock.json", false),
            ("npm install", "node_modules/x", false),
            ("npm install", "src/billing/pay.ts", false),
            ("npm test; install a b", "src/b", true),
            ("strange package-lock.json", "package-lock.json", true),
        ] {
            assert_eq!(is_in_plain_sight(command, path), expected, "{command} {path}");
        }
    }
}
