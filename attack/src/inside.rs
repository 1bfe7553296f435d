//! The runner: the first process of a temporary namespace, in which commands are executed.
//!
//! It communicates with JSON lines over its own standard streams, which commands do not inherit. Processes that a command leaves
//! behind are ended before the next one, and only what has changed is restored.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions};
use serde::{Deserialize, Serialize};

use crate::tree::{Change, Node, Tree};
use crate::world::{HOME, PROJECT, ROOTS, World};

/// The search path, in the sandbox and for the gate.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// How long background processes get to end by themselves.
const GRACE: Duration = Duration::from_millis(250);
/// The modification time of all files of a world: 2026-01-01.
const BEGINNING_NS: u128 = 1_767_225_600_000_000_000;

/// Requests to the runner.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Restores a world.
    Begin(World),
    /// Runs a command in the current state of the world.
    Run {
        /// The shell.
        shell: String,
        /// The command.
        command: String,
        /// The time limit.
        limit_ms: u64,
    },
}

/// The first message of the runner.
#[derive(Debug, Serialize, Deserialize)]
pub struct Hello {
    /// The initial state of the worlds.
    pub worlds: BTreeMap<World, Tree>,
    /// All programs on the search path by name, with their paths.
    pub programs: BTreeMap<String, String>,
}

/// The effects of a command.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub struct Report {
    /// What the command changed.
    pub changes: Vec<Change>,
    /// Whether it exceeded the time limit.
    pub timed_out: bool,
}

/// Serves requests until the input ends.
pub fn serve() -> Result<()> {
    ensure!(
        rustix::process::getpid().is_init(),
        "the runner is not the first process of a namespace: it would end every process"
    );
    limit()?;
    let mut runner = Runner { worlds: BTreeMap::new(), now: Tree::default(), begun: None };
    for world in World::ALL {
        let tree = runner.make(world).with_context(|| format!("making the world {world:?}"))?;
        runner.worlds.insert(world, tree);
    }
    answer(&Hello { worlds: runner.worlds.clone(), programs: programs() })?;
    for line in io::stdin().lock().lines() {
        match serde_json::from_str(&line?)? {
            Request::Begin(world) => {
                runner.begin(world)?;
                answer(&Report::default())?;
            }
            Request::Run { shell, command, limit_ms } => {
                answer(&runner.run(&shell, &command, Duration::from_millis(limit_ms))?)?;
            }
        }
    }
    Ok(())
}

fn answer(value: &impl Serialize) -> Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, value)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// Limits processes, time and file sizes; memory is limited by the size of the file system.
fn limit() -> Result<()> {
    for (resource, most) in
        [(Resource::Nproc, 512), (Resource::Cpu, 600), (Resource::Fsize, 16 << 20), (Resource::Core, 0), (Resource::Nofile, 256)]
    {
        rustix::process::setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

fn programs() -> BTreeMap<String, String> {
    let mut programs = BTreeMap::new();
    for folder in PATH.split(':').rev().filter(|folder| folder.starts_with("/usr")) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            programs.insert(name.clone(), format!("{folder}/{name}"));
        }
    }
    programs
}

struct Runner {
    worlds: BTreeMap<World, Tree>,
    now: Tree,
    begun: Option<World>,
}

impl Runner {
    /// Creates a world and records its state, with the same time for all files.
    fn make(&mut self, world: World) -> Result<Tree> {
        clear()?;
        for script in world.scripts() {
            let status = shell("/bin/bash", script).stderr(Stdio::inherit()).status()?;
            ensure!(status.success(), "its script failed ({status})");
        }
        let mut tree = Tree::read(&ROOTS);
        for node in tree.0.values_mut() {
            if let Node::File { modified, .. } = node {
                *modified = BEGINNING_NS;
            }
        }
        Ok(tree)
    }

    fn begin(&mut self, world: World) -> Result<()> {
        let Some(tree) = self.worlds.get(&world) else { bail!("there is no world {world:?}") };
        if self.begun != Some(world) || !tree.changes(&self.now).is_empty() || is_shared_differently(tree, &self.now) {
            clear()?;
            tree.lay_out()?;
            self.now = Tree::read(&ROOTS);
            let changes = tree.changes(&self.now);
            ensure!(changes.is_empty(), "the world could not be restored: {:?}", changes.first());
            self.begun = Some(world);
        }
        for folder in ["/tmp", "/var/tmp"] {
            empty(folder)?;
        }
        ensure!(fs::metadata("/dev/null").is_ok() && fs::metadata("/bin/bash").is_ok(), "the sandbox is broken");
        Ok(())
    }

    fn run(&mut self, program: &str, command: &str, limit: Duration) -> Result<Report> {
        let mut child = shell(program, command).process_group(0).spawn().with_context(|| format!("starting {program}"))?;
        let (done, ended) = mpsc::channel();
        let waiter = thread::spawn(move || {
            let _ = child.wait();
            let _ = done.send(());
        });
        let timed_out = ended.recv_timeout(limit).is_err();
        if !timed_out {
            wait_for_rest(GRACE);
        }
        end_all();
        let _ = waiter.join();
        end_all();
        let after = Tree::read(&ROOTS);
        let changes = self.now.changes(&after);
        self.now = after;
        Ok(Report { changes, timed_out })
    }
}

/// Whether hard links have been split or joined, which a comparison of contents does not show.
fn is_shared_differently(one: &Tree, other: &Tree) -> bool {
    let shape = |tree: &Tree| {
        let mut first: BTreeMap<u64, usize> = BTreeMap::new();
        let mut shape = Vec::new();
        for (at, node) in tree.0.values().enumerate() {
            if let Node::File { identity, .. } = node {
                shape.push(*first.entry(*identity).or_insert(at));
            }
        }
        shape
    };
    shape(one) != shape(other)
}

fn shell(program: &str, command: &str) -> Command {
    let mut shell = Command::new(program);
    shell.arg("-c").arg(command).current_dir(PROJECT).env_clear();
    shell.envs([("PATH", PATH), ("HOME", HOME), ("USER", "user"), ("LANG", "C.UTF-8"), ("TERM", "dumb"), ("PWD", PROJECT)]);
    shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    shell
}

fn clear() -> Result<()> {
    for root in ROOTS {
        fs::create_dir_all(root).or_else(|_| fs::remove_file(root).and_then(|()| fs::create_dir_all(root)))?;
        empty(root)?;
    }
    Ok(())
}

fn empty(folder: &str) -> Result<()> {
    fs::create_dir_all(folder)?;
    for entry in fs::read_dir(folder)?.flatten() {
        let path = entry.path();
        if entry.file_type()?.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }
            .with_context(|| format!("emptying {folder}"))?;
    }
    Ok(())
}

/// All other processes in the namespace.
fn other_processes() -> Vec<Pid> {
    let names = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = names.filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
    numbers.filter(|number| *number > 1).filter_map(Pid::from_raw).collect()
}

fn end_all() {
    for _ in 0..50 {
        let others = other_processes();
        if others.is_empty() {
            return;
        }
        for pid in others {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        // Orphans become children of this process; reap those that have ended.
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        thread::sleep(Duration::from_millis(1));
    }
}

fn wait_for_rest(grace: Duration) {
    let since = Instant::now();
    while !other_processes().is_empty() && since.elapsed() < grace {
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        thread::sleep(Duration::from_millis(2));
    }
}
