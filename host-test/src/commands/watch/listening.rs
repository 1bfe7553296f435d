//! Watches the file system as long as a hook needs its events.

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

/// Triggers about files.
const FILE_TRIGGERS: &[&str] = &["onDidSaveTextDocument", "onDidCreateFiles", "onDidDeleteFiles", "onDidRenameFiles"];

/// The trigger about commits.
const COMMIT_TRIGGER: &str = "gitCommit";

/// Changes are processed when there are no events for this long,
const QUIET: Duration = Duration::from_millis(50);

/// and at the latest after this time.
const MAX_DELAY: Duration = Duration::from_millis(500);

/// Whether folders are watched one by one. Other systems watch whole trees, including ignored folders.
const WATCH_EACH_FOLDER: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// The triggers that are being observed; shared between threads.
#[derive(Clone, Default)]
pub(super) struct Triggers(Arc<Mutex<BTreeSet<String>>>);

impl Triggers {
    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn contains(&self, trigger: &str) -> bool {
        self.lock().contains(trigger)
    }

    pub(super) fn to_vec(&self) -> Vec<String> {
        self.lock().iter().cloned().collect()
    }
}

/// The listeners of one workspace: one for files, one for the repository.
pub(super) struct Listeners {
    root: PathBuf,
    remote: Remote,
    triggers: Triggers,
    files: Option<Listener>,
    git: Option<Listener>,
}

impl Listeners {
    pub(super) fn new(root: &Path, remote: Remote, triggers: Triggers) -> Self {
        Self { root: root.to_owned(), remote, triggers, files: None, git: None }
    }

    /// Starts or stops listening for a trigger; returns an error if it cannot be observed.
    pub(super) fn listen(&mut self, trigger: &str, on: bool) -> Result<(), String> {
        if !on {
            self.triggers.lock().remove(trigger);
            if !FILE_TRIGGERS.iter().any(|trigger| self.triggers.contains(trigger)) {
                self.files = None;
            }
            if !self.triggers.contains(COMMIT_TRIGGER) {
                self.git = None;
            }
            return Ok(());
        }
        if FILE_TRIGGERS.contains(&trigger) {
            if self.files.is_none() {
                self.files = Some(listen_to_files(&self.root, self.remote.clone(), self.triggers.clone())?);
            }
        } else if trigger == COMMIT_TRIGGER {
            if self.git.is_none() {
                self.git = Some(listen_to_git(&self.root, self.remote.clone())?);
            }
        } else {
            return Err("only an editor can observe this".to_owned());
        }
        self.triggers.lock().insert(trigger.to_owned());
        Ok(())
    }
}

enum WatchMessage {
    Event(Event),
    Stop,
}

/// A thread that listens until this is dropped.
struct Listener(mpsc::Sender<WatchMessage>);

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.0.send(WatchMessage::Stop);
    }
}

struct Watches {
    watcher: RecommendedWatcher,
    folders: HashSet<PathBuf>,
}

impl Watches {
    fn new(sender: mpsc::Sender<WatchMessage>) -> Result<Self, String> {
        let tell = move |event: notify::Result<Event>| {
            if let Ok(event) = event {
                let _ = sender.send(WatchMessage::Event(event));
            }
        };
        let watcher = notify::recommended_watcher(tell).map_err(|why| watch_error(&why))?;
        Ok(Self { watcher, folders: HashSet::new() })
    }

    /// Watches a folder. A folder that no longer exists or cannot be read is skipped.
    fn add(&mut self, folder: &Path, mode: RecursiveMode) -> Result<(), String> {
        if self.folders.contains(folder) {
            return Ok(());
        }
        match self.watcher.watch(folder, mode) {
            Ok(()) => {
                self.folders.insert(folder.to_owned());
                Ok(())
            }
            Err(why) if matches!(why.kind, notify::ErrorKind::MaxFilesWatch) => Err(watch_error(&why)),
            Err(why) if folder.is_dir() && self.folders.is_empty() => Err(watch_error(&why)),
            Err(_) => Ok(()),
        }
    }

    /// Stops watching folders under names they no longer have.
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

fn watch_error(why: &notify::Error) -> String {
    match why.kind {
        notify::ErrorKind::MaxFilesWatch => {
            "there are more folders than the system lets one user watch; raise `fs.inotify.max_user_watches`, or add folders to `.gitignore`".to_owned()
        }
        _ => format!("the file system cannot be watched: {why}"),
    }
}

fn listen_to_files(root: &Path, remote: Remote, triggers: Triggers) -> Result<Listener, String> {
    let (sender, noticed) = mpsc::channel();
    let mut watched = Watches::new(sender.clone())?;
    let mut changes = Changes::new(root);
    let (folders, known) = changes.collect_below(root);
    if WATCH_EACH_FOLDER {
        folders.iter().try_for_each(|folder| watched.add(folder, RecursiveMode::NonRecursive))?;
    } else {
        watched.add(root, RecursiveMode::Recursive)?;
    }
    changes.add_known(known);
    let listen = move || {
        while wait_for_quiet(&noticed, |event| {
            watched.forget(event);
            let new = changes.notice(event);
            if WATCH_EACH_FOLDER && !new.is_empty() {
                for folder in &new {
                    // A failure is ignored; folders that are already watched stay watched.
                    let _ = watched.add(folder, RecursiveMode::NonRecursive);
                }
                // Reports files that were created before the folder was watched.
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

fn listen_to_git(root: &Path, remote: Remote) -> Result<Listener, String> {
    let mut commits = Commits::open(root)?;
    let (sender, noticed) = mpsc::channel();
    let mut watched = Watches::new(sender.clone())?;
    commits
        .folders()
        .iter()
        .filter(|folder| folder.is_dir())
        .try_for_each(|folder| watched.add(folder, RecursiveMode::NonRecursive))?;
    let listen = move || {
        while wait_for_quiet(&noticed, |_| ()) {
            // A repository has no log before its first commit.
            for folder in commits.folders().iter().filter(|folder| folder.is_dir()) {
                let _ = watched.add(folder, RecursiveMode::NonRecursive);
            }
            for commit in commits.take() {
                remote.notify(COMMIT_TRIGGER, None, &commit);
            }
        }
    };
    start(listen, sender)
}

fn start(listen: impl FnOnce() + Send + 'static, sender: mpsc::Sender<WatchMessage>) -> Result<Listener, String> {
    let thread = thread::Builder::new().name("tollgate-watch".to_owned()).spawn(listen);
    thread.map_err(|why| format!("cannot start a thread: {why}"))?;
    Ok(Listener(sender))
}

/// Waits for events until none arrive for a while; returns `false` when the listener is dropped.
fn wait_for_quiet(noticed: &mpsc::Receiver<WatchMessage>, mut take: impl FnMut(&Event)) -> bool {
    let Ok(WatchMessage::Event(first)) = noticed.recv() else { return false };
    take(&first);
    let until = Instant::now() + MAX_DELAY;
    loop {
        match noticed.recv_timeout(QUIET.min(until.saturating_duration_since(Instant::now()))) {
            Ok(WatchMessage::Event(event)) => take(&event),
            Ok(WatchMessage::Stop) => return false,
            Err(_) => return true,
        }
    }
}
