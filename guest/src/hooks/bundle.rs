//! A script and the files that it needs, which are approved together, copied together and run from the copy.
//!
//! These are the files in the script's own folder, or those that the declaration names in `files`. Everything is bounded, and no
//! link is followed: a link among the files is refused.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::digest::Digest;
use crate::glob::Glob;
use crate::ports::{DirEntry, Facts, FileKind, Listing, ListingLimits, Ports, Question, Root};

/// Maximum number of files copied for a run.
pub const MAX_FILES: usize = 256;

/// Maximum size of all of them together, in bytes.
pub const MAX_BYTES: u64 = 16 << 20;

/// Maximum depth of folders below the script's own that are copied.
pub const MAX_DEPTH: u32 = 8;

/// Maximum number of names searched for all patterns of a hook.
const MAX_SEARCHED: u32 = 10_000;

/// Maximum depth of that search.
const MAX_SEARCH_DEPTH: u32 = 32;

/// Folders that interpreters keep beside their scripts and write again if they are missing.
const CACHES: &[&str] = &["__pycache__"];

/// Folders that a script shares with files that change all the time, so a script in one of them is taken alone.
const SHARED_FOLDERS: &[&str] = &["", ".tollgate", ".akira", ".orchestration", ".git"];

const REMEDY: &str = "move the script to a folder of its own, or name the files that it needs in `files`";

/// A file's path in the workspace, and the digest of its content.
pub type Checked = (String, Digest);

/// One pattern of `files`, as written and compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePattern {
    written: String,
    glob: Glob,
}

impl FilePattern {
    /// Compiles a pattern, or says what is wrong with it.
    pub fn compile(written: &str) -> Result<Self, String> {
        let path = written.strip_prefix("./").unwrap_or(written);
        let leads_out = path.starts_with('/') || path.get(1..2) == Some(":") && path.get(2..3) == Some("/");
        if leads_out || path.split('/').any(|name| matches!(name, "" | "." | "..")) || path.contains('\0') {
            return Err(format!("`{written}` must be a path of the workspace such as `hooks/lib/**`, without `..`"));
        }
        let glob =
            Glob::compile(path).map_err(|fault| format!("`{written}` is not a pattern such as `hooks/lib/**`: {fault}"))?;
        Ok(Self { written: path.to_owned(), glob })
    }

    /// The folder that contains everything it matches, and whether it is a pattern at all.
    fn folder(&self) -> (String, bool) {
        let is_literal = |name: &&str| !name.contains(['*', '?', '[', ']', '{', '}', '\\']);
        let names: Vec<&str> = self.written.split('/').collect();
        let literal: Vec<&str> = names.iter().copied().take_while(is_literal).collect();
        (literal.join("/"), literal.len() < names.len())
    }
}

/// The files that belong to a script, including the script itself, sorted by path. The error says what is wrong with them.
pub fn of_script(script: &str, named: Option<&[FilePattern]>, known: &Digests, ports: &Ports) -> Result<Vec<Checked>, String> {
    let mut found = match named {
        Some(patterns) => matching_files(patterns, ports)?,
        None => files_beside(script, ports)?,
    };
    if !found.iter().any(|path| path == script) {
        found.push(script.to_owned());
    }
    check_files(found, Some(known), ports)
}

/// One file by itself.
pub fn check_file(path: &str, ports: &Ports) -> Result<Vec<Checked>, String> {
    check_files(vec![path.to_owned()], None, ports)
}

/// The files that patterns name, sorted by path.
pub fn check_matching(patterns: &[FilePattern], ports: &Ports) -> Result<Vec<Checked>, String> {
    check_files(matching_files(patterns, ports)?, None, ports)
}

/// Maximum number of files of an extension that are checked.
pub const MAX_TREE_FILES: usize = 2_000;

/// Maximum size of all of them together, in bytes.
const MAX_TREE_BYTES: u64 = 64 << 20;

