//! Commands that try to change files outside the scope in every known way, restricted by the kernel: none may succeed.
//!
//! `attack/confined/attacks.jsonl` has one command per line, by family; `docs/threats.md` describes the families. Variables name
//! the targets: `FILE` is outside the scope in the workspace, `NEW` could be created there, `OUTSIDE` is next to the workspace,
//! and so on.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::confined::{self, World, can_confine, differences, finish, wait_for_end_of};
use crate::skip::{WITHOUT_NODE, report_skip};
use serde_json::{Value, json};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../attack/confined").join(name)
}

fn rows(name: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(data(name)).unwrap();
    let row = |line: &str| {
        let row: Value = serde_json::from_str(line).unwrap();
        (row["family"].as_str().unwrap().to_owned(), row["command"].as_str().unwrap().to_owned())
    };
    text.lines().map(row).collect()
}

/// Everything that attacks need: a program that makes system calls, a process to attack, and a daemon to send requests to.
struct AttackTargets {
    world: World,
    breakout: PathBuf,
    victim: Child,
    socket: String,
}

impl AttackTargets {
    fn new() -> Self {
        let world = World::new("'src/auth/**'");
        let breakout = world.top.join("breakout");
        let status = Command::new("cc").arg("-O1").arg("-o").arg(&breakout).arg(data("breakout.c")).status().unwrap();
        assert!(status.success(), "breakout.c does not compile");
        let victim = world.plain("sh", &["-c", "exec 9<>src/billing/pay.ts; exec sleep 100000"]).spawn().unwrap();
        let socket = format!("tollgate-attack-{}", world.top.file_name().unwrap().to_string_lossy());
        listen(&socket);
        Self { world, breakout, victim, socket }
    }

    /// Sets the target variables and starts a command.
    fn start(&self, mut command: Command, mark: &str) -> bool {
        let ws = self.world.ws();
        let state = tollgate::state_folder(&ws, Some(&self.world.home()), None).unwrap();
        for (name, path) in [
            ("FILE", ws.join("src/billing/pay.ts")),
            ("NEW", ws.join("src/billing/new.txt")),
            ("BILLING", ws.join("src/billing")),
            ("README", ws.join("README.md")),
            ("CONFIG", ws.join(".tollgate/config.json")),
            ("INTENTS", ws.join(".orchestration/active_intents.yaml")),
            ("GITCONFIG", ws.join(".git/config")),
            ("HOOK", ws.join(".git/hooks/pre-commit")),
            ("OWN", ws.join("src/auth/login.ts")),
            ("OUTSIDE", self.world.top.join("outside/file.txt")),
            ("FOLDER", self.world.top.join("outside")),
            ("USERHOME", self.world.home()),
            ("HOMEFILE", self.world.home().join(".bashrc")),
            ("STATE", state.join("workspace")),
            ("BREAKOUT", self.breakout.clone()),
            ("TOLLGATE", PathBuf::from(env!("CARGO_BIN_EXE_tollgate"))),
        ] {
            command.env(name, path);
        }
        command.env("PID", self.victim.id().to_string()).env("SOCKET", &self.socket).env("TOLLGATE_ATTACK", mark);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        finish(command.spawn().unwrap())
    }

    /// Restores the scope.
    fn reset(&self) {
        let own = self.world.ws().join("src/auth");
        let _ = fs::remove_dir_all(&own);
        fs::create_dir_all(&own).unwrap();
        self.world.write("ws/src/auth/login.ts", "login\n");
        std::os::unix::fs::symlink("../billing/pay.ts", own.join("link-out")).unwrap();
        std::os::unix::fs::symlink("../billing", own.join("dir-out")).unwrap();
    }

    fn snapshot(&self) -> BTreeMap<String, String> {
        self.world.snapshot_elsewhere(&["ws/src/auth"])
    }
}

impl Drop for AttackTargets {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

/// A daemon outside that writes to any file it is told to.
fn listen(name: &str) {
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name).unwrap()).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut path = String::new();
            if stream.read_to_string(&mut path).is_ok() {
                let _ = fs::write(path, "evil\n");
                let _ = stream.write_all(b"done");
            }
        }
    });
}

