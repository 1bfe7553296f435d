//! The state of the shell at one point on one path through a command.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::arg::{Arg, Base};

/// The dialect of the shell that reads the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(in crate::call::shell) enum Dialect {
    /// Bash, or a shell that reads the listed constructs the same way.
    #[default]
    Bash,
    /// `sh`, which may be dash, busybox or Bash.
    Posix,
}

/// The value of a variable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::call::shell) enum Value {
    /// Exactly this text.
    Text(String),
    /// An absolute path below a folder.
    Below(Base, String),
    /// Digits that are only known when the command runs.
    Number,
    /// Text that is only known when the command runs.
    Unknown,
}

/// The state of the shell on one path up to this point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::call::shell) struct ShellState {
    /// The working directory as spelled in touches (empty for the workspace, relative to it, absolute, or `~/…`); `None` if it is
    /// not certain.
    pub(in crate::call::shell) cwd: Option<String>,
    /// Whether the working directory was reached through a link, so that `cd ..` leads elsewhere than `..` in the kernel.
    pub(in crate::call::shell) behind_link: bool,
    /// Both of these before the command's last `cd`.
    previous: Option<(Option<String>, bool)>,
    variables: Rc<BTreeMap<String, Value>>,
    /// An exported variable that may change what programs do.
    pub(in crate::call::shell) influence: Option<Rc<str>>,
    pub(in crate::call::shell) dialect: Dialect,
}

impl ShellState {
    /// The state in which a command begins.
    pub(in crate::call::shell) fn new(cwd: &str) -> Self {
        let cwd = Some(match cwd.trim_end_matches('/') {
            "" if cwd.is_empty() => String::new(),
            "" => "/".to_owned(),
            "." => String::new(),
            folder => folder.strip_prefix("./").unwrap_or(folder).to_owned(),
        });
        Self { cwd, behind_link: false, previous: None, variables: Rc::default(), influence: None, dialect: Dialect::Bash }
    }

    /// The state of a shell that is started as a program: its variables are unknown, because they come from the environment.
    pub(in crate::call::shell) fn child(&self, dialect: Dialect) -> Self {
        Self { variables: Rc::default(), previous: None, dialect, ..self.clone() }
    }

    /// Remembers the folder for a later `cd -`.
    pub(in crate::call::shell) fn remember_folder(&mut self) {
        self.previous = Some((self.cwd.clone(), self.behind_link));
    }

    /// `cd -`; false if the command itself has not changed the folder before.
    pub(in crate::call::shell) fn go_back(&mut self) -> bool {
        let Some(previous) = self.previous.take() else { return false };
        self.remember_folder();
        (self.cwd, self.behind_link) = previous;
        true
    }

    pub(in crate::call::shell) fn variable(&self, name: &str) -> Option<&Value> {
        self.variables.get(name)
    }

    pub(in crate::call::shell) fn set_variable(&mut self, name: &str, value: Value) {
        if self.variables.get(name) != Some(&value) {
            Rc::make_mut(&mut self.variables).insert(name.to_owned(), value);
        }
    }

    /// How many variables have a value.
    pub(in crate::call::shell) fn variables(&self) -> usize {
        self.variables.len()
    }

    /// Marks everything about the shell as uncertain.
    pub(in crate::call::shell) fn forget_all(&mut self) {
        self.cwd = None;
        self.previous = None;
        self.forget_variables();
    }

    /// Marks the values of all variables as uncertain.
    pub(in crate::call::shell) fn forget_variables(&mut self) {
        for value in Rc::make_mut(&mut self.variables).values_mut() {
            *value = Value::Unknown;
        }
    }

    /// `$PWD`.
    pub(in crate::call::shell) fn working_directory(&self) -> Value {
        match self.cwd.as_deref().filter(|_| !self.behind_link) {
            None => Value::Unknown,
            Some("") => Value::Below(Base::Workspace, String::new()),
            Some(path) if path.starts_with('/') => Value::Text(path.to_owned()),
            Some(path) => match path.strip_prefix('~') {
                Some(rest) => Value::Below(Base::Home, rest.to_owned()),
                None => Value::Below(Base::Workspace, format!("/{path}")),
            },
        }
    }

    /// The path of an argument as spelled in touches: relative to the workspace, absolute, or `~/…`. `None` if it is not certain.
    pub(in crate::call::shell) fn locate(&self, arg: &Arg) -> Option<String> {
        match arg {
            Arg::Known(path) => self.join(path),
            Arg::Below(Base::Home, rest) => Some(format!("~{rest}")),
            Arg::Below(Base::Workspace, rest) => match rest.trim_start_matches('/') {
                "" => Some(".".to_owned()),
                rest => Some(escape_tilde(rest)),
            },
            Arg::One(_) | Arg::Many(_) => None,
        }
    }

    /// A path appended to the working directory, with `..` left for the host to resolve.
    pub(in crate::call::shell) fn join(&self, path: &str) -> Option<String> {
        if path.starts_with('/') {
            return Some(path.to_owned());
        }
        Some(match self.cwd.as_deref()? {
            "" => escape_tilde(path),
            cwd if path == "." => cwd.to_owned(),
            "/" => format!("/{path}"),
            cwd => format!("{cwd}/{path}"),
        })
    }
}

/// A relative name that begins with a tilde is not the home folder.
fn escape_tilde(path: &str) -> String {
    if path.starts_with('~') { format!("./{path}") } else { path.to_owned() }
}
