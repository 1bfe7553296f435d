//! Lists the existing files that an intent owns, for the prompt.

use std::collections::BTreeSet;

use super::intent::Intent;
use super::scope::Reach;
use crate::effects::path::Location;
use crate::ports::{FileKind, LARGE_FOLDERS, ListingLimits, Question, Root, Workspace};

/// Maximum number of files that are listed.
const MAX_FILES: usize = 200;
/// Maximum number of patterns that are searched for, and of folders that are listed for them.
const MAX_PATTERNS: usize = 200;
const MAX_LISTINGS: usize = 32;
/// Maximum depth of a listing, and number of its entries.
const MAX_DEPTH: u32 = 64;
const MAX_ENTRIES: u32 = 2000;
/// Number of files compared with the patterns above which no more folders are listed.
const MAX_COMPARED: usize = 8000;

/// The files that an intent owns now, sorted, as far as a few listings of the folders that its patterns name show them. Files
/// behind a link are not included.
pub fn files_in_scope(intent: &Intent, workspace: &dyn Workspace) -> Vec<String> {
    let wanted: Vec<LiteralPrefix> = intent.owned_scope.usable().filter_map(LiteralPrefix::of).take(MAX_PATTERNS).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let questions: Vec<Question> = wanted.iter().map(|base| Question::project(base.display_path())).collect();
    let facts = workspace.inspect(&questions);
    let mut files = BTreeSet::new();
    let mut folders: Vec<LiteralPrefix> = Vec::new();
    for (base, facts) in wanted.into_iter().zip(facts) {
        if facts.real_path.as_deref() != Some(base.display_path()) {
            continue;
        }
        match facts.kind {
            FileKind::File if base.depth == 0 => drop(files.insert(base.path)),
            FileKind::Directory if base.depth > 0 => {
                // Parent folders come first, and of two looks at a folder the deeper one.
                let goes_before = |other: &LiteralPrefix| (&base.path, other.depth) < (&other.path, base.depth);
                let at = folders.iter().position(goes_before).unwrap_or(folders.len());
                folders.insert(at, base);
            }
            _ => {}
        }
    }
    let mut listed: Vec<LiteralPrefix> = Vec::new();
    let mut listings = 0;
    for folder in folders {
        if listings == MAX_LISTINGS || files.len() > MAX_COMPARED || listed.iter().any(|above| above.covers(&folder)) {
            continue;
        }
        listings += 1;
        let reach = ListingLimits::without_large_folders(folder.depth, MAX_ENTRIES);
        let Ok(listing) = workspace.list(Root::Project, folder.display_path(), &reach) else { continue };
        let below = |name: String| if folder.path.is_empty() { name } else { format!("{}/{name}", folder.path) };
        let found = listing.entries.into_iter().filter(|entry| entry.kind == FileKind::File);
        for entry in found {
            files.insert(below(entry.path));
        }
        if !listing.truncated {
            listed.push(folder);
        }
    }
    let owned = |file: &String| match Location::from_host(file) {
        Location::Inside(path) => intent.owned_scope.reach(&path) == Reach::Within,
        Location::Outside(_) => false,
    };
    files.into_iter().filter(owned).take(MAX_FILES).collect()
}

/// The part of a pattern before its first wildcard.
struct LiteralPrefix {
    /// The path; empty for the workspace itself.
    path: String,
    /// How many names may follow; 0 if the pattern is a file's own name.
    depth: u32,
}

impl LiteralPrefix {
    fn of(pattern: &str) -> Option<Self> {
        let wild = |name: &&str| name.contains(['*', '?', '[', '{', '\\']);
        let literal: Vec<&str> = pattern.split('/').take_while(|name| !wild(name)).collect();
        if literal.iter().any(|name| name.is_empty() || *name == ".") {
            return None;
        }
        let rest: Vec<&str> = pattern.split('/').skip(literal.len()).collect();
        let spans = rest.iter().any(|name| name.contains("**"));
        let depth = if spans { MAX_DEPTH } else { u32::try_from(rest.len()).unwrap_or(MAX_DEPTH).min(MAX_DEPTH) };
        Some(Self { path: literal.join("/"), depth })
    }

