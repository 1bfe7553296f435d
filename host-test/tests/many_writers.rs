//! One ledger, many writers: at the same time, killed at any moment, on a full disk.
//!
//! Half of them are this host, half are Node, if `npm-wrapper/dist/` has been built; `cargo xtask test` builds it first and sets
//! `TOLLGATE_NODE`, which makes Node mandatory. Otherwise the tests with Node are shown as ignored.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod skip;
mod terminal;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde_json::{Value, json};
use skip::report_skip;

const LEDGER: &str = ".orchestration/agent_trace.jsonl";

/// A process that answers lines.
struct Process {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Process {
    fn start(mut command: Command, workspace: &Path) -> Self {
        let mut child = command
            .args(["--workspace".as_ref(), workspace.as_os_str(), "--home".as_ref(), workspace.join("home").as_os_str()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, answers }
    }

    /// The answer, or `None` if the process has ended.
    fn ask(&mut self, line: &Value) -> Option<Value> {
        writeln!(self.child.stdin.as_mut()?, "{line}").ok()?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer).ok()?;
        serde_json::from_str(&answer).ok()
    }

    /// Makes a whole call that changes some files; returns the ids of its entries once the call is acknowledged.
    fn record(&mut self, workspace: &Path, session: &str, call: &str, files: &[String]) -> Option<Vec<String>> {
        let added: String = files.iter().map(|file| format!("*** Add File: {file}\n+{call}\n")).collect();
        let args = json!({"patchText": format!("*** Begin Patch\n{added}*** End Patch")});
        let line =
            |op: &str| json!({"op": op, "session": session, "call": call, "tool": "apply_patch", "args": args, "success": true});
        let ruling = self.ask(&line("pre-tool"))?;
        assert_eq!(ruling["verdict"], "allow", "{ruling}");
        for file in files {
            fs::write(workspace.join(file), call).unwrap();
        }
        let settled = self.ask(&line("post-tool"))?;
        let ids: Vec<String> =
            settled["entries"].as_array()?.iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(ids.len(), files.len(), "{settled}");
        Some(ids)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn tollgate_eval() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.arg("eval");
    command
}

/// The evaluator in Node, if it has been built or is mandatory.
fn node_eval() -> Option<Command> {
    let eval = Path::new(env!("CARGO_MANIFEST_DIR")).join("../npm-wrapper/dist/eval.js");
    let program = std::env::var("TOLLGATE_NODE");
    (eval.exists() || program.is_ok()).then(|| {
        let mut command = Command::new(program.as_deref().unwrap_or("node"));
        command.arg(eval);
        command
    })
}

/// Node if available, otherwise this host.
fn node_or_tollgate_eval() -> Command {
    node_eval().unwrap_or_else(tollgate_eval)
}

fn main() {
    let test = |name: &str, test: fn()| {
        let run = move || {
            test();
            Ok(())
        };
        Trial::test(name, run)
    };
    let trials = vec![
        test("eight_processes_record_at_the_same_time", eight_processes_record_at_the_same_time),
        test("put_aside_while_others_write", put_aside_while_others_write),
        test("killed_at_any_moment", killed_at_any_moment),
        Trial::ignorable_test("every_second_process_is_node", || {
            Ok(if node_eval().is_some() { Completion::Completed } else { ignored(NO_NODE) })
        }),
        Trial::ignorable_test("a_full_disk", || a_full_disk("tollgate", &tollgate_eval())),
        Trial::ignorable_test("a_full_disk_in_node", || match node_eval() {
            Some(node) => a_full_disk("node", &node),
            None => Ok(ignored(NO_NODE)),
        }),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

const NO_NODE: &str = "npm-wrapper/dist/ is not built, so every process is of one kind; `cargo xtask build` makes it";

fn ignored(why: &str) -> Completion {
    report_skip(why);
    Completion::ignored_with(why)
}

fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join(".orchestration")).unwrap();
    fs::create_dir_all(folder.path().join("src")).unwrap();
    let intents = "[{id: I, name: I, status: IN_PROGRESS, owned_scope: ['src/**']}]";
    fs::write(folder.path().join(".orchestration/active_intents.yaml"), intents).unwrap();
    folder
}

fn verify(workspace: &Path) -> Value {
    let mut process = Process::start(tollgate_eval(), workspace);
    let mut answer = process.ask(&json!({"op": "verify"})).unwrap();
    for _ in 0..10_000 {
        if answer["done"] != false {
            return answer;
        }
        answer = process.ask(&json!({"op": "verify", "more": true})).unwrap();
    }
    panic!("it never says that it is done: {answer}");
}

fn read_entry_ids(workspace: &Path) -> Vec<String> {
    let text = fs::read(workspace.join(LEDGER)).unwrap();
    let entry = |line: &[u8]| serde_json::from_slice::<Value>(line).ok()?["id"].as_str().map(str::to_owned);
    text.split(|byte| *byte == b'\n').filter_map(entry).collect()
}

/// A process that records calls on its own files, every second one in Node; returns the acknowledged ids.
fn spawn_writer(root: &Path, number: usize, calls: usize) -> thread::JoinHandle<Vec<String>> {
    let root = root.to_owned();
    thread::spawn(move || {
        let mut process = Process::start(if number.is_multiple_of(2) { tollgate_eval() } else { node_or_tollgate_eval() }, &root);
        let session = format!("s{number}");
        process.ask(&json!({"op": "select-intent", "session": session, "intent": "I"})).unwrap();
        let mut ids = Vec::new();
        for call in 0..calls {
            let file = format!("src/{number}-{}.txt", call % 20);
            ids.extend(process.record(&root, &session, &format!("{number}-{call}"), &[file]).unwrap());
        }
        ids
    })
}

fn eight_processes_record_at_the_same_time() {
    const EACH: usize = 500;
    let folder = workspace();
    let root: PathBuf = folder.path().to_owned();
    let threads: Vec<_> = (0..8).map(|number| spawn_writer(&root, number, EACH)).collect();
    let acknowledged: Vec<String> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    let text = fs::read_to_string(root.join(LEDGER)).unwrap();
    assert_eq!(text.lines().count(), 8 * EACH);
    let entered = read_entry_ids(&root);
    assert_eq!(entered.len(), 8 * EACH);
    assert_eq!(entered.iter().collect::<BTreeSet<_>>(), acknowledged.iter().collect::<BTreeSet<_>>());
    let report = verify(&root);
    assert_eq!((&report["ok"], &report["entries"], &report["notes"]), (&json!(true), &json!(8 * EACH), &json!([])), "{report}");
}

/// The ledger is archived repeatedly while four processes write to it.
fn put_aside_while_others_write() {
    let folder = workspace();
    let root: PathBuf = folder.path().to_owned();
    let threads: Vec<_> = (0..4).map(|number| spawn_writer(&root, number, 400)).collect();
    let mut archives = 0;
    while !threads.iter().all(thread::JoinHandle::is_finished) {
        // Every second time by a user whose state does not contain this ledger.
        let home = root.join(if archives % 2 == 0 { "home" } else { "other-home" });
        let words = ["trace", "archive", "--yes", "--workspace", root.to_str().unwrap(), "--home", home.to_str().unwrap()];
        archives += usize::from(terminal::PersonCommand::new(&root, &words).at_terminal().0 == 0);
    }
    let acknowledged: usize = threads.into_iter().map(|thread| thread.join().unwrap().len()).sum();
    let report = verify(&root);
    assert!(archives > 3, "only {archives}");
    assert_eq!((&report["ok"], acknowledged), (&json!(true), 1_600), "{report}");
    // Archiving is recorded too, unless there was nothing to archive.
    let entries = usize::try_from(report["entries"].as_u64().unwrap()).unwrap();
    assert!((1_601..=1_600 + archives).contains(&entries), "{archives} times: {report}");
}

/// The moments are spread evenly over the first milliseconds of a call, with none, one or two calls before it. They are not
/// random: when a kill arrives depends on the machine, so a failure could not be shrunk anyway.
fn killed_at_any_moment() {
    const KILLS: usize = 200;
    const SPREAD_MICROS: usize = 6_000;
    let folder = workspace();
    let root = folder.path();
    let mut acknowledged = Vec::new();
    for round in 0..KILLS {
        let mut process = Process::start(if round % 4 == 3 { node_or_tollgate_eval() } else { tollgate_eval() }, root);
        let session = format!("s{round}");
        process.ask(&json!({"op": "select-intent", "session": session, "intent": "I"})).unwrap();
        let pid = process.child.id();
        // A step without a common divisor with the number of kills visits every moment once, in no particular order.
        let micros = (round * 77 % KILLS * SPREAD_MICROS / KILLS) as u64;
        let calls_before = round % 3;
        let mut killer = None;
        for call in 0.. {
            assert!(call < 10_000, "round {round}: the process survived its kill");
            if call == calls_before {
                killer = Some(thread::spawn(move || {
                    thread::sleep(std::time::Duration::from_micros(micros));
                    Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap();
                }));
            }
            // Large writes are those that a kill can interrupt. Every session has its own files, so that nobody waits for a dead
            // session.
            let files: Vec<String> =
                (0..1 + (round * 7 + call * 13) % 30).map(|file| format!("src/{round}-{file}.txt")).collect();
            match process.record(root, &session, &format!("{round}-{call}"), &files) {
                Some(ids) => acknowledged.extend(ids),
                None => break,
            }
        }
        killer.unwrap().join().unwrap();
        if round % 20 == 19 {
            let report = verify(root);
            assert_eq!(report["ok"], true, "after {round} kills: {report}");
        }
    }
    let entered: BTreeSet<String> = read_entry_ids(root).into_iter().collect();
    assert!(acknowledged.len() > KILLS, "only {} entries were acknowledged", acknowledged.len());
    let lost: Vec<_> = acknowledged.iter().filter(|id| !entered.contains(*id)).collect();
    assert!(lost.is_empty(), "lost {lost:?}");
    println!("{} acknowledged, {} entered, {}", acknowledged.len(), entered.len(), verify(root)["notes"]);
}

/// Runs in a namespace in which it may mount a small disk.
fn a_full_disk(kind: &str, command: &Command) -> Result<Completion, Failed> {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
        set -e
        mount -t tmpfs -o size=256k none "$DISK"
        mkdir -p "$DISK/.orchestration" "$DISK/src"
        echo '[{id: I, name: I, status: IN_PROGRESS, owned_scope: ["src/**"]}]' > "$DISK/.orchestration/active_intents.yaml"
        ask() { printf '%s\n' "$@" | $EVAL --workspace "$DISK" --home "$DISK/home"; }
        call() { echo "{\"op\":\"$1\",\"session\":\"s\",\"call\":\"$2\",\"tool\":\"write\",\"args\":{\"filePath\":\"src/$2\",\"content\":\"$2\"},\"success\":true}"; }
        ask '{"op":"select-intent","session":"s","intent":"I"}'
        ask "$(call pre-tool 0)"
        echo 0 > "$DISK/src/0"
        ask "$(call post-tool 0)"
        for n in 1 2 3 4 5 6 7 8 9; do
            ask "$(call pre-tool $n)"
            echo $n > "$DISK/src/$n"
        done
        cat /dev/zero > "$DISK/filler" || true
        ask "$(call pre-tool 10)"
        # What is left of the ledger's page takes a few lines, then there is no room, in the middle of one. A settled call makes room,
        # which is filled again.
        for n in 1 2 3 4 5 6 7 8 9; do
            ask "$(call post-tool $n)"
            cat /dev/zero >> "$DISK/filler" || true
        done
        rm "$DISK/filler"
        ask "$(call pre-tool 11)"
        echo 11 > "$DISK/src/11"
        ask "$(call post-tool 11)" '{"op":"event","event":"session_end","session":"s"}' '{"op":"verify"}' '{"op":"verify","more":true}' '{"op":"verify","more":true}'
    "#;
    let words: Vec<_> = std::iter::once(command.get_program()).chain(command.get_args()).collect();
    let eval = words.join(" ".as_ref());
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script])
        .env("DISK", folder.path())
        .env("EVAL", eval)
        .output();
    let Ok(output) = output else { return Ok(ignored("there is no `unshare` here to make a small disk with")) };
    let (said, warned) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if warned.contains("unshare failed") || warned.contains("mount:") || warned.contains("unshare: ") {
        return Ok(ignored(&format!("this machine does not let us mount a small disk: {}", warned.trim())));
    }
    assert!(output.status.success(), "{kind}: {said}\n{warned}");
    let answers: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let rulings: Vec<_> = answers.iter().filter_map(|answer| answer["verdict"].as_str()).collect();
    let mut expected = ["allow"; 12];
    expected[10] = "ask";
    assert_eq!(rulings, expected, "{kind}: a call that cannot be remembered is a person's to decide on, the others go on");
    let settled: Vec<_> = answers.iter().filter(|answer| answer["entries"].is_array()).collect();
    let unentered = settled.iter().filter(|settled| settled["entries"] == json!([])).count();
    assert!((1..9).contains(&unentered), "{kind}: {said}");
    for settled in &settled {
        let told = settled["notice"].as_str().is_some_and(|notice| notice.contains("the disk is full"));
        assert_eq!(told, settled["entries"] == json!([]), "{kind}: {settled}");
    }
    // Retried once; what could not be recorded then is logged, and recorded when the session ends.
    let given_up = warned.matches("error: `.orchestration/agent_trace.jsonl` still cannot be written").count();
    let report = answers.iter().find(|answer| answer["done"] == true).unwrap();
    assert_eq!(report["ok"], true, "{kind}: {report}");
    assert_eq!(report["entries"], json!(11), "{kind}: {report}\n{warned}");
    println!("{kind}: at first {unentered} of 11 calls could not be entered, in the end {given_up}; {}", report["notes"]);
    Ok(Completion::Completed)
}
