//! What a shell knows at one point of one way through a command line.
//!
//! A command line is followed along all ways it can take. Each way is a world: a working directory, variables, functions.
//! Worlds that have become the same are one again, and beyond a handful they are blurred into one in which whatever
//! differs is not known.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::tree::Body;
use super::value::{HOME, ROOT, UNKNOWN};
use super::words::Words;
use crate::named::{Named, Seen};

/// More worlds than this are blurred.
const MOST_WORLDS: usize = 8;

/// What a variable holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// One text; what is not known in it is marked.
    Text(String),
    /// An array.
    List(Vec<String>),
}

/// A function and the words of the text it was defined in.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) body: Rc<Body>,
    pub(super) words: Rc<Words>,
}

/// Only what was defined at once is the same.
impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

/// How names are matched and found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Options {
    pub(super) globstar: bool,
    pub(super) dotglob: bool,
    pub(super) nullglob: bool,
    /// A plain `sh`, which may lack what Bash adds.
    pub(super) posix: bool,
}

/// One way to this point.
#[derive(Debug, Clone)]
pub(super) struct World {
    /// Relative to the workspace, or absolute, or in the home folder; none where it is not known.
    pub(super) cwd: Option<String>,
    pub(super) previous: Option<String>,
    pub(super) stack: Vec<Option<String>>,
    variables: Rc<Named<Value>>,
    exported: Rc<Seen>,
    pub(super) positional: Option<Rc<Vec<String>>>,
    pub(super) functions: Rc<Named<Rc<Function>>>,
    pub(super) options: Options,
    /// Folders that were made on this way, with how many removals came before.
    pub(super) made: Rc<BTreeMap<String, usize>>,
    /// Whether the last command succeeded, where that is certain.
    pub(super) status: Option<bool>,
}

impl World {
    /// Where a command line begins.
    pub(super) fn new(cwd: &str) -> Self {
        Self {
            cwd: Some(cwd.to_owned()),
            previous: None,
            stack: Vec::new(),
            variables: Rc::default(),
            exported: Rc::default(),
            positional: Some(Rc::default()),
            functions: Rc::default(),
            options: Options::default(),
            made: Rc::default(),
            status: None,
        }
    }

    /// A variable that the command line itself has set.
    pub(super) fn variable(&self, name: &str) -> Option<&Value> {
        self.variables.get(name)
    }

    /// The same as one text.
    pub(super) fn value(&self, name: &str) -> Option<String> {
        match self.variables.get(name)? {
            Value::Text(text) => Some(text.clone()),
            Value::List(list) => list.first().cloned(),
        }
    }

    pub(super) fn set(&mut self, name: &str, text: String) {
        self.assign(name, Value::Text(text));
    }

    pub(super) fn assign(&mut self, name: &str, value: Value) {
        Rc::make_mut(&mut self.variables).insert(name, value);
    }

    /// Puts a variable back to what it was.
    pub(super) fn restore(&mut self, name: &str, value: Option<Value>, exported: bool) {
        match value {
            Some(value) => self.assign(name, value),
            None => Rc::make_mut(&mut self.variables).remove(name),
        }
        if !exported {
            Rc::make_mut(&mut self.exported).remove(name, 0);
        }
    }

    /// Hands a variable on to the programs that run from here.
    pub(super) fn export(&mut self, name: &str) {
        if !self.exported.contains(name) {
            Rc::make_mut(&mut self.exported).insert(name, 0);
        }
    }

    pub(super) fn is_exported(&self, name: &str) -> bool {
        self.exported.contains(name)
    }

    /// The world of a shell that this one starts. A variable that was not exported here may still come from outside.
    pub(super) fn child(&self) -> Self {
        let mut child = Self { functions: Rc::default(), options: Options::default(), stack: Vec::new(), ..self.clone() };
        if self.variables.iter().any(|(name, _)| name == "IFS" || !self.is_exported(name)) {
            let variables = Rc::make_mut(&mut child.variables);
            variables.remove("IFS");
            variables.each(&mut |name, value| {
                if !self.is_exported(name) {
                    *value = Value::Text(UNKNOWN.to_string());
                }
            });
        }
        child
    }

    pub(super) fn define(&mut self, name: &str, function: Rc<Function>) {
        Rc::make_mut(&mut self.functions).insert(name, function);
    }