#[test]
fn no_attack_succeeds() {
    if !can_confine() {
        return;
    }
    let targets = AttackTargets::new();
    let attacks = rows("attacks.jsonl");
    assert!(attacks.len() >= 500, "only {} attacks", attacks.len());
    // The first command creates the gate's own files.
    targets.start(targets.world.confined("true"), "0");
    let only = std::env::var("TOLLGATE_ONLY").ok();
    let mut gate = targets.world.gate();
    let mut findings = Vec::new();
    let mut verdicts: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for (number, (family, command)) in attacks.iter().enumerate() {
        if only.as_ref().is_some_and(|only| !command.contains(only)) {
            continue;
        }
        // The ruling on it, with the names as they would be in an agent's command.
        let call = format!("c{number}");
        let line = json!({"op": "pre-tool", "session": "s", "call": call, "tool": "bash", "args": {"command": command}, "confinable": true});
        let ruling: Value = serde_json::from_slice(&gate.perform(line.to_string().as_bytes()).unwrap()).unwrap();
        let (verdict, is_confined) = (ruling["verdict"].as_str().unwrap(), ruling["confined"] == true);
        let word = if verdict == "allow" && is_confined { "confined" } else { verdict };
        *verdicts.entry(family.clone()).or_default().entry(word.to_owned()).or_default() += 1;
        let mark = format!("{}-{number}", std::process::id());
        let before = targets.snapshot();
        targets.start(targets.world.confined(command), &mark);
        wait_for_end_of(&format!("TOLLGATE_ATTACK={mark}"));
        let mut changed = differences(&before, &targets.snapshot());
        // Commands that the gate allows unconfined are run unconfined.
        if changed.is_empty() && verdict == "allow" && !is_confined {
            targets.reset();
            targets.start(targets.world.plain("bash", &["-c", command]), &mark);
            wait_for_end_of(&format!("TOLLGATE_ATTACK={mark}"));
            changed =
                differences(&before, &targets.snapshot()).into_iter().map(|change| format!("unconfined: {change}")).collect();
        }
        if !changed.is_empty() {
            findings.push(format!("{family}: {command}\n    {}", changed.join("\n    ")));
            // One success must not hide the others.
            targets.world.write("ws/src/billing/pay.ts", "pay\n");
        }
        targets.reset();
    }
    for (family, verdicts) in &verdicts {
        println!("{family}: {verdicts:?}");
    }
    assert!(findings.is_empty(), "{} of {} succeeded:\n{}", findings.len(), attacks.len(), findings.join("\n"));
}

/// An attack that never works proves nothing, so some attacks are run unconfined, if they only affect their own world.
#[test]
fn attacks_work_without_the_hold() {
    let targets = AttackTargets::new();
    let harmless =
        ["redirection", "path built at run time", "Python", "Perl", "Node", "system calls", "rename and link", "io_uring"];
    for (family, command) in rows("attacks.jsonl").iter().filter(|(family, _)| harmless.contains(&family.as_str())).step_by(12) {
        let targets = if family == "rename and link" { &AttackTargets::new() } else { &targets };
        let before = targets.snapshot();
        targets.start(targets.world.plain("bash", &["-c", command]), "plain");
        assert!(!differences(&before, &targets.snapshot()).is_empty(), "{family}: {command} changes nothing, confined or not");
        targets.reset();
        targets.world.reset();
    }
}

/// The next program that reads from the terminal would take such input for the person's own.
#[test]
fn nobody_types_into_the_terminal() {
    if !can_confine() || !confined::has_program("script") {
        return;
    }
    let targets = AttackTargets::new();
    let (tollgate, home, breakout) = (env!("CARGO_BIN_EXE_tollgate"), targets.world.home(), &targets.breakout);
    let typed = format!("'{}' tiocsti x", breakout.display());
    let held = format!("'{tollgate}' confine --session s --home '{}' -- {typed}", home.display());
    // In its own terminal; the exit code is the command's.
    let run = |command: &str| targets.start(targets.world.plain("script", &["-qec", command, "/dev/null"]), "terminal");
    if !run(&typed) {
        report_skip("this kernel lets nobody type into a terminal, so confinement does not show there");
    }
    assert!(!run(&held));
}

/// Node gets the same rulings and grants for every attack as the native host: it confines commands with the same program, so none
/// succeeds there either.
#[test]
fn node_rules_alike() {
    if !can_confine() {
        return;
    }
    let Some(node) = std::env::var_os("TOLLGATE_NODE") else {
        report_skip(WITHOUT_NODE);
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../npm-wrapper/dist/eval.js");
    let world = World::new("'src/auth/**'");
    let native = answers(Command::new(env!("CARGO_BIN_EXE_tollgate")).arg("eval"), &world, "native");
    let node = answers(Command::new(node).arg(script), &world, "node");
    assert!(native.len() >= 1_000, "only {} answers", native.len());
    for ((question, native), (_, node)) in native.iter().zip(&node) {
        assert_eq!(native, node, "{question}");
    }
    assert_eq!(native.len(), node.len());
}

/// The rulings of a host on all attacks, and what it would grant each.
fn answers(host: &mut Command, world: &World, name: &str) -> Vec<(String, String)> {
    let (ws, home) = (world.ws(), world.home());
    let mut lines = Vec::new();
    for (number, (_, command)) in rows("attacks.jsonl").iter().enumerate() {
        let call = format!("{name}-{number}");
        lines.push(json!({"op": "pre-tool", "session": "s", "call": call, "tool": "bash", "args": {"command": command}, "confinable": true}));
        lines.push(json!({"op": "grants", "session": "s", "command": ["bash", "-c", command], "cwd": ws, "confinable": true}));
    }
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let mut child = host
        .args([OsStr::new("--workspace"), ws.as_os_str(), OsStr::new("--home"), home.as_os_str()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = lines.join("\n");
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    lines.into_iter().zip(told.lines().map(str::to_owned)).collect()
}

/// What `docs/threats.md` lists as not covered must not be covered, otherwise the page is wrong.
#[test]
fn what_is_not_covered_is_not_covered() {
    if !can_confine() {
        return;
    }
    let targets = AttackTargets::new();
    for (_, command) in rows("uncovered.jsonl") {
        assert!(targets.start(targets.world.confined(&command), "uncovered"), "{command} is stopped: docs/threats.md can say so");
    }
}
