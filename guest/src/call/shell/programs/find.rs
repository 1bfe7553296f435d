//! `find`: tests that are known only to read, and the actions on what is found.
//!
//! What is found is known only at run time, but not where: it is below the start folders.

use super::{Invocation, ParsedArguments, ProgramSpec};
use crate::call::shell::reader::arg::Arg;
use crate::call::shell::reader::{ShellReader, lexical};
use crate::effects::Access;
use crate::ports::FileKind;

pub(super) const ROWS: &[ProgramSpec] = &[ProgramSpec::raw(&["find", "gfind"], search)];

/// Tests and actions with one value. Not listed: actions that write (`-fprint`, `-fls`), and `-files0-from`.
const VALUED: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-lname",
    "-ilname",
    "-regex",
    "-iregex",
    "-regextype",
    "-type",
    "-xtype",
    "-maxdepth",
    "-mindepth",
    "-mtime",
    "-mmin",
    "-ctime",
    "-cmin",
    "-atime",
    "-amin",
    "-newer",
    "-anewer",
    "-cnewer",
    "-newermt",
    "-newerct",
    "-newerat",
    "-size",
    "-perm",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-links",
    "-inum",
    "-samefile",
    "-fstype",
    "-used",
    "-printf",
];

/// Tests, actions and operators without a value. Not listed: `-follow`.
const PLAIN: &[&str] = &[
    "-print",
    "-print0",
    "-prune",
    "-empty",
    "-depth",
    "-mount",
    "-xdev",
    "-not",
    "!",
    "-a",
    "-and",
    "-o",
    "-or",
    "(",
    ")",
    ",",
    "-true",
    "-false",
    "-readable",
    "-writable",
    "-executable",
    "-nouser",
    "-nogroup",
    "-ls",
    "-daystart",
    "-noleaf",
    "-quit",
];

/// Programs that have the same effect on any path, so that the effect can be judged for a whole folder.
const UNIFORM: &[&str] = &["rm", "rmdir", "unlink", "chmod", "chown", "chgrp", "touch", "truncate", "shred", "sed", "dos2unix"];

/// The most files that are judged individually; more are judged as a whole folder.
const MAX_FOUND: usize = 100;
/// The greatest depth that is listed; a deeper folder is judged as a whole.
const MAX_DEPTH: u32 = 64;

/// What is done with each result.
enum FindAction<'c> {
    Delete,
    /// A command, and whether it takes many paths at once.
    Run(&'c [Arg], bool),
}

struct FindCommand<'c> {
    roots: Vec<Arg>,
    actions: Vec<FindAction<'c>>,
    /// The value of a `-name` that every result must match.
    name: Option<&'c str>,
    /// Whether all tests must hold, so that a single test limits the results.
    is_conjunction: bool,
}

fn search(reader: &mut ShellReader<'_>, call: &Invocation<'_>, _: &ParsedArguments<'_>) {
    let search = match read(call.args) {
        Ok(search) => search,
        Err(arg) => {
            return reader.add_unknown(format!(
                "`{}` has the argument `{}`, whose effect is not known",
                call.name,
                arg.display()
            ));
        }
    };
    for root in &search.roots {
        reader.touch(call.state, call.name, root, Access::Read);
    }
    for action in &search.actions {
        for root in &search.roots {
            act(reader, call, &search, action, root);
        }
    }
}

/// Parses the arguments; the first one that is not listed is the error.
fn read(args: &[Arg]) -> Result<FindCommand<'_>, &Arg> {
    let mut search = FindCommand { roots: Vec::new(), actions: Vec::new(), name: None, is_conjunction: true };
    let is_root = |arg: &Arg| match arg {
        Arg::Known(text) => !text.is_empty() && !text.starts_with(['-', '(', ')', '!', ',']),
        Arg::Below(..) => true,
        Arg::One(start) => !start.is_empty() && !start.starts_with(['-', '(', ')', '!', ',']),
        Arg::Many(_) => false,
    };
    let mut rest = args.iter().enumerate().peekable();
    rest.next_if(|(_, arg)| arg.is_text("-P"));
    while let Some((_, root)) = rest.next_if(|(_, arg)| is_root(arg)) {
        search.roots.push(root.clone());
    }
    if search.roots.is_empty() {
        search.roots.push(Arg::known("."));
    }
    while let Some((at, arg)) = rest.next() {
        match arg.text().ok_or(arg)? {
            "-delete" => search.actions.push(FindAction::Delete),
            "-exec" => {
                let command = args.get(at + 1..).unwrap_or_default();
                let mut length = None;
                let mut before: Option<&Arg> = None;
                for (_, word) in rest.by_ref() {
                    let count = length.get_or_insert(0_usize);
                    if word.is_text(";") || (word.is_text("+") && before.is_some_and(|before| before.is_text("{}"))) {
                        search.actions.push(FindAction::Run(command.get(..*count).unwrap_or_default(), word.is_text("+")));
                        length = None;
                        break;
                    }
                    *count += 1;
                    before = Some(word);
                }
                if length.is_some() {
                    return Err(arg);
                }
            }
            "-name" if search.actions.is_empty() => {
                let (at, value) = rest.next().ok_or(arg)?;
                let negated = at
                    .checked_sub(2)
                    .and_then(|before| args.get(before))
                    .is_some_and(|before| before.is_text("!") || before.is_text("-not"));
                match value {
                    Arg::Many(_) => return Err(value),
                    Arg::Known(name) if !negated => search.name = search.name.or(Some(name)),
                    _ => {}
                }
            }
            option if VALUED.contains(&option) => {
                let (_, value) = rest.next().ok_or(arg)?;
                if let Arg::Many(_) = value {
                    return Err(value);
                }
            }
            option if PLAIN.contains(&option) => search.is_conjunction &= !matches!(option, "-o" | "-or" | "(" | ","),
            _ => return Err(arg),
        }
    }
    Ok(search)
}

