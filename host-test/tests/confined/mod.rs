//! A governed workspace with a home folder and a sibling folder, and commands that run confined in it.

#![cfg(target_os = "linux")]
#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::skip::{report_missing_confinement, report_skip};
use serde_json::{Value, json};
use tollgate::Tollgate;
use tollgate::confine::Capability;

/// A time limit that nothing exceeds, however busy the machine is.
const LONG: Duration = Duration::from_secs(120);

/// Whether this system can confine a command; if not, that is reported.
pub fn can_confine() -> bool {
    match Capability::of_this_system() {
        Capability::None(why) => {
            report_missing_confinement(why);
            false
        }
        _ => true,
    }
}

pub struct World {
    temp: tempfile::TempDir,
    pub top: PathBuf,
    scope: String,
}

impl World {
    /// Creates a world in which the session's intent has these patterns as its scope.
    pub fn new(scope: &str) -> Self {
        let temp = tempfile::Builder::new().prefix("confined-").tempdir().unwrap();
        let world = Self { top: temp.path().canonicalize().unwrap(), scope: scope.to_owned(), temp };
        world.reset();
        fs::create_dir_all(world.ws().join("src/empty")).unwrap();
        symlink("src/billing/pay.ts", world.ws().join("existing-link")).unwrap();
        symlink("../billing/pay.ts", world.ws().join("src/auth/link-out")).unwrap();
        symlink("../billing", world.ws().join("src/auth/dir-out")).unwrap();
        for words in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "first"], &["branch", "second"]] {
            let status = world.plain("git", words).status().unwrap();
            assert!(status.success(), "git {words:?}");
        }
        world.ask(&json!({"op": "select-intent", "session": "s", "intent": "I"}));
        world
    }

    /// The same, if this system can confine a command.
    pub fn if_confinable(scope: &str) -> Option<Self> {
        can_confine().then(|| Self::new(scope))
    }

    /// Restores the content of the files.
    pub fn reset(&self) {
        let (world, scope) = (self, &self.scope);
        for (path, text) in [
            (
                "ws/.orchestration/active_intents.yaml",
                &*format!("[{{id: I, name: Login, status: IN_PROGRESS, owned_scope: [{scope}]}}]\n"),
            ),
            ("ws/.tollgate/config.json", "{}\n"),
            ("ws/.github/hooks/x.json", "{}\n"),
            ("ws/src/auth/login.ts", "login\n"),
            ("ws/src/billing/pay.ts", "pay\n"),
            ("ws/docs/auth.md", "auth\n"),
            ("ws/docs/other.md", "other\n"),
            ("ws/README.md", "# Readme\n"),
            ("ws/.env", "SECRET=1\n"),
            ("ws/.gitignore", "/target\nnode_modules/\n.pytest_cache/\n__pycache__/\n"),
            ("outside/file.txt", "outside\n"),
            ("home/.bashrc", "# bashrc\n"),
            ("home/.gitconfig", "[user]\n\tname = T\n\temail = t@example.org\n[init]\n\tdefaultBranch = main\n"),
            ("home/.tollgate/config.json", "{}\n"),
        ] {
            world.write(path, text);
        }
    }

    pub fn ws(&self) -> PathBuf {
        self.top.join("ws")
    }

    pub fn home(&self) -> PathBuf {
        self.top.join("home")
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.top.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // A successful attack may have left a socket or a link there.
        if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
            fs::remove_file(&path).unwrap();
        }
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.top.join(path)).unwrap_or_else(|why| panic!("{path}: {why}"))
    }

    pub fn gate(&self) -> Tollgate {
        Tollgate::builder().workspace(self.ws()).home(self.home()).open().unwrap()
    }

    pub fn ask(&self, line: &Value) -> Value {
        serde_json::from_slice(&self.gate().perform(line.to_string().as_bytes()).unwrap()).unwrap()
    }

    /// A program in the workspace, unconfined.
    pub fn plain(&self, program: impl AsRef<OsStr>, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(words).current_dir(self.ws()).env("HOME", self.home());
        for variable in ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "GIT_DIR", "GIT_WORK_TREE", "TMPDIR"] {
            command.env_remove(variable);
        }
        command.stdin(Stdio::null());
        command
    }

    /// A command line, confined.
    pub fn confined(&self, command: &str) -> Command {
        self.confined_words(&[], &["bash", "-c", command])
    }

    /// A command with further options, confined.
    pub fn confined_words(&self, options: &[&str], words: &[&str]) -> Command {
        let home = self.home();
        let mut all = vec!["confine", "--session", "s", "--home", home.to_str().unwrap()];
        all.extend(options);
        all.push("--");
        all.extend(words);
        self.plain(env!("CARGO_BIN_EXE_tollgate"), &all)
    }

    /// Runs a command line confined, and returns whether it succeeded and its output.
    pub fn run(&self, command: &str) -> (bool, String) {
        output_result(self.confined(command).output().unwrap())
    }

    /// Everything except the scope, the gate's own records and caches: kind and content.
    pub fn snapshot_elsewhere(&self, own: &[&str]) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        self.walk(&self.top, own, &mut found);
        for place in ["/etc", "/usr/local/bin", "/var/tmp", "/tmp", "/dev", "/root", "/opt", "/var/log", "/run"] {
            let path = Path::new(place).join("tollgate-evil");
            if path.symlink_metadata().is_ok() {
                found.insert(path.display().to_string(), "made".to_owned());
            }
        }
        found
    }

    fn walk(&self, folder: &Path, own: &[&str], found: &mut BTreeMap<String, String>) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.filter_map(Result::ok) {
            let path = entry.path();
            let name = path.strip_prefix(&self.top).unwrap().display().to_string();
            // Git refreshes its index when it reads, and caches may change.
            let is_free = |free: &&str| name == **free || name.starts_with(&format!("{free}/"));
            if own.iter().chain(&["home/.cache", "home/.npm", "ws/node_modules", "ws/target"]).any(is_free)
                || name.contains("/confined/")
            {
                continue;
            }
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                found.insert(name, "folder".to_owned());
                self.walk(&path, own, found);
            } else if kind.is_symlink() {
                found.insert(name, format!("link to {}", fs::read_link(&path).unwrap().display()));
            } else if kind.is_file() {
                let content = fs::read(&path).unwrap_or_default();
                found.insert(
                    name,
                    format!(
                        "{} bytes: {}",
                        content.len(),
                        String::from_utf8_lossy(&content).chars().take(200).collect::<String>()
                    ),
                );
            } else {
                found.insert(name, "something else".to_owned());
            }
        }
    }
}

