//! Interprets a command along every path that it can take, and records the files that it touches.
//!
//! The reader knows a fixed list of constructs, builtins and programs exactly. Anything else is recorded as *unknown*, with the
//! reason; nothing is guessed. It never assumes that a command succeeds: what follows is judged for both cases.

pub(super) mod arg;
mod attempt;
mod background;
mod builtins;
mod command;
mod expand;
pub(super) mod input;
mod names;
pub(super) mod script;
pub(super) mod state;
mod test;
mod variables;
mod walk;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use self::arg::{Arg, display};
use self::input::StandardInput;
use self::state::{Dialect, ShellState};
use super::commands::SimpleCommand;
use super::programs;
use super::syntax::{self, Script};
use crate::effects::path::Location;
use crate::effects::{Access, Footprint, Origin, PathAccess, Persistence, Placement, Unconfinable};
use crate::ports::{Facts, FileKind, Listing, ListingLimits, Question, Root, Workspace};

/// The most paths that are judged individually for one command.
const MAX_TOUCHES: usize = 500;
/// The most reasons that are kept; further ones say nothing new.
const MAX_UNKNOWNS: usize = 16;
/// How many commands that are reserved for a person are named in a message.
const MAX_CONTROLS: usize = 8;
/// The most commands and words that are followed for one command.
const MAX_STEPS: u32 = 10_000;
/// How often the host is asked about a path while a command is read.
const MAX_LOOKS: usize = 256;
/// How many names of files are listed while a command is read.
const MAX_LISTED: usize = 20_000;
/// The most programs that are listed, if they are listed.
const MAX_COMMANDS: usize = 1_000;
/// The deepest nesting of shells.
const MAX_SHELLS: usize = 8;

/// The reader and what it has found so far.
pub(super) struct ShellReader<'w> {
    workspace: &'w dyn Workspace,
    touches: Vec<PathAccess>,
    seen: BTreeSet<(String, Access)>,
    placements: Vec<Placement>,
    unknowns: Vec<String>,
    /// Commands that only a person may run.
    controls: Vec<String>,
    /// Whether a word of the command so far names Tollgate's own program.
    pub(super) names_tollgate: bool,
    /// Whether the command runs something that it has written itself, with text that is somewhere in the command.
    pub(super) runs_own_text: bool,
    /// How many scripts have been read.
    scripts: usize,
    programs: BTreeSet<String>,
    unconfinable: Vec<Unconfinable>,
    /// How many runs have no program name assigned yet.
    unnamed: usize,
    steps: u32,
    shells: usize,
    looked: RefCell<BTreeMap<String, Option<Facts>>>,
    /// Paths where the command itself may have put a link, or from which it has moved something.
    moved: BTreeSet<String>,
    /// How many names have been listed so far.
    listed: Cell<usize>,
    /// States that leave the innermost loop early, kept until the end of the loop.
    left: Vec<ShellState>,
    loops: usize,
    /// Whether something that the command starts may outlive it.
    persistence: Persistence,
    /// The programs that are run, if they are to be listed.
    commands: Option<Vec<SimpleCommand>>,
}

impl<'w> ShellReader<'w> {
    pub(super) fn new(workspace: &'w dyn Workspace) -> Self {
        Self {
            workspace,
            touches: Vec::new(),
            seen: BTreeSet::new(),
            placements: Vec::new(),
            unknowns: Vec::new(),
            controls: Vec::new(),
            names_tollgate: false,
            runs_own_text: false,
            scripts: 0,
            programs: BTreeSet::new(),
            unconfinable: Vec::new(),
            unnamed: 0,
            steps: 0,
            shells: 0,
            looked: RefCell::default(),
            moved: BTreeSet::new(),
            listed: Cell::new(0),
            left: Vec::new(),
            loops: 0,
            persistence: Persistence::Ends,
            commands: None,
        }
    }

    /// The same, for listing programs.
    pub(super) fn listing(workspace: &'w dyn Workspace) -> Self {
        Self { commands: Some(Vec::new()), ..Self::new(workspace) }
    }