/// All files of an extension's folder, sorted by path.
pub fn check_tree(folder: &str, known: &Digests, ports: &Ports) -> Result<Vec<Checked>, String> {
    let limit = u32::try_from(MAX_TREE_FILES).unwrap_or(u32::MAX).saturating_mul(4);
    let listing = list(folder, &ListingLimits { depth: MAX_SEARCH_DEPTH + 1, limit, skip: names_of(CACHES) }, ports)?;
    if let Some(unseen) = &listing.unseen {
        return Err(format!("`{folder}/{unseen}` cannot be read"));
    }
    let mut files = Vec::new();
    for DirEntry { path, kind, .. } in &listing.entries {
        let whole = format!("{folder}/{path}");
        match kind {
            _ if path.split('/').count() > MAX_SEARCH_DEPTH as usize => {
                return Err(format!("`{whole}` is more than {MAX_SEARCH_DEPTH} folders deep"));
            }
            FileKind::Directory => {}
            FileKind::File => files.push(whole),
            _ => return Err(format!("`{whole}` is a link, or not a file; replace it with a file")),
        }
    }
    if listing.truncated || files.len() > MAX_TREE_FILES {
        return Err(format!("it has more than {MAX_TREE_FILES} files"));
    }
    hash_files(files, MAX_TREE_BYTES, Some(known), ports)
}

/// One digest for files and their content.
pub fn digest(files: &[Checked]) -> Digest {
    let lines: String = files.iter().map(|(path, digest)| format!("{digest} {path}\n")).collect();
    Digest::of(lines.as_bytes())
}

/// The files in a script's own folder.
fn files_beside(script: &str, ports: &Ports) -> Result<Vec<String>, String> {
    let folder = script.rsplit_once('/').map_or("", |(folder, _)| folder);
    if SHARED_FOLDERS.contains(&folder) {
        return Ok(Vec::new());
    }
    let limit = u32::try_from(MAX_FILES).unwrap_or(u32::MAX).saturating_mul(4);
    let listing = list(folder, &ListingLimits { depth: MAX_DEPTH + 2, limit, skip: names_of(CACHES) }, ports)?;
    let mut files = Vec::new();
    for DirEntry { path, kind, .. } in &listing.entries {
        let whole = format!("{folder}/{path}");
        if path.split('/').count() > MAX_DEPTH as usize + 1 {
            return Err(format!("`{whole}` is more than {MAX_DEPTH} folders below the script; {REMEDY}"));
        }
        match kind {
            FileKind::Directory => {}
            FileKind::File => files.push(whole),
            _ => return Err(not_a_file(&whole)),
        }
    }
    if listing.truncated || files.len() > MAX_FILES {
        return Err(format!("the folder `{folder}` of the script has more than {MAX_FILES} files; {REMEDY}"));
    }
    Ok(files)
}

/// The files that patterns name, each once.
fn matching_files(patterns: &[FilePattern], ports: &Ports) -> Result<Vec<String>, String> {
    let mut files: Vec<String> = Vec::new();
    let mut left = MAX_SEARCHED;
    for pattern in patterns {
        let (folder, is_pattern) = pattern.folder();
        let written = &pattern.written;
        let before = files.len();
        if is_pattern {
            let skip = names_of(&[CACHES, &[".git"]].concat());
            let from = if folder.is_empty() { "." } else { &folder };
            let listing = list(from, &ListingLimits { depth: MAX_SEARCH_DEPTH, limit: left, skip }, ports)?;
            left = left.saturating_sub(u32::try_from(listing.entries.len()).unwrap_or(u32::MAX));
            if listing.truncated {
                return Err(format!(
                    "`files` names `{written}`, for which more than {MAX_SEARCHED} names would have to be looked through; begin it with a folder"
                ));
            }
            let mut matched = false;
            for DirEntry { path, kind, .. } in &listing.entries {
                let whole = if folder.is_empty() { path.clone() } else { format!("{folder}/{path}") };
                if *kind == FileKind::Directory || !pattern.glob.matches(&whole) {
                    continue;
                }
                if *kind != FileKind::File {
                    return Err(not_a_file(&whole));
                }
                matched = true;
                files.push(whole);
            }
            if !matched {
                return Err(format!("`files` names `{written}`, which matches no file"));
            }
        } else {
            match inspect_path(written, ports) {
                Some(facts) if facts.kind == FileKind::Directory => {
                    return Err(format!("`files` names the folder `{written}`; write `{written}/**` for the files in it"));
                }
                Some(facts) if facts.kind == FileKind::File => files.push(written.clone()),
                _ => return Err(format!("`files` names `{written}`, which is not a file of the workspace")),
            }
        }
        if files.len() - before > MAX_FILES {
            return Err(format!("`files` names `{written}`, which matches more than {MAX_FILES} files"));
        }
    }
    files.sort_unstable();
    files.dedup();
    Ok(files)
}

