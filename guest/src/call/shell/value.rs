//! Text as far as it is known before a command runs.
//!
//! Three characters from a private plane stand for what has no text yet. A command line that holds one of them is refused
//! before it is read, so they cannot be forged.

/// Stands for text that is only known when the command runs.
pub(super) const UNKNOWN: char = '\u{F0000}';
/// Stands for the user's home folder, at the start of a path.
pub(super) const HOME: char = '\u{F0001}';
/// Stands for the workspace's own folder, at the start of a path.
pub(super) const ROOT: char = '\u{F0002}';
/// Marks a word that the grammar sees only by its number.
pub(super) const NUMBERED: char = '\u{F0003}';

/// Whether text holds one of the characters above.
pub(super) fn holds_marks(text: &str) -> bool {
    text.chars().any(|c| (UNKNOWN..=NUMBERED).contains(&c))
}

/// Text for a person: what is not known is an ellipsis, and long text is cut.
pub(super) fn shown(text: &str) -> String {
    const MOST: usize = 80;
    let mut out = String::new();
    for c in text.chars().take(MOST) {
        match c {
            UNKNOWN => out.push('…'),
            HOME => out.push('~'),
            ROOT => out.push('.'),
            '`' => out.push('\''),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    if text.chars().nth(MOST).is_some() {
        out.push('…');
    }
    out
}

/// One argument of a command, after expansion.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Arg {
    /// Its text, quotes taken off.
    pub(super) text: String,
    /// The same as a glob pattern, where wildcards stand in it unquoted.
    pub(super) pattern: Option<String>,
}

impl Arg {
    /// An argument that is just this text.
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), pattern: None }
    }

    /// An argument of which nothing is known.
    pub(super) fn unknown() -> Self {
        Self::plain(UNKNOWN)
    }

    /// Whether all of its text is known.
    pub(super) fn is_known(&self) -> bool {
        !self.text.contains(UNKNOWN)
    }

    /// The part behind a prefix, wildcards kept.
    pub(super) fn after(&self, prefix: &str) -> Option<Self> {
        let text = self.text.strip_prefix(prefix)?.to_owned();
        let pattern = self.pattern.as_ref().and_then(|pattern| pattern.strip_prefix(prefix)).map(str::to_owned);
        Some(Self { text, pattern })
    }
}