    /// The programs that are run.
    pub(super) fn into_commands(self) -> Vec<SimpleCommand> {
        self.commands.unwrap_or_default()
    }

    /// The workspace that the command would run in.
    pub(super) fn workspace(&self) -> &'w dyn Workspace {
        self.workspace
    }

    /// The resulting footprint.
    pub(super) fn footprint(mut self) -> Footprint {
        if self.unnamed > 0 {
            self.programs.insert(programs::name(&[]));
        }
        Footprint {
            touches: self.touches,
            placements: self.placements,
            unknowns: self.unknowns,
            unfamiliar: false,
            controls: self.controls,
            conditional: true,
            programs: self.programs,
            unconfinable: self.unconfinable,
            persistence: self.persistence,
        }
    }

    /// Follows text that a shell reads.
    pub(super) fn script(&mut self, text: &str, state: &ShellState, input: &StandardInput) {
        if self.shells >= MAX_SHELLS {
            return self.add_unknown(format!("`{}` is too deeply nested to be read", display(text)));
        }
        match syntax::read(text, state.dialect == Dialect::Posix) {
            Ok(Script { list, doubts }) => {
                for doubt in doubts {
                    self.add_unknown(format!("`{}` cannot be fully analysed: {doubt}", display(text)));
                }
                self.shells += 1;
                let (left, loops) = (std::mem::take(&mut self.left), std::mem::take(&mut self.loops));
                self.list(&list, vec![state.clone()], input);
                (self.left, self.loops) = (left, loops);
                self.shells -= 1;
            }
            Err(unread) => {
                self.look_for_background(text);
                self.add_unknown(format!("`{}` cannot be read: {unread}", display(text)));
            }
        }
    }

    /// Follows a program with its arguments; `argv` begins with its name.
    pub(super) fn run_program(&mut self, argv: &[Arg], state: &ShellState, input: &StandardInput) {
        if self.shells >= MAX_SHELLS {
            return self.add_unknown("the command nests too many programs that run other programs".to_owned());
        }
        if self.step() {
            if let Some(commands) = self.commands.as_mut().filter(|commands| commands.len() < MAX_COMMANDS) {
                commands.push(SimpleCommand::new(argv, state));
            }
            self.shells += 1;
            let before = std::mem::take(&mut self.unnamed);
            programs::run(self, argv, state, input);
            // The programs that it ran in turn have been named there.
            if self.unnamed > 0 {
                self.programs.insert(programs::name(argv));
            }
            self.unnamed = before;
            self.shells -= 1;
        }
    }

    /// Records once why something cannot be known.
    pub(super) fn add_unknown(&mut self, why: String) {
        if self.unknowns.len() < MAX_UNKNOWNS && !self.unknowns.contains(&why) {
            self.unknowns.push(why);
        }
    }

    /// Records once a command that only a person may run.
    pub(super) fn add_control(&mut self, command: String) {
        if self.controls.len() < MAX_CONTROLS && !self.controls.contains(&command) {
            self.controls.push(command);
        }
    }

    /// Whether some of what the command runs is not fully understood.
    pub(super) fn is_uncertain(&self) -> bool {
        !self.unknowns.is_empty() || self.runs_own_text
    }

    /// Records once why the kernel cannot hold something to a scope.
    pub(super) fn add_unconfinable(&mut self, why: Unconfinable) {
        if self.unconfinable.len() < MAX_UNKNOWNS && !self.unconfinable.contains(&why) {
            self.unconfinable.push(why);
        }
    }

    /// Counts a step; false if the step limit has been reached.
    pub(super) fn step(&mut self) -> bool {
        self.spend(1)
    }

    /// Stops following anything.
    pub(super) fn give_up(&mut self) {
        self.steps = MAX_STEPS;
    }

    /// Counts several steps at once.
    pub(super) fn spend(&mut self, steps: usize) -> bool {
        let before = self.steps;
        self.steps = before.saturating_add(u32::try_from(steps).unwrap_or(u32::MAX));
        if before < MAX_STEPS && self.steps >= MAX_STEPS {
            self.add_unknown("the command takes too many steps to be followed, beginning with `…`".to_owned());
        }
        self.steps < MAX_STEPS
    }

    /// Records that a program does something at the path of an argument. A path that is read need not be certain; any other path
    /// must be.
    pub(super) fn touch(&mut self, state: &ShellState, program: &str, arg: &Arg, access: Access) {
        if arg.is_text("") {
            return;
        }
        let path = match state.locate(arg) {
            Some(path) => path,
            None if access == Access::Read => return,
            None => {
                return self.add_unknown(format!(
                    "`{}` changes `{}`, a path that is only known when it runs",
                    display(program),
                    arg.display()
                ));
            }
        };
        self.touch_path(path, access);
    }

    /// Records that something is done at a path, spelled as in a [`PathAccess`].
    pub(super) fn touch_path(&mut self, path: String, access: Access) {
        if path.starts_with("/dev/") || path.starts_with("/proc/") || path.contains("/../dev/") || path.contains("/../proc/") {
            if !(is_sink(&path) || access == Access::Read) {
                self.add_unknown(format!("`{}` may lead anywhere", display(&path)));
            }
            return;
        }
        if path.chars().any(char::is_control) {
            if access != Access::Read {
                self.add_unknown(format!("the path `{}` contains a control character", display(&path)));
            }
            return;
        }
        if access.mutates() && access != Access::Execute && self.leads_through_moved(&path) {
            self.add_unknown(format!("`{}` leads through something that the command itself has moved or linked", display(&path)));
        }
        self.unnamed += usize::from(access == Access::Execute);
        if self.touches.len() >= MAX_TOUCHES {
            return self
                .add_unknown(format!("the command touches more than {MAX_TOUCHES} paths, `{}` among them", display(&path)));
        }
        if self.seen.insert((path.clone(), access)) {
            self.touches.push(PathAccess { path, access });
        }
    }

    /// Records that a program with unknown effects runs in the working directory.
    pub(super) fn execute(&mut self, state: &ShellState) {
        self.touch_path(state.join(".").unwrap_or_else(|| ".".to_owned()), Access::Execute);
    }

    /// Records that something is put at a path as it is: moved, linked, or copied with its links. An uncertain path has already
    /// been reported by the touches.
    pub(super) fn place(&mut self, state: &ShellState, at: &Arg, origin: Origin) {
        let Some(at) = state.locate(at) else { return };
        if self.placements.len() >= MAX_TOUCHES {
            return self
                .add_unknown(format!("the command links or moves more than {MAX_TOUCHES} paths, `{}` among them", display(&at)));
        }
        self.placements.push(Placement { at, origin });
    }

    /// Remembers that there may be a link at a path from now on, or that what was there has been moved.
    pub(super) fn move_or_link(&mut self, state: &ShellState, arg: &Arg) {
        self.moved.insert(state.locate(arg).map_or_else(|| ".".to_owned(), |path| lexical(&path)));
    }

    /// Whether the command itself has moved or linked something on the way to a path, resolving `..` step by step.
    fn leads_through_moved(&self, path: &str) -> bool {
        if self.moved.is_empty() {
            return false;
        }
        let mut way = String::new();
        path.split('/').any(|name| {
            way.push_str(name);
            let here = lexical(&way);
            way.push('/');
            self.moved.contains(&here)
        })
    }

    /// Whether the command itself may have changed the entries of a folder.
    pub(super) fn may_have_changed(&self, folder: &str) -> bool {
        let folder = lexical(folder);
        self.touches.iter().any(|touch| {
            let at = lexical(&touch.path);
            let parent = at.rsplit_once('/').map_or(if at.starts_with('/') { "/" } else { "." }, |(parent, _)| parent);
            match touch.access {
                Access::Read | Access::Attributes | Access::Alias => false,
                Access::Execute => true,
                Access::MakeFolder | Access::WriteTree if is_below(&at, &folder) => true,
                _ => at == folder || parent == folder || is_below(&folder, &at),
            }
        })
    }

    /// Whether the command itself may have changed what is at a path, including through programs that it ran.
    pub(super) fn is_touched(&self, path: &str) -> bool {
        self.touches.iter().any(|touch| touch.access == Access::Execute) || self.may_have_written(path)
    }

    /// Whether the command itself may have put something at a path, not counting programs that it merely ran.
    pub(super) fn may_have_written(&self, path: &str) -> bool {
        let path = lexical(path);
        self.touches.iter().any(|touch| {
            let at = lexical(&touch.path);
            match touch.access {
                Access::Read | Access::Execute => false,
                Access::MakeFolder | Access::Attributes => at == path || is_below(&at, &path),
                _ => at == path || is_below(&at, &path) || is_below(&path, &at),
            }
        }) || self.leads_through_moved(&path)
    }

    /// The working directory and its parent folders up to the workspace's root, following links; `None` if it is outside the
    /// workspace or not certain.
    pub(super) fn folders_upwards(&self, state: &ShellState) -> Option<Vec<String>> {
        let here = self.facts(state, &Arg::known("."))?.real_path?;
        let Location::Inside(here) = Location::from_host(&here) else { return None };
        let mut folder = here.as_str();
        let mut folders = vec![folder.to_owned()];
        while folder != "." {
            folder = folder.rsplit_once('/').map_or(".", |(above, _)| above);
            folders.push(folder.to_owned());
        }
        Some(folders)
    }

    /// The kind of file at a path spelled as in a [`PathAccess`].
    pub(super) fn kind_at(&self, path: &str) -> Option<FileKind> {
        self.kind(&ShellState::new(""), &Arg::known(path))
    }

    /// What the host sees at a path; `None` if that is not certain.
    pub(super) fn facts(&self, state: &ShellState, arg: &Arg) -> Option<Facts> {
        let path = state.locate(arg)?;
        if path.starts_with('~') || path.chars().any(char::is_control) {
            return None;
        }
        let mut looked = self.looked.borrow_mut();
        if let Some(facts) = looked.get(&path) {
            return facts.clone();
        }
        if looked.len() >= MAX_LOOKS {
            return None;
        }
        let facts = self.workspace.inspect(&[Question::project(path.clone())]).pop();
        looked.insert(path, facts.clone());
        facts
    }

    /// The names below a folder of the workspace; `None` if the list would be incomplete.
    pub(super) fn list_names(&self, folder: &str, depth: u32) -> Option<Listing> {
        let left = MAX_LISTED.checked_sub(self.listed.get()).filter(|left| *left > 0)?;
        let reach = ListingLimits { depth, limit: u32::try_from(left).ok()?, skip: Vec::new() };
        let listing = self.workspace.list(Root::Project, folder, &reach).ok()?;
        // Even an empty folder counts for something.
        self.listed.set(self.listed.get() + listing.entries.len().max(64));
        (!listing.truncated).then_some(listing)
    }

    /// The kind of file at a path; `None` if that is not certain.
    pub(super) fn kind(&self, state: &ShellState, arg: &Arg) -> Option<FileKind> {
        self.facts(state, arg).map(|facts| facts.kind)
    }
}

/// Devices that discard what is written to them.
fn is_sink(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty")
}

/// A path with `.` and `..` resolved textually, only for comparisons within one command.
pub(super) fn lexical(path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." if names.last().is_some_and(|last| *last != "..") => drop(names.pop()),
            name => names.push(name),
        }
    }
    match (path.starts_with('/'), names.join("/")) {
        (true, path) => format!("/{path}"),
        (false, path) if path.is_empty() => ".".to_owned(),
        (false, path) => path,
    }
}

/// Whether a path is below a folder, both resolved textually.
pub(super) fn is_below(path: &str, folder: &str) -> bool {
    (folder == "." && !path.starts_with(['/', '~'])) || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}
