//! Matches wildcards in file names against the files of the workspace.

use super::ShellReader;
use super::arg::Arg;
use super::expand::PatternPiece;
use super::state::ShellState;
use crate::ports::FileKind;

/// The most names that a pattern is expanded to.
const MAX_NAMES: usize = 512;
/// The most steps for matching one pattern.
const MAX_MATCHING: usize = 200_000;

impl ShellReader<'_> {
    /// The names that a pattern matches, or the pattern itself if there are none. `None` if that is not certain: the pattern asks
    /// for hidden names, the command itself may have changed what is there, or a name would be taken for an option.
    pub(super) fn names(&mut self, pattern: &[PatternPiece], text: &str, state: &ShellState) -> Option<Vec<String>> {
        let parts = components(pattern);
        let mut budget = MAX_MATCHING;
        let mut found: Vec<String> = vec![if text.starts_with('/') { "/".to_owned() } else { String::new() }];
        for part in &parts {
            // Shells differ about whether `.*` matches `..`, and in some, `**` has a further meaning.
            let hidden = matches!(part.first(), Some(PatternPiece::Text(text)) if text.starts_with('.'));
            let doubled = part.windows(2).any(|pair| pair == [PatternPiece::Any, PatternPiece::Any]);
            let wild = part.iter().any(|piece| !matches!(piece, PatternPiece::Text(_)));
            if wild && (hidden || doubled) {
                return None;
            }
            let mut next = Vec::new();
            for folder in &found {
                if !wild {
                    let name: String =
                        part.iter().map(|piece| if let PatternPiece::Text(text) = piece { text.as_str() } else { "" }).collect();
                    next.push(format!("{folder}{name}/"));
                    continue;
                }
                let at = state.join(if folder.is_empty() { "." } else { folder })?;
                if at.starts_with(['/', '~'])
                    || at.split('/').any(|name| name == "..")
                    || self.may_have_changed(&at)
                    || !self.step()
                {
                    return None;
                }
                let at = if at.is_empty() { "." } else { at.trim_end_matches('/') };
                let Some(listing) = self.list_names(at, 1) else {
                    // The host does not list a folder behind a link, but the shell does.
                    if self.kind_at(at) == Some(FileKind::Missing) {
                        continue;
                    }
                    return None;
                };
                for entry in &listing.entries {
                    let may_lead_on = entry.kind != FileKind::File || parts.len() == 1;
                    if entry.path.starts_with('.') || !(may_lead_on || std::ptr::eq(part, parts.last()?)) {
                        continue;
                    }
                    if matches(part, &entry.path, &mut budget)? {
                        next.push(format!("{folder}{}/", entry.path));
                    }
                }
                if next.len() > MAX_NAMES {
                    return None;
                }
            }
            found = next;
        }
        // A literal name after a wildcard must exist to be matched.
        let mut names = Vec::new();
        for name in found {
            let name = name.trim_end_matches('/').to_owned();
            let arg = Arg::Known(name.clone());
            if name.starts_with('-') {
                return None;
            }
            match self.kind(state, &arg) {
                Some(FileKind::Missing) => {}
                Some(_) => names.push(if text.ends_with('/') { format!("{name}/") } else { name }),
                None => return None,
            }
        }
        if names.is_empty() {
            names.push(text.to_owned());
        }
        Some(names)
    }
}

/// Splits a pattern at its separators, without empty components.
fn components(pattern: &[PatternPiece]) -> Vec<Vec<PatternPiece>> {
    let mut parts = vec![Vec::new()];
    for piece in pattern {
        match piece {
            PatternPiece::Text(text) => {
                for (nth, name) in text.split('/').enumerate() {
                    if nth > 0 {
                        parts.push(Vec::new());
                    }
                    if let (false, Some(part)) = (name.is_empty(), parts.last_mut()) {
                        part.push(PatternPiece::Text(name.to_owned()));
                    }
                }
            }
            piece => {
                if let Some(part) = parts.last_mut() {
                    part.push(piece.clone());
                }
            }
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Whether a name matches a component; `None` if that takes too long.
fn matches(part: &[PatternPiece], name: &str, budget: &mut usize) -> Option<bool> {
    let mut tokens: Vec<Option<char>> = Vec::new();
    let mut stars: Vec<bool> = Vec::new();
    for piece in part {
        match piece {
            PatternPiece::Text(text) => text.chars().for_each(|c| {
                tokens.push(Some(c));
                stars.push(false);
            }),
            PatternPiece::One => {
                tokens.push(None);
                stars.push(false);
            }
            PatternPiece::Any => {
                tokens.push(None);
                stars.push(true);
            }
        }
    }
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut token) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while at < name.len() || token < tokens.len() {
        *budget = budget.checked_sub(1)?;
        match (tokens.get(token), stars.get(token), name.get(at)) {
            (Some(_), Some(true), _) => {
                back = Some((token, at));
                token += 1;
                continue;
            }
            (Some(expected), Some(false), Some(c)) if expected.is_none_or(|expected| expected == *c) => {
                token += 1;
                at += 1;
                continue;
            }
            _ => {}
        }
        match back {
            Some((star, from)) if from < name.len() => {
                back = Some((star, from + 1));
                token = star + 1;
                at = from + 1;
            }
            _ => return Some(false),
        }
    }
    Some(true)
}
