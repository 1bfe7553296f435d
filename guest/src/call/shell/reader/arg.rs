//! Command arguments, as far as they are certain before the command runs.

/// A base folder whose absolute path the reader does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::call::shell) enum Base {
    /// The user's home folder: `~`, `$HOME`.
    Home,
    /// The workspace: the beginning of `$PWD`.
    Workspace,
}

/// One argument of a command, after expansion.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::call::shell) enum Arg {
    /// Exactly this text.
    Known(String),
    /// An absolute path: a base, and the text after it (empty, or beginning with `/`).
    Below(Base, String),
    /// Exactly one word, of which only the beginning is certain.
    One(String),
    /// Any number of words, including none; only the beginning of the first word is certain.
    Many(String),
}

impl Arg {
    /// An argument with exactly this text.
    pub(in crate::call::shell) fn known(text: impl Into<String>) -> Self {
        Self::Known(text.into())
    }

    /// The whole text, if it is certain. A path below a base has no text that the reader knows.
    pub(in crate::call::shell) fn text(&self) -> Option<&str> {
        match self {
            Self::Known(text) => Some(text),
            Self::Below(..) | Self::One(_) | Self::Many(_) => None,
        }
    }

    /// Whether the argument is exactly this text.
    pub(in crate::call::shell) fn is_text(&self, text: &str) -> bool {
        self.text() == Some(text)
    }

    /// Whether it may be an option: it begins with `-`, or its beginning is not certain. If there may be several words, all but
    /// the first are completely uncertain.
    pub(in crate::call::shell) fn may_be_option(&self) -> bool {
        match self {
            Self::Known(text) => text.starts_with('-') && text != "-",
            Self::Below(..) => false,
            Self::One(start) => start.is_empty() || start.starts_with('-'),
            Self::Many(_) => true,
        }
    }

    /// Whether it is a single word without any uncertain part.
    pub(in crate::call::shell) fn is_certain(&self) -> bool {
        matches!(self, Self::Known(_) | Self::Below(..))
    }

    /// The argument for use in messages: an uncertain part is shown as an ellipsis.
    pub(in crate::call::shell) fn display(&self) -> String {
        match self {
            Self::Known(text) => display(text),
            Self::Below(Base::Home, rest) => display(&format!("~{rest}")),
            Self::Below(Base::Workspace, rest) => display(&format!(".{rest}")),
            Self::One(start) | Self::Many(start) => display(&format!("{start}…")),
        }
    }
}

/// Text for use in messages: one line, no backquotes, at most 80 characters.
pub(in crate::call::shell) fn display(text: &str) -> String {
    const MAX_CHARS: usize = 80;
    let clean = |c: char| match c {
        '`' => '\'',
        c if c.is_control() => ' ',
        c => c,
    };
    let mut out: String = text.chars().take(MAX_CHARS).map(clean).collect();
    if text.chars().nth(MAX_CHARS).is_some() {
        out.push('…');
    }
    out
}