fn act(reader: &mut ShellReader<'_>, call: &Invocation<'_>, search: &FindCommand<'_>, action: &FindAction<'_>, root: &Arg) {
    match action {
        FindAction::Delete => match found_paths(reader, call, search, root) {
            Some(paths) => paths.iter().for_each(|path| reader.touch(call.state, call.name, path, Access::Delete)),
            None => reader.touch(call.state, call.name, root, Access::DeleteTree),
        },
        FindAction::Run(command, many) => run_for_found(reader, call, search, root, command, *many),
    }
}

/// Runs a command for everything found below a start folder.
fn run_for_found(
    reader: &mut ShellReader<'_>,
    call: &Invocation<'_>,
    search: &FindCommand<'_>,
    root: &Arg,
    command: &[Arg],
    many: bool,
) {
    let holds_place = |arg: &Arg| match arg {
        Arg::Known(text) | Arg::Below(_, text) | Arg::One(text) | Arg::Many(text) => text.contains("{}"),
    };
    let is_place = |arg: &Arg| arg.is_text("{}");
    let named_by_find = command.first().is_none_or(holds_place);
    if named_by_find || command.iter().any(|arg| holds_place(arg) && !is_place(arg)) {
        return reader.add_unknown(format!("`{}` builds commands from the names that it finds", call.name));
    }
    let fill = |path: &[Arg]| -> Vec<Arg> {
        command.iter().flat_map(|arg| if is_place(arg) { path.to_vec() } else { vec![arg.clone()] }).collect()
    };
    // Every result begins with the start folder; two of them stand for any number.
    let start = root.text().map(str::to_owned).unwrap_or_default();
    let uncertain = vec![Arg::One(start); if many { 2 } else { 1 }];
    let attempt = reader.attempt(&fill(&uncertain), call.state, call.input);
    if !attempt.controls.is_empty() {
        return reader.adopt(attempt);
    }
    if attempt.unknowns.is_empty() && !attempt.touches.iter().any(|touch| touch.access.mutates()) {
        return reader.adopt(attempt);
    }
    if let Some(paths) = found_paths(reader, call, search, root) {
        for path in paths {
            reader.run_program(&fill(std::slice::from_ref(&path)), call.state, call.input);
        }
        return;
    }
    let is_uniform = command.first().and_then(Arg::text).is_some_and(|name| UNIFORM.contains(&name));
    if is_uniform
        && !attempt.unknowns.is_empty()
        && let Some(place) = call.state.locate(root)
    {
        let mut whole = reader.attempt(&fill(std::slice::from_ref(root)), call.state, call.input);
        if whole.unknowns.is_empty() && whole.touches.iter().all(|touch| touch.path == place || touch.access == Access::Read) {
            for touch in &mut whole.touches {
                touch.access = match touch.access {
                    Access::Delete | Access::DeleteTree => Access::DeleteTree,
                    Access::Read => Access::Read,
                    _ => Access::WriteTree,
                };
            }
            return reader.adopt(whole);
        }
    }
    reader.adopt(attempt);
}

/// At most what a search finds below a start folder, if `-name` limits that and the folder can be listed.
fn found_paths(reader: &ShellReader<'_>, call: &Invocation<'_>, search: &FindCommand<'_>, root: &Arg) -> Option<Vec<Arg>> {
    let pattern = search.name.filter(|name| search.is_conjunction && !name.contains(['[', '\\', '/']))?;
    let text = root.text().filter(|text| !text.starts_with('/'))?;
    let folder = call.state.locate(root).filter(|path| !path.starts_with(['/', '~']) && !reader.is_touched(path))?;
    let facts = reader.facts(call.state, root)?;
    if facts.kind != FileKind::Directory || facts.real_path != facts.entry_path || lexical(&folder).starts_with("..") {
        return None;
    }
    let listing = reader.list_names(&folder, MAX_DEPTH)?;
    let is_deep = |path: &str| path.split('/').count() >= MAX_DEPTH as usize;
    if listing.truncated || listing.entries.iter().any(|entry| is_deep(&entry.path)) {
        return None;
    }
    let base = text.trim_end_matches('/');
    let names = listing.entries.iter().map(|entry| entry.path.as_str());
    let mut found: Vec<Arg> = names
        .filter(|path| matches(pattern, path.rsplit('/').next().unwrap_or(path)))
        .map(|path| Arg::Known(format!("{base}/{path}")))
        .collect();
    // The start folder itself may match as well.
    if base.rsplit('/').next().is_some_and(|name| matches(pattern, name)) {
        found.push(root.clone());
    }
    (found.len() <= MAX_FOUND).then_some(found)
}

/// Whether a name matches a pattern of plain text, `*` and `?`.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    // The position of the last star, and how much of the name it has matched.
    let (mut at, mut read, mut star) = (0, 0, None);
    while let Some(c) = name.get(read) {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(p) if *p == '?' || p == c => (at, read) = (at + 1, read + 1),
            _ => match star {
                Some((star_at, taken)) => {
                    star = Some((star_at, taken + 1));
                    (at, read) = (star_at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(at).all(|rest| *rest == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn names() {
        for (pattern, name, expected) in [
            ("*.ts", "a.ts", true),
            ("*.ts", ".ts", true),
            ("*.ts", "a.tsx", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b", "ab", true),
            ("*aab", "aaab", true),
            ("", "", true),
            ("*", "", true),
            ("x", "y", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
