//! A workspace in memory in which writes to some files fail, and in which another process acts just before a write.

#![allow(dead_code)]

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use tollgate_guest::gate::Gate;
use tollgate_guest::ports::memory::Memory;
use tollgate_guest::ports::{Expectation, FileFault, Ports, Records, Root};

use crate::project::{LEDGER, Project};

type Action = Box<dyn FnOnce()>;

pub(crate) struct FailingWrites {
    world: Rc<Memory>,
    /// How many more times the ledger can be written; `None` if there is no limit.
    ledger_writes: Cell<Option<usize>>,
    is_state_full: Cell<bool>,
    /// What another process does just before a file below this folder is appended to, and how many appends pass before that.
    action: RefCell<Option<(String, usize, Action)>>,
}

impl FailingWrites {
    /// The same files, and a new gate over them in place of that of the project.
    pub(crate) fn under(project: &mut Project) -> Rc<Self> {
        let failing_writes = Rc::new(Self {
            world: project.world.clone(),
            ledger_writes: Cell::new(None),
            is_state_full: Cell::new(false),
            action: RefCell::default(),
        });
        project.gate = Gate::new(Ports { records: failing_writes.clone(), ..project.world.ports() });
        failing_writes
    }

    /// Limits how many more times the ledger can be written.
    pub(crate) fn limit_ledger(&self, writes: Option<usize>) {
        self.ledger_writes.set(writes);
    }

    /// Lets every write to the state folder fail, or none.
    pub(crate) fn fill_state(&self, is_full: bool) {
        self.is_state_full.set(is_full);
    }

    /// Has another process act just before an append to a file below a folder, after this many appends there.
    pub(crate) fn act_before_append(&self, folder: &str, after: usize, action: impl FnOnce() + 'static) {
        *self.action.borrow_mut() = Some((folder.to_owned(), after, Box::new(action)));
    }

    /// Whether what the other process does is still to come.
    pub(crate) fn is_action_pending(&self) -> bool {
        self.action.borrow().is_some()
    }

    fn fault(&self, root: Root, path: &str) -> Option<FileFault> {
        if root == Root::State {
            return self.is_state_full.get().then_some(FileFault::Full);
        }
        let left = self.ledger_writes.get().filter(|_| path == LEDGER)?;
        self.ledger_writes.set(Some(left.saturating_sub(1)));
        (left == 0).then_some(FileFault::Full)
    }

    fn next_action(&self, path: &str) -> Option<Action> {
        let mut action = self.action.borrow_mut();
        let (_, after, _) = action.as_mut().filter(|(folder, ..)| path.starts_with(&**folder))?;
        if *after > 0 {
            *after -= 1;
            return None;
        }
        action.take().map(|(.., act)| act)
    }
}

impl Records for FailingWrites {
    fn append(&self, root: Root, path: &str, bytes: &[u8]) -> Result<(), FileFault> {
        if let Some(act) = self.next_action(path) {
            act();
        }
        self.fault(root, path).map_or_else(|| self.world.append(root, path, bytes), Err)
    }

    fn replace(&self, root: Root, path: &str, bytes: &[u8], expected: Expectation) -> Result<(), FileFault> {
        self.fault(root, path).map_or_else(|| self.world.replace(root, path, bytes, expected), Err)
    }

    fn remove(&self, root: Root, path: &str) -> Result<(), FileFault> {
        self.world.remove(root, path)
    }
}