    pub(super) fn forget_function(&mut self, name: &str) {
        if self.functions.contains(name) {
            Rc::make_mut(&mut self.functions).remove(name);
        }
    }

    /// `$PWD`.
    pub(super) fn working_directory(&self) -> String {
        absolute(self.cwd.as_deref())
    }

    /// `$OLDPWD`.
    pub(super) fn previous_directory(&self) -> String {
        absolute(self.previous.as_deref())
    }

    pub(super) fn with_status(mut self, status: Option<bool>) -> Self {
        self.status = status;
        self
    }

    /// A path as the shell would pass it on, joined to the working directory and otherwise left alone.
    pub(super) fn join(&self, path: &str) -> Option<String> {
        if path.contains(UNKNOWN) {
            None
        } else if path.starts_with(['/', HOME, ROOT]) {
            Some(path.to_owned())
        } else {
            let cwd = self.cwd.as_deref()?;
            Some(if path == "." && !cwd.is_empty() {
                cwd.to_owned()
            } else if cwd.is_empty() {
                path.to_owned()
            } else {
                format!("{}/{path}", cwd.trim_end_matches('/'))
            })
        }
    }

    fn same(&self, other: &Self) -> bool {
        let rc = |a: &Rc<Named<Value>>, b| Rc::ptr_eq(a, b) || a == b;
        self.cwd == other.cwd
            && self.previous == other.previous
            && self.stack == other.stack
            && self.options == other.options
            && self.positional == other.positional
            && rc(&self.variables, &other.variables)
            && self.exported == other.exported
            && (Rc::ptr_eq(&self.made, &other.made) || self.made == other.made)
            && (Rc::ptr_eq(&self.functions, &other.functions) || self.functions == other.functions)
    }

    /// Takes into this world whatever another one has different, as something not known.
    fn blur(&mut self, other: &Self) {
        if self.cwd != other.cwd {
            self.cwd = None;
        }
        if self.previous != other.previous {
            self.previous = None;
        }
        if self.stack != other.stack {
            self.stack.clear();
        }
        if self.positional != other.positional {
            self.positional = None;
        }
        if !Rc::ptr_eq(&self.variables, &other.variables) {
            let mine = Rc::make_mut(&mut self.variables);
            for (name, _) in other.variables.iter() {
                if !mine.contains(name) {
                    mine.insert(name, Value::Text(UNKNOWN.to_string()));
                }
            }
            mine.each(&mut |name, value| {
                if other.variables.get(name) != Some(value) {
                    *value = Value::Text(UNKNOWN.to_string());
                }
            });
        }
        if self.exported != other.exported {
            let mut both = Seen::default();
            for name in self.exported.names().filter(|name| other.exported.contains(name)) {
                both.insert(name, 0);
            }
            self.exported = Rc::new(both);
        }
        if self.made != other.made {
            self.made = Rc::default();
        }
        self.status = None;
    }
}

/// Worlds with those that are the same taken together. None beyond the limit where a function is not the same in all: what
/// a name then stands for cannot be said.
pub(super) fn merged(worlds: Vec<World>) -> (Vec<World>, bool) {
    let mut kept: Vec<World> = Vec::new();
    for world in worlds {
        match kept.iter_mut().find(|other| other.same(&world)) {
            Some(other) if other.status == world.status => {}
            Some(other) => other.status = None,
            None => kept.push(world),
        }
    }
    if kept.len() <= MOST_WORLDS {
        return (kept, true);
    }
    blurred(kept)
}

/// All worlds as one.
pub(super) fn blurred(worlds: Vec<World>) -> (Vec<World>, bool) {
    let mut rest = worlds.into_iter();
    let Some(mut first) = rest.next() else { return (Vec::new(), true) };
    let mut certain = true;
    for other in rest {
        certain &= first.functions == other.functions;
        first.blur(&other);
    }
    (vec![first], certain)
}

fn absolute(path: Option<&str>) -> String {
    match path {
        None => UNKNOWN.to_string(),
        Some("") => ROOT.to_string(),
        Some(path) if path.starts_with(['/', HOME, ROOT]) => path.to_owned(),
        Some(path) => format!("{ROOT}/{path}"),
    }
}