/// The files with their digests, if they are few and small enough and none is reached by a link.
fn check_files(files: Vec<String>, known: Option<&Digests>, ports: &Ports) -> Result<Vec<Checked>, String> {
    if files.len() > MAX_FILES {
        return Err(format!("it needs more than {MAX_FILES} files; {REMEDY}"));
    }
    hash_files(files, MAX_BYTES, known, ports)
}

fn hash_files(mut files: Vec<String>, limit: u64, known: Option<&Digests>, ports: &Ports) -> Result<Vec<Checked>, String> {
    files.sort_unstable();
    let looked_at = inspect_files(&files, false, ports)?;
    // A large file is not hashed only to be refused.
    if looked_at.iter().try_fold(0u64, |sum, facts| sum.checked_add(facts.size)).is_none_or(|sum| sum > limit) {
        return Err(format!("its files are larger than {} MiB together; {REMEDY}", limit >> 20));
    }
    let find = |(path, facts): (&String, &Facts)| known.and_then(|known| known.find(path, facts));
    let mut digests: Vec<Option<Digest>> = files.iter().zip(&looked_at).map(find).collect();
    let missing: Vec<String> =
        files.iter().zip(&digests).filter(|(_, digest)| digest.is_none()).map(|(path, _)| path.clone()).collect();
    let hashed = inspect_files(&missing, true, ports)?;
    for ((slot, path), facts) in digests.iter_mut().filter(|digest| digest.is_none()).zip(&missing).zip(hashed) {
        let digest = facts.digest.ok_or_else(|| format!("`{path}` cannot be read"))?;
        *slot = Some(digest);
        if let Some(known) = known {
            known.keep(path, &facts, digest);
        }
    }
    Ok(files.into_iter().zip(digests).filter_map(|(path, digest)| Some((path, digest?))).collect())
}

/// What the host says about files, each of which must be a file at exactly its path.
fn inspect_files(files: &[String], digest: bool, ports: &Ports) -> Result<Vec<Facts>, String> {
    let question = |path: &String| Question { root: Root::Project, path: path.clone(), digest };
    let facts = ports.workspace.inspect(&files.iter().map(question).collect::<Vec<_>>());
    for (path, facts) in files.iter().zip(&facts) {
        // A link that took the file's place, or one of its folders', leads to another path.
        if facts.kind != FileKind::File || [&facts.real_path, &facts.entry_path].iter().any(|at| at.as_ref() != Some(path)) {
            return Err(not_a_file(path));
        }
    }
    Ok(facts)
}

/// Digests of files that have not changed since, so that a folder shared by many hooks is not hashed many times. For files that are
/// copied, the host hashes what it reads, so nothing runs if the digest is outdated. MCP servers run in place: for them, a change is
/// noticed as far as the stamp and the size show it.
#[derive(Debug, Clone, Default)]
pub struct Digests(Rc<RefCell<HashMap<String, DigestEntry>>>);

