//! `tollgate watch`: hooks on changes to files and in a repository.

#![cfg(unix)]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use serde_json::{Value, json};

use crate::place::{LONG, Place, sh, wait_for_exit, with_fields};

struct Watch {
    child: Child,
    notes: mpsc::Receiver<String>,
    records: mpsc::Receiver<Value>,
}

impl Watch {
    /// Starts it and waits until it is listening.
    fn start(place: &Place, listens_to: &str) -> Self {
        let mut child = place.tollgate(&["watch", "--json"]).spawn().unwrap();
        let notes = lines(child.stderr.take().unwrap());
        let (sender, records) = mpsc::channel();
        let out = lines(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in out {
                let _ = sender.send(serde_json::from_str(&line).unwrap());
            }
        });
        let watch = Self { child, notes, records };
        watch.wait_for_note(listens_to);
        watch
    }

    fn wait_for_note(&self, said: &str) {
        while !self.notes.recv_timeout(LONG).unwrap_or_else(|_| panic!("nobody said {said}")).contains(said) {}
    }

    /// The next finished run: hook, status and file.
    fn next_run(&self) -> (String, String, String) {
        loop {
            let said = self.records.recv_timeout(LONG).unwrap();
            let record = &said["record"];
            if record.get("ended").is_some() {
                let text = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
                return (text("hook"), text("status"), text("file"));
            }
        }
    }

    fn interrupt(&self) {
        Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
    }

    fn end(mut self) -> Vec<Value> {
        self.interrupt();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        self.records.iter().collect()
    }
}

fn lines(from: impl std::io::Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    receiver
}

fn finished_run(hook: &str, status: &str, file: &str) -> (String, String, String) {
    (hook.to_owned(), status.to_owned(), file.to_owned())
}

fn approve(place: &Place, ids: &[&str]) {
    for id in ids {
        assert_eq!(place.run(&["hooks", "approve", id, "--yes"]).0, 0);
    }
}

