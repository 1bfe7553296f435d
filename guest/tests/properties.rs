//! Properties of every path and every patch, tried on many that nobody thought of.

use crate::dice;
use std::cell::{Cell, RefCell};

use crate::dice::check;
use serde_json::{Value, json};
use tollgate_guest::call::patch::{self, PatchDialect, PatchedFile, unified};
use tollgate_guest::effects::Access;
use tollgate_guest::effects::path::{Location, candidates, normalize};
use tollgate_guest::gate::Gate;
use tollgate_guest::glob::Glob;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::Memory;
use tollgate_guest::ports::{Question, Workspace};
use tollgate_guest::servers::schema::Schema;

const PIECES: &[&str] = &[
    "a",
    "/",
    "/",
    "/",
    "..",
    ".",
    "~",
    "\\",
    "src",
    "auth",
    "billing",
    "lnk",
    "up",
    "loop",
    "here",
    ":",
    "C:",
    "file:",
    " ",
    "ü",
    "\u{200b}",
    "proc",
    "self",
    "cwd",
    "dev",
    "null",
    "\0",
    ".git",
    "workspace",
    "x.ts",
];

#[test]
fn normalising_twice_changes_nothing() {
    check(1, 100_000, 24, |dice| {
        let (path, cwd) = (dice.join(PIECES, 8), dice.join(PIECES, 3));
        let Ok(once) = normalize(&path, Some(&cwd)) else { return };
        // A working directory that is not a path is found out the second time; it never leads elsewhere.
        if let Ok(twice) = normalize(&once, None) {
            assert_eq!(once, twice, "{path:?} in {cwd:?}");
        }
        for place in candidates(&path, None).unwrap_or_default() {
            match candidates(&place, None) {
                Ok(again) => assert_eq!(again.first(), Some(&place), "{path:?}"),
                // A file whose name begins with `\\`: as `./\\` it is in this folder, by itself it could be on another machine.
                Err(fault) => assert!(place.starts_with(r"\\"), "{path:?}: {fault}"),
            }
        }
    });
}

fn linked_world() -> std::rc::Rc<Memory> {
    let world = Memory::new();
    world.write(
        ".orchestration/active_intents.yaml",
        "[{id: LOGIN, name: Login, status: IN_PROGRESS, owned_scope: ['src/auth/**']}]",
    );
    world.write("src/auth/a", "a");
    world.write("src/billing/a", "b");
    world.symlink("../billing", "src/auth/lnk");
    world.symlink("..", "src/auth/up");
    world.symlink("loop", "src/auth/loop");
    world.symlink(".", "src/auth/here");
    world.symlink("/", "root");
    world
}

#[test]
fn no_accepted_path_escapes() {
    let world = linked_world();
    let mut gate = Gate::new(world.ports());
    perform(&mut gate, br#"{"op":"select-intent","session":"s","intent":"LOGIN"}"#);
    let gate = RefCell::new(gate);
    let allowed = Cell::new(0);
    check(2, 30_000, 20, |dice| {
        let path = format!("{}{}", dice.pick(&["src/auth/", "src/", "", "/workspace/src/auth/"]), dice.join(PIECES, 6));
        for facts in world.inspect(&[Question::project(path.clone())]) {
            if let Some(Location::Inside(inside)) = facts.real_path.as_deref().map(Location::from_host) {
                assert!(inside.names().all(|name| !["", ".", ".."].contains(&name)), "{path:?}: {inside}");
            }
        }
        let tool = dice.pick(&["write", "Delete", "create_directory"]);
        let op = json!({"op": "pre-tool", "session": "s", "call": "c", "tool": tool, "args": {"path": path}});
        let answer: Value = serde_json::from_str(&perform(&mut gate.borrow_mut(), op.to_string().as_bytes())).unwrap();
        if answer["code"] == "in_scope" {
            allowed.set(allowed.get() + 1);
            for effect in answer["effects"].as_array().unwrap() {
                let at = effect["path"].as_str().unwrap();
                let above = tool == "create_directory" && at == "src";
                assert!(at == "src/auth" || at.starts_with("src/auth/") || above, "{tool} {path:?}: {answer}");
                assert!(!at.split('/').any(|name| name == ".." || name == ".git"), "{tool} {path:?}: {answer}");
            }
        }
    });
    assert!(allowed.get() > 1_000, "only {} were allowed, which shows nothing", allowed.get());
}

const LINES: &[&str] = &[
    "*** Begin Patch",
    "*** End Patch",
    "*** Add File: src/a",
    "*** Update File: b",
    "*** Delete File:c",
    "*** Move to: d",
    "*** End of File",
    "  *** Delete File: e",
    "+*** Delete File: f",
    "***",
    "@@",
    "@@ -1,3 +1,2 @@ fn",
    "@@ -1 +1 @@",
    "@@ -99999999999999999999 +1 @@",
    "--- a/x",
    "+++ b/x",
    "+++ /dev/null",
    "--- \"a/\\303\\244\"",
    "diff --git a/x b/y",
    "diff --git \"a/x",
    "diff --git a b",
    "rename from x",
    "rename to y",
    "Binary files a/x and b/x differ",
    "GIT binary patch",
    "<<<<<<< SEARCH",
    "=======",
    ">>>>>>> REPLACE",
    "-x",
    "+ä",
    " x",
    "",
    "\\ No newline at end of file",
    "<<'EOF'",
    "EOF",
];

/// An envelope with these changes.
fn print_envelope(changes: &[PatchedFile]) -> String {
    let header = |change: &PatchedFile| match change.access {
        Access::Delete => format!("*** Delete File: {}\n", change.path),
        _ => format!("*** Update File: {}\n", change.path),
    };
    format!("*** Begin Patch\n{}*** End Patch", changes.iter().map(header).collect::<String>())
}

/// A diff with these changes. Its names are quoted, because otherwise some names could not be told from what may follow a name.
fn print_diff(changes: &[&PatchedFile]) -> String {
    let quoted = |prefix: &str, path: &str| {
        let escape = |byte: u8| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("\\{byte:03o}") };
        format!("\"{prefix}{}\"", path.bytes().map(escape).collect::<String>())
    };
    let file = |change: &&PatchedFile| {
        let new = if change.access == Access::Delete { "/dev/null".to_owned() } else { quoted("b/", &change.path) };
        format!("--- {}\n+++ {new}\n@@ -1 +1 @@\n-x\n+y\n", quoted("a/", &change.path))
    };
    changes.iter().map(file).collect()
}

