//! Opens folders of the workspace that git ignores: they hold build output.
//!
//! Only folders that the `.gitignore` at the root names without a wildcard are opened, and only at the path that it names.
//! Ignored single files such as `.env` are not opened, and neither are folders with files that git tracks: otherwise, whoever may
//! change `.gitignore` could open any folder by naming it there. If git's index cannot be read, only the usual build folders are
//! opened. `node_modules` and `target` are opened even if git tracks files in them. A folder that does not exist yet is made only for a program that
//! is known to fill it: many scripts take an existing folder to mean that nothing is left to do.

use std::cell::LazyCell;

use super::Context;
use super::opening::GrantCollector;
use crate::inflight::git_index::GitIndex;
use crate::inflight::snapshot::Ignored;
use crate::ports::{FileKind, Question};

const WHY: &str = "git ignores it, so it contains build output";

/// The most folders that are looked for.
const MAX_FOLDERS: usize = 200;

/// Folders that never contain anyone's work, whatever git says.
const ALWAYS: [&str; 2] = ["node_modules", "target"];

/// Folders, each with the programs that fill it.
const FILLED_BY: &[(&str, &[&str])] = &[
    ("node_modules", &["npm", "pnpm", "yarn", "bun"]),
    ("target", &["cargo", "mvn", "mvnw", "sbt"]),
    ("build", &["gradle", "gradlew", "cmake", "meson"]),
    (".gradle", &["gradle", "gradlew"]),
    (".venv", &["uv", "poetry", "pdm"]),
    (".pytest_cache", &["pytest", "py.test"]),
    (".mypy_cache", &["mypy"]),
    (".ruff_cache", &["ruff"]),
    (".tox", &["tox"]),
    (".nox", &["nox"]),
    ("dist", &["tsc", "tsup", "vite", "rollup", "esbuild", "webpack"]),
    (".next", &["next"]),
    (".nuxt", &["nuxt"]),
    (".turbo", &["turbo"]),
    ("coverage", &["jest", "vitest", "c8", "nyc"]),
    ("_build", &["mix", "dune", "rebar3"]),
    ("vendor", &["composer"]),
    ("zig-out", &["zig"]),
];

/// Opens the folders.
pub(super) fn open(opening: &mut GrantCollector<'_>, context: &Context<'_>) {
    let folders = folders(&Ignored::text(context.ports));
    let facts = context.ports.workspace.inspect(&folders.iter().map(Question::project).collect::<Vec<_>>());
    let index = LazyCell::new(|| GitIndex::read_whole(context.ports));
    for (folder, facts) in folders.iter().zip(facts) {
        if facts.real_path.as_deref() != Some(folder) {
            continue;
        }
        let is_tracked = || match &*index {
            Some(index) => index.has_below(folder),
            None => !FILLED_BY.iter().any(|(name, _)| name == folder),
        };
        if facts.kind == FileKind::Directory && !ALWAYS.contains(&folder.as_str()) && is_tracked() {
            opening.note(format!("`{folder}` is not granted though `.gitignore` names it: git tracks files in it"));
            continue;
        }
        match facts.kind {
            FileKind::Directory => opening.open_tree(folder, WHY, false, false),
            FileKind::Missing if is_filled(folder, context) => opening.open_tree(folder, WHY, true, false),
            _ => {}
        }
    }
}

fn is_filled(folder: &str, context: &Context<'_>) -> bool {
    let programs = FILLED_BY.iter().find(|(name, _)| *name == folder).map_or(&[][..], |(_, programs)| programs);
    programs.iter().any(|program| context.footprint.programs.contains(*program))
}

/// The folders that a `.gitignore` names, relative to the root, and [`ALWAYS`].
fn folders(text: &str) -> Vec<String> {
    let plain = |line: &str| {
        let name = line.trim().trim_end_matches('/');
        let name = name.strip_prefix("**/").unwrap_or(name).trim_start_matches('/');
        let is_name = |name: &str| !matches!(name, "" | "." | "..");
        (!name.contains(['*', '?', '[', '\\']) && name.split('/').all(is_name)).then(|| name.to_owned())
    };
    let lines = || text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let kept: Vec<String> = lines().filter_map(|line| plain(line.strip_prefix('!')?)).collect();
    let mut found: Vec<String> = ALWAYS.map(str::to_owned).to_vec();
    for folder in lines().filter(|line| !line.starts_with('!')).filter_map(plain) {
        if found.len() < MAX_FOLDERS && !found.contains(&folder) {
            found.push(folder);
        }
    }
    // An exception in a folder means that not everything in it is build output.
    let has_exception = |folder: &String| kept.iter().any(|kept| super::grant::is_at_or_below(kept, folder));
    found.retain(|folder| !has_exception(folder));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_are_named() {
        let text = "# built\n/dist\n target/ \n**/.next/\nweb/out\n*.log\n.env\ncmake-build-*/\nlogs/\n!logs/keep\n..\n/\n!a\n";
        assert_eq!(folders(text), ["node_modules", "target", "dist", ".next", "web/out", ".env"]);
        assert_eq!(folders("node_modules/\n!node_modules/mine"), ["target"]);
        let many: String = (0..1_000).map(|n| format!("d{n}\n")).collect();
        assert_eq!(folders(&many).len(), MAX_FOLDERS);
    }
}