fn git(root: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(root).args(["-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]);
    let output = command.args(arguments).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn files_that_are_saved_created_renamed_and_deleted() {
    let place = Place::new(&[
        with_fields(sh("save", "onDidSaveTextDocument", "true"), &json!({"pattern": "src/**"})),
        with_fields(sh("create", "onDidCreateFiles", "true"), &json!({"pattern": "src/**"})),
        with_fields(sh("rename", "onDidRenameFiles", "cat >renamed"), &json!({"pattern": "src/**"})),
        with_fields(sh("delete", "onDidDeleteFiles", "true"), &json!({"pattern": "src/**"})),
    ]);
    approve(&place, &["save", "create", "rename", "delete"]);
    place.write("src/a.ts", "1");
    place.write(".gitignore", "*.tmp\n");
    fs::create_dir_all(place.root().join("node_modules")).unwrap();
    let watch = Watch::start(&place, "onDidSaveTextDocument");

    place.write("node_modules/x.ts", "no");
    place.write("src/x.tmp", "no");
    place.write("src/a.ts", "2");
    assert_eq!(watch.next_run(), finished_run("save", "success", "src/a.ts"));
    // As editors do it: a new file that is renamed.
    place.write("src/.a.ts.swp", "3");
    fs::rename(place.root().join("src/.a.ts.swp"), place.root().join("src/a.ts")).unwrap();
    assert_eq!(watch.next_run(), finished_run("save", "success", "src/a.ts"));
    fs::create_dir_all(place.root().join("src/new/deep")).unwrap();
    place.write("src/new/deep/b.ts", "1");
    let mut both = [watch.next_run(), watch.next_run()];
    both.sort();
    assert_eq!(
        both,
        [finished_run("create", "success", "src/new/deep/b.ts"), finished_run("save", "success", "src/new/deep/b.ts")]
    );
    place.write("src/new/deep/b.ts", "2");
    assert_eq!(watch.next_run(), finished_run("save", "success", "src/new/deep/b.ts"));
    fs::rename(place.root().join("src/a.ts"), place.root().join("src/c.ts")).unwrap();
    assert_eq!(watch.next_run(), finished_run("rename", "success", "src/c.ts"));
    let told: Value = serde_json::from_str(&place.read("renamed").unwrap()).unwrap();
    assert_eq!(told["data"], json!({"file": "src/c.ts", "old_file": "src/a.ts"}));
    fs::remove_file(place.root().join("src/c.ts")).unwrap();
    assert_eq!(watch.next_run(), finished_run("delete", "success", "src/c.ts"));
    assert_eq!(watch.end(), Vec::<Value>::new());
}

#[test]
fn commits() {
    let hook = with_fields(sh("commit", "gitCommit", "cat >told"), &json!({"allowGit": true, "repoRoot": "."}));
    let place = Place::new(&[hook]);
    approve(&place, &["commit"]);
    git(&place.root(), &["init", "-q"]);
    let watch = Watch::start(&place, "gitCommit");
    place.write("src/a", "1");
    git(&place.root(), &["add", "src/a"]);
    git(&place.root(), &["commit", "-qm", "The first"]);
    assert_eq!(watch.next_run(), finished_run("commit", "success", ""));
    let told: Value = serde_json::from_str(&place.read("told").unwrap()).unwrap();
    assert_eq!(told["data"]["message"], "The first");
    assert_eq!(told["data"]["commit"].as_str().unwrap().len(), 40);
    git(&place.root(), &["checkout", "-qb", "side"]);
    git(&place.root(), &["commit", "-qm", "The second", "--allow-empty"]);
    assert_eq!(watch.next_run(), finished_run("commit", "success", ""));
    let told: Value = serde_json::from_str(&place.read("told").unwrap()).unwrap();
    assert_eq!((&told["data"]["branch"], &told["data"]["repo_root"]), (&json!("side"), &json!(".")));
    assert_eq!(watch.end(), Vec::<Value>::new());
}

#[test]
fn a_hook_that_changes_the_file_it_is_about_comes_to_an_end() {
    let hook = with_fields(sh("format", "onDidSaveTextDocument", "echo formatted >src/a"), &json!({"pattern": "src/**"}));
    let place = Place::new(&[hook]);
    approve(&place, &["format"]);
    place.write("src/a", "1");
    let watch = Watch::start(&place, "onDidSaveTextDocument");
    place.write("src/a", "2");
    assert_eq!(watch.next_run(), finished_run("format", "success", "src/a"));
    assert_eq!(watch.next_run(), finished_run("format", "success", "src/a"));
    // The second time it wrote the same content, which is not a save. A different file comes next.
    place.write("src/b", "x");
    assert_eq!(watch.next_run(), finished_run("format", "success", "src/b"));
    watch.end();
}

#[test]
fn declarations_that_change_count_at_once() {
    let place = Place::new(&[]);
    let watch = Watch::start(&place, "no hook has a trigger");
    place.declare(&[sh("late", "onDidSaveTextDocument", "true")]);
    watch.wait_for_note("for onDidSaveTextDocument");
    place.write("src/a", "1");
    loop {
        let said = watch.records.recv_timeout(LONG).unwrap();
        if said["type"] == "approval" {
            assert_eq!((&said["hook"], &said["why"]), (&json!("late"), &json!("new")));
            break;
        }
    }
    assert_eq!(watch.next_run(), finished_run("late", "skipped", "src/a"));
    place.declare(&[]);
    watch.wait_for_note("no hook has a trigger");
    watch.end();
}

#[test]
fn what_cannot_be_watched_is_said() {
    let place = Place::new(&[with_fields(sh("commit", "gitCommit", "true"), &json!({"allowGit": true, "repoRoot": "."}))]);
    let watch = Watch::start(&place, "is not a Git repository");
    watch.end();
}

#[test]
fn ctrl_c_waits_and_a_second_one_does_not() {
    let script = "cat >/dev/null; echo $$ >started; while ! test -e go; do sleep 0.05; done; echo done >finished";
    let place = Place::new(&[with_fields(sh("slow", "onDidSaveTextDocument", script), &json!({"pattern": "src/**"}))]);
    approve(&place, &["slow"]);
    let mut watch = Watch::start(&place, "onDidSaveTextDocument");
    place.write("src/a", "1");
    place.wait_for("started");
    watch.interrupt();
    watch.wait_for_note("waiting for running hooks");
    place.write("go", "");
    assert_eq!(watch.child.wait().unwrap().code(), Some(0));
    assert_eq!(place.read("finished").as_deref(), Some("done\n"));

    fs::remove_file(place.root().join("go")).unwrap();
    fs::remove_file(place.root().join("started")).unwrap();
    let mut watch = Watch::start(&place, "onDidSaveTextDocument");
    place.write("src/a", "2");
    let pid = place.wait_for("started");
    watch.interrupt();
    watch.wait_for_note("waiting for running hooks");
    watch.interrupt();
    assert_eq!(watch.child.wait().unwrap().code(), Some(0));
    wait_for_exit(&pid);
}

#[test]
fn a_person_sees_a_line_for_each_run() {
    let place = Place::new(&[sh("lint", "onDidSaveTextDocument", "cat >/dev/null; echo; echo bad line; exit 1")]);
    approve(&place, &["lint"]);
    let mut child = place.tollgate(&["watch"]).spawn().unwrap();
    let notes = lines(child.stderr.take().unwrap());
    while !notes.recv_timeout(LONG).unwrap().contains("for onDidSaveTextDocument") {}
    place.write("src/a", "1");
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    for part in ["failed", "lint", "src/a", " ms", "bad line"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