/// Whatever is read was written there: each name is part of a line, and reading it from a plain patch gives the same again.
#[test]
fn no_patch_is_too_strange() {
    let (envelopes, diffs) = (Cell::new(0), Cell::new(0));
    check(3, 30_000, 60, |dice| {
        let mut text: String =
            (0..dice.below(12)).flat_map(|_| [dice.pick(LINES), dice.pick(&["\n", "\n", "\r\n", "\r", " "])]).collect();
        // By chance, an envelope is hardly ever opened and closed.
        if dice.once_in(2) {
            text = format!("*** Begin Patch\n*** Update File: x\n{text}\n*** End Patch");
        }
        let mut text: Vec<char> = text.chars().collect();
        for _ in 0..dice.below(4) {
            let at = dice.below(text.len() + 1);
            match dice.below(3) {
                0 => text.truncate(at),
                1 => text.insert(at, ['"', '\\', '\n', '\u{feff}', '\0', '*'][dice.below(6)]),
                _ => drop((at < text.len()).then(|| text.remove(at))),
            }
        }
        let text: String = text.into_iter().collect();
        // An escaped name in quotes is the only one that looks different in the text.
        let is_written = |name: &str| text.contains('"') || text.lines().any(|line| line.contains(name));
        for dialect in [PatchDialect::Any, PatchDialect::Codex, PatchDialect::OpenCode] {
            let Ok(changes) = patch::envelope::changes(&text, dialect) else { continue };
            envelopes.set(envelopes.get() + 1);
            assert!(changes.iter().all(|change| !change.path.is_empty() && text.contains(&change.path)), "{text:?}: {changes:?}");
            assert_eq!(patch::envelope::changes(&print_envelope(&changes), dialect), Ok(changes), "{dialect:?} {text:?}");
        }
        let any = patch::envelope::changes(&text, PatchDialect::Any);
        for dialect in [PatchDialect::Codex, PatchDialect::OpenCode] {
            // Whatever one parser would change is among the changes that count when nobody knows which parser applies.
            if let (Ok(any), Ok(one)) = (&any, patch::envelope::changes(&text, dialect)) {
                assert!(one.iter().all(|change| any.iter().any(|counted| counted.path == change.path)), "{text:?}");
            }
        }
        let Ok(diff) = unified::read(&text) else { return };
        assert!(diff.changes.iter().all(|change| is_written(&change.path)), "{text:?}: {diff:?}");
        assert!(diff.block_titles.iter().all(|title| is_written(title)), "{text:?}: {diff:?}");
        // What is only copied has no header of its own.
        let changed: Vec<&PatchedFile> = diff.changes.iter().filter(|change| change.access != Access::Read).collect();
        if !changed.is_empty() {
            diffs.set(diffs.get() + 1);
            let again = unified::read(&print_diff(&changed)).unwrap();
            assert_eq!(again.changes.iter().collect::<Vec<_>>(), changed, "{text:?}");
        }
    });
    assert!(envelopes.get() > 1_000 && diffs.get() > 1_000, "{} envelopes, {} diffs", envelopes.get(), diffs.get());
}