/// The stamp and the size that a file had, and its digest.
type DigestEntry = (u64, u64, Digest);

/// Maximum number of digests kept.
const MAX_KEPT: usize = 4_096;

impl Digests {
    fn find(&self, path: &str, facts: &Facts) -> Option<Digest> {
        let kept = self.0.borrow();
        let (stamp, size, digest) = kept.get(path)?;
        (*stamp == facts.stamp && *size == facts.size && facts.stamp != 0).then_some(*digest)
    }

    fn keep(&self, path: &str, facts: &Facts, digest: Digest) {
        let mut kept = self.0.borrow_mut();
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(path.to_owned(), (facts.stamp, facts.size, digest));
    }
}

fn not_a_file(path: &str) -> String {
    format!(
        "`{path}` is a link, or not a file, so it cannot be copied with the script; replace it with a file, or name the files that the script needs in `files`"
    )
}

fn list(folder: &str, reach: &ListingLimits, ports: &Ports) -> Result<Listing, String> {
    ports.workspace.list(Root::Project, folder, reach).map_err(|fault| format!("the folder `{folder}` cannot be read: {fault}"))
}

fn inspect_path(path: &str, ports: &Ports) -> Option<Facts> {
    ports.workspace.inspect(&[Question::project(path)]).into_iter().next()
}

