//! A workspace in memory that counts the requests to it, with a clock that stands still unless a test moves it.

#![allow(dead_code)]

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use tollgate_guest::ports::memory::Memory;
use tollgate_guest::ports::{Clock, Facts, FileFault, Listing, ListingLimits, Ports, Question, Root, Tail, Timestamp, Workspace};

/// One call to the host.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) name: &'static str,
    /// The folder that is listed, or the paths that are inspected without their digests.
    pub(crate) paths: Vec<String>,
}

pub(crate) struct CountingHost {
    pub(crate) world: Rc<Memory>,
    requests: RefCell<Vec<Request>>,
    now: Cell<u64>,
}

impl CountingHost {
    pub(crate) fn new() -> Rc<Self> {
        Rc::new(Self { world: Memory::new(), requests: RefCell::default(), now: Cell::new(1_000_000) })
    }

    pub(crate) fn ports(self: &Rc<Self>) -> Ports {
        Ports { workspace: self.clone(), clock: self.clone(), ..self.world.ports() }
    }

    /// Moves the clock.
    pub(crate) fn wait(&self, ms: u64) {
        self.now.set(self.now.get() + ms);
    }

    /// All requests since the last time.
    pub(crate) fn take(&self) -> Vec<Request> {
        self.requests.take()
    }

    /// The names of all requests since the last time.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.take().iter().map(|request| request.name).collect()
    }

    /// The number of requests of each name since the last time.
    pub(crate) fn counts<const N: usize>(&self, names: [&str; N]) -> [usize; N] {
        let requests = self.take();
        names.map(|name| requests.iter().filter(|request| request.name == name).count())
    }

    fn record(&self, name: &'static str, paths: Vec<String>) {
        self.requests.borrow_mut().push(Request { name, paths });
    }
}

impl Clock for CountingHost {
    fn now(&self) -> Timestamp {
        Timestamp(self.now.get())
    }
}

impl Workspace for CountingHost {
    fn inspect(&self, questions: &[Question]) -> Vec<Facts> {
        let without_digest = questions.iter().filter(|question| !question.digest);
        self.record("inspect", without_digest.map(|question| question.path.clone()).collect());
        self.world.inspect(questions)
    }

    fn read(&self, root: Root, path: &str, limit_bytes: u64) -> Result<Vec<u8>, FileFault> {
        self.record("read", Vec::new());
        self.world.read(root, path, limit_bytes)
    }

    fn read_range(&self, root: Root, path: &str, offset: u64, limit_bytes: u64) -> Result<Vec<u8>, FileFault> {
        self.record("read_range", Vec::new());
        self.world.read_range(root, path, offset, limit_bytes)
    }

    fn read_tail(&self, root: Root, path: &str, limit_bytes: u64) -> Result<Tail, FileFault> {
        self.record("read_tail", Vec::new());
        self.world.read_tail(root, path, limit_bytes)
    }

    fn list(&self, root: Root, directory: &str, limits: &ListingLimits) -> Result<Listing, FileFault> {
        self.record("list", vec![directory.to_owned()]);
        self.world.list(root, directory, limits)
    }
}