/// Megabytes of the worst lines take no longer than reading them.
#[test]
fn hostile_patches_take_linear_time() {
    let begun = std::time::Instant::now();
    let fill = |line: &str| line.repeat((4 << 20) / line.len());
    for text in [
        fill("*** Update File: x\n"),
        fill("--- a/x\n+++ b/x\n@@ -1 +1 @@\n"),
        fill("diff --git a/x b/x b/x b/x\n"),
        fill("\"\\303"),
        fill("--- \"\\\\"),
        fill("<<<<<<< SEARCH\n"),
        fill(" 2026-01-0"),
        fill("*"),
        fill("\r"),
    ] {
        let wrapped = format!("*** Begin Patch\n{text}\n*** End Patch");
        drop(patch::changes(&wrapped, PatchDialect::Any));
        drop(unified::read(&format!("--- {text}")));
    }
    let long = format!("*** Begin Patch\n*** Add File: x\n{}*** End Patch", "+text\n".repeat(4 << 20));
    assert_eq!(patch::changes(&long, PatchDialect::Any).unwrap().len(), 1);
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}

/// More files than anybody looks at are refused before the host is asked about them.
#[test]
fn too_many_files() {
    let files: String = (0..20_000).map(|number| format!("*** Delete File: {number}\n")).collect();
    let fault = patch::changes(&format!("*** Begin Patch\n{files}*** End Patch"), PatchDialect::Any).unwrap_err();
    assert!(fault.to_string().contains("more than 10000 files"), "{fault}");
}

const PATTERN_PIECES: &[&str] = &[
    "a", "b", "/", "*", "**", "?", "**/", "/**", "/**/", "[ab]", "[!a]", "[a-c]", "{a,b}", "{a,", "b/*}", "}", ",", ".", "\\*",
    "c",
];

/// Whether no name in it is empty. A text with an empty name is neither a path that the gate looks at nor a pattern that anybody
/// means.
fn has_names(text: &str) -> bool {
    text.split('/').all(|name| !name.is_empty())
}

/// Patterns mean the same as in globset, wherever both accept them.
#[test]
fn globs_mean_what_they_mean_to_globset() {
    let (compared, matched) = (Cell::new(0), Cell::new(0));
    check(4, 20_000, 24, |dice| {
        let pattern = dice.join(PATTERN_PIECES, 7);
        let theirs =
            globset::GlobBuilder::new(&pattern).literal_separator(true).backslash_escape(true).empty_alternates(true).build();
        let (Ok(ours), Ok(theirs), true) = (Glob::compile(&pattern), theirs, has_names(&pattern)) else { return };
        let theirs = theirs.compile_matcher();
        compared.set(compared.get() + 1);
        for _ in 0..4 {
            let path = dice.join(&["a", "b", "/", "c", ".", "*", "ab"], 6);
            // A class that excludes characters matches `/` in globset; ours never leaves a folder that way.
            if !has_names(&path) || (pattern.contains("[!") && path.contains('/')) {
                continue;
            }
            assert_eq!(ours.matches(&path), theirs.is_match(&path), "{pattern:?} on {path:?}");
            matched.set(matched.get() + usize::from(ours.matches(&path)));
        }
    });
    assert!(compared.get() > 5_000 && matched.get() > 1_000, "{} patterns, {} matches", compared.get(), matched.get());
}

/// A schema of keywords and values that belong together, or do not.
fn schema(dice: &mut dice::Dice, depth: usize) -> Value {
    const KEYS: &[&str] = &[
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "const",
        "default",
        "anyOf",
        "oneOf",
        "$ref",
        "$defs",
        "description",
        "additionalProperties",
        "minimum",
        "allOf",
        "x-own",
    ];
    const VALUES: &[&str] = &["object", "string", "array", "integer", "#/$defs/a", "a", "b"];
    let mut fields = serde_json::Map::new();
    for _ in 0..dice.below(5) {
        let key = KEYS[dice.below(KEYS.len())];
        let word = Value::from(VALUES[dice.below(VALUES.len())]);
        let value = match dice.below(6) {
            0 if depth > 0 => json!({"a": schema(dice, depth - 1), "b": schema(dice, depth - 1)}),
            1 if depth > 0 => json!([schema(dice, depth - 1)]),
            2 if depth > 0 => schema(dice, depth - 1),
            3 => json!([word]),
            4 => [json!(true), json!(null), json!(1.5)][dice.below(3)].clone(),
            _ => word,
        };
        fields.insert(key.to_owned(), value);
    }
    Value::Object(fields)
}

#[test]
fn a_schema_that_is_read_is_written_back() {
    let read = Cell::new(0_u32);
    check(9, 20_000, 64, |dice| {
        let mut written = schema(dice, 3);
        written["type"] = "object".into();
        let Ok(found) = Schema::read(&written) else { return };
        read.set(read.get() + 1);
        assert_eq!(found.to_json_schema(), written);
        found.misfit(&schema(dice, 2));
    });
    assert!(read.get() > 1_000, "only {} schemas could be read", read.get());
}
