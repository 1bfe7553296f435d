//! Pathname expansion: what unquoted wildcards match in the workspace.

use super::trace::{Trace, is_no_file};
use super::value::{Arg, shown};
use super::world::World;
use crate::call::effect::Deed;
use crate::glob::Glob;
use crate::ports::{FileFault, Kind, Reach, Root};

/// More names than this are not told apart: the folder above them stands for all.
const MOST_NAMES: u32 = 1000;

/// What a pattern stands for.
pub(super) enum Names {
    /// These paths, spelled as the command would see them.
    These(Vec<String>),
    /// Something below this folder.
    Below(String),
}

impl Trace<'_> {
    /// The paths that an argument stands for when something is done to them.
    pub(super) fn paths(&mut self, world: &World, by: &str, arg: &Arg, deed: Deed) -> Vec<String> {
        if !arg.is_known() {
            if !matches!(deed, Deed::Read | Deed::Execute) {
                self.unknown(format!("`{} {}` changes a path that is only known when it runs", shown(by), shown(&arg.text)));
            }
            return Vec::new();
        }
        if arg.pattern.is_none() {
            return vec![arg.text.clone()];
        }
        match self.names(world, arg) {
            Names::These(names) => names,
            Names::Below(folder) => {
                let deed = match deed {
                    Deed::Delete | Deed::DeleteTree => Deed::DeleteTree,
                    Deed::Read | Deed::Execute => return Vec::new(),
                    _ => Deed::WriteTree,
                };
                self.touch_path(world, by, if folder.is_empty() { "." } else { &folder }, deed);
                Vec::new()
            }
        }
    }

    /// What a pattern matches. Without a match it stays what it is, as in Bash.
    pub(super) fn names(&mut self, world: &World, arg: &Arg) -> Names {
        let Some(pattern) = &arg.pattern else { return Names::These(vec![arg.text.clone()]) };
        let mut found = vec![String::new()];
        let mut matched = false;
        let parts: Vec<&str> = pattern.split('/').collect();
        for (nth, part) in parts.iter().enumerate() {
            let last = nth + 1 == parts.len();
            let append = |head: &str, name: &str| if last { format!("{head}{name}") } else { format!("{head}{name}/") };
            if !is_wild(part) {
                let name = unescaped(part);
                found = found.iter().map(|head| append(head, &name)).collect();
                continue;
            }
            let everything = *part == "**" && world.options.globstar;
            // A set that does not close is text.
            let (glob, literal) = (Glob::compile(&plain_glob(part)).ok(), unescaped(part));
            let mut next = Vec::new();
            for head in &found {
                let Some(names) = self.listed(world, head, everything) else { return Names::Below(head.clone()) };
                matched = true;
                if everything {
                    next.push(head.trim_end_matches('/').to_owned() + if last || head.is_empty() { "" } else { "/" });
                }
                let hidden = part.starts_with('.') || part.starts_with("\\.") || world.options.dotglob;
                let fits = |name: &&String| {
                    everything
                        || ((hidden || !name.starts_with('.'))
                            && glob.as_ref().map_or(**name == literal, |glob| glob.matches(name)))
                };
                next.extend(names.iter().filter(fits).map(|name| append(head, name)));
                if next.len() > MOST_NAMES as usize {
                    return Names::Below(head.clone());
                }
            }
            found = next;
        }
        // Literal names behind a wildcard have to be there.
        if matched && parts.last().is_some_and(|part| !is_wild(part)) {
            let exists = |path: &String| {
                let made = path.trim_end_matches('/').rsplit_once('/').is_some_and(|(folder, name)| {
                    self.located(world, folder).is_some_and(|folder| self.made_in(&folder).contains(name))
                });
                let there = match self.kind(world, path) {
                    Kind::Missing => false,
                    kind => kind == Kind::Directory || !path.ends_with('/'),
                };
                made || there || is_no_file(path)
            };
            found.retain(exists);
        }
        found.retain(|path| !path.is_empty());
        // What the command line itself may have taken away may leave the pattern without a match.
        let gone = found.iter().all(|path| self.is_removed(world, path));
        if gone && !world.options.nullglob {
            found.push(arg.text.clone());
        }
        Names::These(found)
    }

    /// The names in a folder, or everything below it; none where they cannot be had.
    fn listed(&mut self, world: &World, head: &str, everything: bool) -> Option<Vec<String>> {
        let folder = self.located(world, if head.is_empty() { "." } else { head })?;
        if folder.starts_with('~') || folder.chars().any(char::is_control) {
            return None;
        }
        let [names, all] = &self.listings;
        let known = if everything { all } else { names }.get(&folder).cloned();
        let names = known.unwrap_or_else(|| {
            let asked = self.asked(&folder, everything);
            let [names, all] = &mut self.listings;
            if everything { all } else { names }.insert(&folder, asked.clone());
            asked
        });
        let mut names = names?;
        for name in self.made_in(&folder).names() {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        Some(names)
    }

    fn asked(&self, folder: &str, everything: bool) -> Option<Vec<String>> {
        let reach = Reach { depth: if everything { 16 } else { 1 }, limit: MOST_NAMES, skip: Vec::new() };
        match self.workspace.list(Root::Project, folder, &reach) {
            Ok(listing) if listing.truncated => None,
            Ok(listing) => Some(listing.entries.into_iter().map(|entry| entry.path).collect()),
            Err(FileFault::Missing) => Some(Vec::new()),
            // A file has no names in it; a folder that the host does not show may have any.
            Err(_) if self.kind(&World::new(""), folder) == Kind::File => Some(Vec::new()),
            Err(_) => None,
        }
    }
}

fn is_wild(part: &str) -> bool {
    let mut rest = part.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => drop(rest.next()),
            '*' | '?' | '[' => return true,
            '(' => return true,
            _ => {}
        }
    }
    false
}

fn unescaped(part: &str) -> String {
    let mut out = String::new();
    let mut rest = part.chars();
    while let Some(c) = rest.next() {
        if c == '\\' { out.extend(rest.next()) } else { out.push(c) }
    }
    out
}

/// A name's pattern in the words of our own globs. Character classes and extended groups become wider than they are.
fn plain_glob(part: &str) -> String {
    let mut out = String::new();
    let mut rest = part.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => {
                out.push('\\');
                out.extend(rest.next());
            }
            '*' => {
                while rest.next_if_eq(&'*').is_some() {}
                if !out.ends_with('*') || out.ends_with("\\*") {
                    out.push('*');
                }
            }
            '[' if rest.clone().collect::<String>().starts_with("[:") || rest.clone().take(2).eq("^[".chars()) => {
                let all: String = rest.clone().collect();
                let length = all.find(":]]").map_or(all.len(), |at| at + 3);
                rest.by_ref().take(all.get(..length).unwrap_or_default().chars().count()).for_each(drop);
                out.push('?');
            }
            '?' | '+' | '@' | '!' if rest.peek() == Some(&'(') => {
                rest.by_ref().take_while(|c| *c != ')').for_each(drop);
                if !out.ends_with('*') {
                    out.push('*');
                }
            }
            '(' => {
                rest.by_ref().take_while(|c| *c != ')').for_each(drop);
                if !out.ends_with('*') {
                    out.push('*');
                }
            }
            c => out.push(c),
        }
    }
    out
}