    fn display_path(&self) -> &str {
        if self.path.is_empty() { "." } else { &self.path }
    }

    /// Whether a full listing of this folder shows everything that one of the other would.
    fn covers(&self, other: &Self) -> bool {
        let below = match other.path.strip_prefix(self.path.as_str()) {
            Some(below) if self.path.is_empty() || below.is_empty() => below,
            Some(below) => match below.strip_prefix('/') {
                Some(below) => below,
                None => return false,
            },
            None => return false,
        };
        let names = || below.split('/').filter(|name| !name.is_empty());
        let between = u32::try_from(names().count()).unwrap_or(u32::MAX);
        let deep_enough = self.depth == MAX_DEPTH || other.depth.saturating_add(between) <= self.depth;
        deep_enough && !names().any(|name| LARGE_FOLDERS.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intents::file::Intents;
    use crate::ports::memory::Memory;

    fn intent(yaml: &str) -> Intent {
        Intents::parse(yaml.as_bytes()).unwrap().all()[0].clone()
    }

    #[test]
    fn files() {
        let world = Memory::new();
        for path in
            ["src/auth/a.ts", "src/auth/deep/er/b.ts", "src/auth/node_modules/m.ts", "src/c.ts", "docs/auth.md", "docs/other.md"]
        {
            world.write(path, "");
        }
        for path in ["a/x", "b/x", "b/y", ".git/config", "target/out.ts", "README.md"] {
            world.write(path, "");
        }
        world.mkdir("docs/folder.md");
        world.symlink("../secret", "src/auth/out");
        world.symlink("/home/user", "home");
        world.symlink("docs/other.md", "link.md");
        for (patterns, expected) in [
            ("[src/auth/**]", &["src/auth/a.ts", "src/auth/deep/er/b.ts"][..]),
            ("[src/auth/]", &["src/auth/a.ts", "src/auth/deep/er/b.ts"]),
            ("[./src/auth/*.ts]", &["src/auth/a.ts"]),
            ("['**/*.ts']", &["src/auth/a.ts", "src/auth/deep/er/b.ts", "src/c.ts"]),
            (
                "['**/*.ts', src/**, 'src/*.ts', target/**]",
                &["src/auth/a.ts", "src/auth/deep/er/b.ts", "src/c.ts", "target/out.ts"],
            ),
            ("[docs/auth.md, docs/folder.md, docs/missing.md]", &["docs/auth.md"]),
            ("['{a,b}/x']", &["a/x", "b/x"]),
            ("['{docs/auth,README}.md']", &["README.md", "docs/auth.md"]),
            ("['[ab]/?']", &["a/x", "b/x", "b/y"]),
            ("['*.md']", &["README.md"]),
            ("[../x, /etc/**, 'a[', '', '.', a//x, 'no/**', README.md]", &["README.md"]),
            ("[home/**, link.md, src/auth/out]", &[]),
            ("['.g*/**', '**/config']", &[]),
            ("[]", &[]),
        ] {
            let intent = intent(&format!("[{{id: I, name: N, status: PLANNED, owned_scope: {patterns}}}]"));
            assert_eq!(files_in_scope(&intent, world.as_ref()), expected, "{patterns}");
        }
    }

    #[test]
    fn many_files_and_patterns() {
        let world = Memory::new();
        (0..300).for_each(|n| world.write(&format!("src/{n:03}"), ""));
        (0..40).for_each(|n| world.write(&format!("p{n:02}/x"), ""));
        let found = files_in_scope(&intent("[{id: I, name: N, status: PLANNED, owned_scope: [src/**]}]"), world.as_ref());
        assert_eq!((found.len(), found.first().map(String::as_str)), (200, Some("src/000")));
        let patterns: Vec<String> = (0..40).map(|n| format!("p{n:02}/*")).collect();
        let intent = intent(&format!("[{{id: I, name: N, status: PLANNED, owned_scope: [{}]}}]", patterns.join(", ")));
        assert_eq!(files_in_scope(&intent, world.as_ref()).len(), MAX_LISTINGS);
    }
}
