//! Listening to the file system, for as long as a hook waits for something there.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use notify::event::{ModifyKind, RenameMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tollgate::hooks::Remote;

use super::changes::Changes;
use super::commits::Commits;

/// What files can tell.
const OF_FILES: &[&str] = &["onDidSaveTextDocument", "onDidCreateFiles", "onDidDeleteFiles", "onDidRenameFiles"];

/// What a repository can tell.
const OF_GIT: &str = "gitCommit";

/// Things have come to rest when nothing happens for so long,
const QUIET: Duration = Duration::from_millis(50);

/// and what never comes to rest is looked at nevertheless.
const LONGEST: Duration = Duration::from_millis(500);

/// Whether folders are watched one by one. Elsewhere the operating system watches whole trees, ignored folders and all.
const ONE_BY_ONE: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// The triggers that are listened to, by whoever asks.
#[derive(Clone, Default)]
pub(super) struct Triggers(Arc<Mutex<BTreeSet<String>>>);

impl Triggers {
    fn locked(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn contains(&self, trigger: &str) -> bool {
        self.locked().contains(trigger)
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.locked().iter().cloned().collect()
    }
}

/// The listeners of one workspace: one for its files, one for its repository.
pub(super) struct Listening {
    root: PathBuf,
    remote: Remote,
    triggers: Triggers,
    files: Option<Listener>,
    git: Option<Listener>,
}

impl Listening {
    pub(super) fn new(root: &Path, remote: Remote, triggers: Triggers) -> Self {
        Self { root: root.to_owned(), remote, triggers, files: None, git: None }
    }

    /// Listens to a trigger, or no longer; says why it cannot.
    pub(super) fn listen(&mut self, trigger: &str, on: bool) -> Result<(), String> {
        if !on {
            self.triggers.locked().remove(trigger);
            if !OF_FILES.iter().any(|trigger| self.triggers.contains(trigger)) {
                self.files = None;
            }
            if !self.triggers.contains(OF_GIT) {
                self.git = None;
            }
            return Ok(());
        }
        if OF_FILES.contains(&trigger) {
            if self.files.is_none() {
                self.files = Some(files(&self.root, self.remote.clone(), self.triggers.clone())?);
            }
        } else if trigger == OF_GIT {
            if self.git.is_none() {
                self.git = Some(git(&self.root, self.remote.clone())?);
            }
        } else {
            return Err("only an editor can tell".to_owned());
        }
        self.triggers.locked().insert(trigger.to_owned());
        Ok(())
    }
}

enum Noticed {
    Event(Event),
    Stop,
}

/// A thread that listens until this goes.
struct Listener(mpsc::Sender<Noticed>);

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.0.send(Noticed::Stop);
    }
}

struct Watched {
    watcher: RecommendedWatcher,
    folders: HashSet<PathBuf>,
}

impl Watched {
    fn new(sender: mpsc::Sender<Noticed>) -> Result<Self, String> {
        let tell = move |event: notify::Result<Event>| {
            if let Ok(event) = event {
                let _ = sender.send(Noticed::Event(event));
            }
        };
        let watcher = notify::recommended_watcher(tell).map_err(|why| cannot(&why))?;
        Ok(Self { watcher, folders: HashSet::new() })
    }

    /// Watches a folder. One that has gone meanwhile, or may not be read, is left out.
    fn add(&mut self, folder: &Path, mode: RecursiveMode) -> Result<(), String> {
        if self.folders.contains(folder) {
            return Ok(());
        }
        match self.watcher.watch(folder, mode) {
            Ok(()) => {
                self.folders.insert(folder.to_owned());
                Ok(())
            }
            Err(why) if matches!(why.kind, notify::ErrorKind::MaxFilesWatch) => Err(cannot(&why)),
            Err(why) if folder.is_dir() && self.folders.is_empty() => Err(cannot(&why)),
            Err(_) => Ok(()),
        }
    }