fn names_of(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The texts of checked files, script first: only those whose bytes have the digest, so that what is shown is what is approved.
#[derive(Debug, Default)]
pub struct Texts {
    /// Path and text of each file, as far as there is room.
    pub texts: Vec<(String, String)>,
    /// Files whose text is not shown.
    pub missing: Vec<String>,
}

/// Maximum number of bytes of text shown and kept for one approval.
const MAX_TEXT: u64 = 64 << 10;

/// Reads the texts of checked files again, and takes only those that still have their digest.
pub fn read_texts(script: &str, files: &[Checked], ports: &Ports) -> Texts {
    let mut texts = Texts::default();
    let mut room = MAX_TEXT;
    let is_script = |(path, _): &&Checked| path == script;
    for (path, digest) in files.iter().filter(is_script).chain(files.iter().filter(|file| !is_script(file))) {
        let bytes = ports.workspace.read(Root::Project, path, room).ok().filter(|bytes| Digest::of(bytes) == *digest);
        match bytes.and_then(|bytes| String::from_utf8(bytes).ok()) {
            Some(text) => {
                room = room.saturating_sub(text.len() as u64);
                texts.texts.push((path.clone(), text));
            }
            None => texts.missing.push(path.clone()),
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::memory::Memory;

    fn patterns(written: &[&str]) -> Vec<FilePattern> {
        written.iter().map(|written| FilePattern::compile(written).unwrap()).collect()
    }

    fn paths(found: Result<Vec<Checked>, String>) -> String {
        match found {
            Ok(files) => files.into_iter().map(|(path, _)| path).collect::<Vec<_>>().join(" "),
            Err(why) => why,
        }
    }

    #[test]
    fn which_files_belong_to_a_script() {
        let world = Memory::new();
        let ports = world.ports();
        for path in [
            "top.sh",
            "hooks/a.sh",
            "hooks/lib/b.sh",
            "hooks/lib/c.txt",
            "hooks/__pycache__/x.pyc",
            "shared/s.sh",
            "linked/a.sh",
            "deep/a.sh",
            "deep/1/2/3/4/5/6/7/8/f",
            "deeper/a.sh",
            "deeper/1/2/3/4/5/6/7/8/9/f",
            ".tollgate/x.sh",
            "large/a.sh",
        ] {
            world.write(path, path);
        }
        world.symlink("../shared/s.sh", "linked/s.sh");
        world.symlink("shared", "other");
        world.write("large/b", vec![0; usize::try_from(MAX_BYTES).unwrap()]);
        for at in 0..=MAX_FILES {
            world.write(&format!("many/{at}.sh"), "x");
        }
        for (script, files, expected) in [
            ("hooks/a.sh", None, "hooks/a.sh hooks/lib/b.sh hooks/lib/c.txt"),
            ("top.sh", None, "top.sh"),
            (".tollgate/x.sh", None, ".tollgate/x.sh"),
            ("deep/a.sh", None, "deep/1/2/3/4/5/6/7/8/f deep/a.sh"),
            ("deeper/a.sh", None, "`deeper/1/2/3/4/5/6/7/8/9/f` is more than 8 folders below"),
            ("linked/a.sh", None, "`linked/s.sh` is a link"),
            ("large/a.sh", None, "its files are larger than 16 MiB"),
            ("many/0.sh", None, "the folder `many` of the script has more than 256 files"),
            ("many/0.sh", Some(vec![]), "many/0.sh"),
            ("hooks/a.sh", Some(vec!["hooks/lib/*.sh", "shared/**"]), "hooks/a.sh hooks/lib/b.sh shared/s.sh"),
            ("hooks/a.sh", Some(vec!["./shared/s.sh", "shared/s.sh"]), "hooks/a.sh shared/s.sh"),
            ("hooks/a.sh", Some(vec!["*.sh"]), "hooks/a.sh top.sh"),
            ("hooks/a.sh", Some(vec!["shared"]), "`files` names the folder `shared`; write `shared/**`"),
            ("hooks/a.sh", Some(vec!["gone.sh"]), "`files` names `gone.sh`, which is not a file"),
            ("hooks/a.sh", Some(vec!["gone/**"]), "the folder `gone` cannot be read"),
            ("hooks/a.sh", Some(vec!["shared/*.js"]), "`files` names `shared/*.js`, which matches no file"),
            ("hooks/a.sh", Some(vec!["linked/**"]), "`linked/s.sh` is a link"),
            ("hooks/a.sh", Some(vec!["linked/s.sh"]), "`linked/s.sh` is a link"),
            ("hooks/a.sh", Some(vec!["other/**"]), "`other/s.sh` is a link"),
            ("hooks/a.sh", Some(vec!["many/*"]), "`files` names `many/*`, which matches more than 256 files"),
        ] {
            let files = files.map(|files| patterns(&files));
            let found = paths(of_script(script, files.as_deref(), &Digests::default(), &ports));
            assert!(found.starts_with(expected), "{script} {files:?}: {found}");
            if !expected.contains('`') && !expected.contains("its") {
                assert_eq!(found, expected);
            }
        }
        for written in ["/etc/passwd", "../x", "a/../b", "C:/x", "a//b", "", "."] {
            assert!(FilePattern::compile(written).is_err(), "{written}");
        }
    }

    #[test]
    fn only_checked_bytes_are_shown() {
        let world = Memory::new();
        let ports = world.ports();
        world.write("hooks/a.sh", "one");
        world.write("hooks/0.sh", "zero");
        world.write("hooks/long", vec![b'x'; 70_000]);
        let known = Digests::default();
        let files = of_script("hooks/a.sh", None, &known, &ports).unwrap();
        assert_eq!(of_script("hooks/a.sh", None, &known, &ports).unwrap(), files, "known or not");
        let shown = read_texts("hooks/a.sh", &files, &ports);
        let expected = [("hooks/a.sh".to_owned(), "one".to_owned()), ("hooks/0.sh".to_owned(), "zero".to_owned())];
        assert_eq!((shown.texts.as_slice(), shown.missing), (expected.as_slice(), vec!["hooks/long".to_owned()]));
        world.write("hooks/a.sh", "two");
        assert_ne!(of_script("hooks/a.sh", None, &known, &ports).unwrap(), files);
        assert_eq!(read_texts("hooks/a.sh", &files, &ports).texts, expected[1..]);
    }
}