/// Whether a command succeeded, and its output.
pub fn output_result(output: Output) -> (bool, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), format!("{}{}", text(&output.stdout), text(&output.stderr)))
}

/// The differences between two snapshots.
pub fn differences(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let mut found = Vec::new();
    for (path, was) in before {
        match after.get(path) {
            None => found.push(format!("{path} is gone")),
            Some(is) if is != was => found.push(format!("{path} was {was:?} and is {is:?}")),
            Some(_) => {}
        }
    }
    found.extend(after.keys().filter(|path| !before.contains_key(*path)).map(|path| format!("{path} is new")));
    found
}

/// Waits for a child, and ends it if that takes too long.
pub fn finish(mut child: Child) -> bool {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        match child.try_wait().unwrap() {
            Some(status) => return status.success(),
            None if Instant::now() > until => {
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

/// Waits until no process has a variable in its environment.
pub fn wait_for_end_of(mark: &str) {
    let until = Instant::now() + LONG;
    let is_running = || {
        let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        processes
            .filter_map(|entry| fs::read(entry.path().join("environ")).ok())
            .any(|environ| environ.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes()))
    };
    while is_running() {
        assert!(Instant::now() < until, "a process with {mark} goes on");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a program is installed; if not, that is reported.
pub fn has_program(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).stdout(Stdio::null()).status();
    let is_installed = found.is_ok_and(|status| status.success());
    if !is_installed {
        report_skip(&format!("`{program}` is not installed"));
    }
    is_installed
}