    /// Folders that have moved are not watched under their old names.
    fn forget(&mut self, event: &Event) {
        let moved = matches!(
            event.kind,
            EventKind::Modify(ModifyKind::Name(RenameMode::Both | RenameMode::From | RenameMode::Any)) | EventKind::Remove(_)
        );
        if let (true, Some(path)) = (moved, event.paths.first()) {
            let gone: Vec<PathBuf> = self.folders.iter().filter(|folder| folder.starts_with(path)).cloned().collect();
            for folder in gone {
                let _ = self.watcher.unwatch(&folder);
                self.folders.remove(&folder);
            }
        }
    }
}

fn cannot(why: &notify::Error) -> String {
    match why.kind {
        notify::ErrorKind::MaxFilesWatch => {
            "there are more folders than the system lets one user watch; raise `fs.inotify.max_user_watches`, or name folders in `.gitignore`".to_owned()
        }
        _ => format!("the file system cannot be watched: {why}"),
    }
}

fn files(root: &Path, remote: Remote, triggers: Triggers) -> Result<Listener, String> {
    let (sender, noticed) = mpsc::channel();
    let mut watched = Watched::new(sender.clone())?;
    let mut changes = Changes::new(root);
    let (folders, known) = changes.below(root);
    if ONE_BY_ONE {
        folders.iter().try_for_each(|folder| watched.add(folder, RecursiveMode::NonRecursive))?;
    } else {
        watched.add(root, RecursiveMode::Recursive)?;
    }
    changes.know(known);
    let listen = move || {
        while at_rest(&noticed, |event| {
            watched.forget(event);
            let new = changes.notice(event);
            if ONE_BY_ONE && !new.is_empty() {
                for folder in &new {
                    // It could not be helped here, and what is watched already stays so.
                    let _ = watched.add(folder, RecursiveMode::NonRecursive);
                }
                // What came into them before they were watched.
                changes.notice(event);
            }
        }) {
            for change in changes.take() {
                if triggers.contains(change.event()) {
                    remote.notify(change.event(), None, &change.data());
                }
            }
        }
    };
    start(listen, sender)
}

fn git(root: &Path, remote: Remote) -> Result<Listener, String> {
    let mut commits = Commits::open(root)?;
    let (sender, noticed) = mpsc::channel();
    let mut watched = Watched::new(sender.clone())?;
    commits
        .folders()
        .iter()
        .filter(|folder| folder.is_dir())
        .try_for_each(|folder| watched.add(folder, RecursiveMode::NonRecursive))?;
    let listen = move || {
        while at_rest(&noticed, |_| ()) {
            // A repository has no log before its first commit.
            for folder in commits.folders().iter().filter(|folder| folder.is_dir()) {
                let _ = watched.add(folder, RecursiveMode::NonRecursive);
            }
            for commit in commits.take() {
                remote.notify(OF_GIT, None, &commit);
            }
        }
    };
    start(listen, sender)
}

fn start(listen: impl FnOnce() + Send + 'static, sender: mpsc::Sender<Noticed>) -> Result<Listener, String> {
    let thread = thread::Builder::new().name("tollgate-watch".to_owned()).spawn(listen);
    thread.map_err(|why| format!("no thread to listen with: {why}"))?;
    Ok(Listener(sender))
}

/// Waits until something happened and has come to rest; false when nobody listens any more.
fn at_rest(noticed: &mpsc::Receiver<Noticed>, mut take: impl FnMut(&Event)) -> bool {
    let Ok(Noticed::Event(first)) = noticed.recv() else { return false };
    take(&first);
    let until = Instant::now() + LONGEST;
    loop {
        match noticed.recv_timeout(QUIET.min(until.saturating_duration_since(Instant::now()))) {
            Ok(Noticed::Event(event)) => take(&event),
            Ok(Noticed::Stop) => return false,
            Err(_) => return true,
        }
    }
}
