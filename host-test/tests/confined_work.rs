//! Ordinary work restricted by the kernel, and what may go wrong with the restrictions.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;

use crate::confined::{World, can_confine, differences, has_program, output_result};
use serde_json::{Value, json};

/// Runs a command that must succeed.
fn run_successfully(world: &World, command: &str) -> String {
    let (success, said) = world.run(command);
    assert!(success, "{command}\n{said}");
    said
}

#[test]
fn files_in_scope() {
    let Some(world) = World::if_confinable("'src/auth/**', docs/auth.md") else { return };
    run_successfully(
        &world,
        "echo x > src/auth/new.ts && mkdir -p src/auth/a/b && mv src/auth/new.ts src/auth/a/b/ && cp -r src/auth/a src/auth/c && rm -rf src/auth/a",
    );
    run_successfully(
        &world,
        "ln src/auth/login.ts src/auth/second && ln -s login.ts src/auth/third && rm src/auth/second src/auth/third",
    );
    // A file is rewritten through a new file next to it, so its folder is writable.
    run_successfully(&world, "sed -i s/auth/login/ docs/auth.md && perl -i -pe 's/login/LOGIN/' docs/auth.md");
    assert_eq!(world.read("ws/docs/auth.md"), "LOGIN\n");
    // There is a separate folder for temporary files.
    run_successfully(&world, "f=$(mktemp) && echo x > \"$f\" && d=$(mktemp -d) && cp \"$f\" \"$d/\" && test \"$TMPDIR\" != \"\"");
    run_successfully(&world, "cat <<E | sort -u > src/auth/sorted\nb\na\nE");
    run_successfully(
        &world,
        "npm_config_x=1 true > /dev/null 2> /dev/stderr; echo x | tee /dev/stderr > /dev/null; : > /dev/null",
    );
    // Reading is allowed everywhere.
    run_successfully(&world, "cat README.md .git/config ../outside/file.txt /etc/passwd > /dev/null && ls / > /dev/null");
}

#[test]
fn git() {
    let Some(world) = World::if_confinable("'src/auth/**'") else { return };
    run_successfully(&world, "git status --short && git log --oneline && git diff && git show HEAD --stat");
    run_successfully(&world, "echo x > src/auth/new.ts");
    run_successfully(&world, "git add src/auth && git commit -qm 'second commit'");
    run_successfully(&world, "git checkout -q -b third && echo y > src/auth/new.ts && git commit -qam third && git tag v1");
    run_successfully(&world, "git stash list; git branch -a; git reset -q --soft HEAD~1; git commit -qm again");
    assert_eq!(output_result(world.plain("git", &["log", "--format=%s", "-2"]).output().unwrap()).1, "again\nsecond commit\n");
    assert!(output_result(world.plain("git", &["fsck"]).output().unwrap()).0);
    // Together with another program, git cannot write to its folder.
    let (success, text) =
        world.run("make --version > /dev/null; make -s -f /dev/null 2>/dev/null; echo z >> src/auth/new.ts; git commit -qam x");
    assert!(!success && text.contains("index.lock"), "{text}");
}

#[test]
fn a_work_tree_elsewhere() {
    let Some(world) = World::if_confinable("'src/auth/**'") else { return };
    // The workspace becomes a work tree of a repository next to it.
    let repository = world.top.join("outside/repository");
    let run =
        |words: &[&str]| assert!(world.plain("git", words).current_dir(&world.top).status().unwrap().success(), "{words:?}");
    run(&["clone", "-q", "ws", repository.to_str().unwrap()]);
    fs::remove_dir_all(world.ws().join(".git")).unwrap();
    run(&["-C", repository.to_str().unwrap(), "worktree", "add", "-q", "--no-checkout", "-b", "tree", "../tree"]);
    fs::rename(world.top.join("outside/tree/.git"), world.ws().join(".git")).unwrap();
    run(&["-C", repository.to_str().unwrap(), "worktree", "repair", world.ws().to_str().unwrap()]);
    run_successfully(
        &world,
        "echo x > src/auth/new.ts; make -s -f /dev/null 2>/dev/null; git add src/auth/new.ts && git commit -qm tree",
    );
    let (success, _) = world.run("git config user.name evil; git add .");
    assert!(success);
    let (_, config) = output_result(world.plain("git", &["config", "--get", "user.name"]).output().unwrap());
    assert_eq!(config, "T\n");
}

#[test]
fn build_tools() {
    let Some(world) = World::if_confinable("'src/**', Cargo.lock") else { return };
    world.write("ws/Cargo.toml", "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n");
    world.write("ws/Cargo.lock", "version = 4\n\n[[package]]\nname = \"tiny\"\nversion = \"0.1.0\"\n");
    world.write("ws/src/main.rs", "fn main() { println!(\"{}\", 1 + 1); }\n#[test]\nfn adds() { assert_eq!(1 + 1, 2); }\n");
    // Cargo and its toolchain stay in the user's folders; only the home folder is another one.
    let cargo = std::env::var("CARGO_HOME").unwrap_or_else(|_| format!("{}/.cargo", std::env::var("HOME").unwrap()));
    let rustup = std::env::var("RUSTUP_HOME").unwrap_or_else(|_| format!("{}/.rustup", std::env::var("HOME").unwrap()));
    let mut command = world.confined("cargo build --offline -q && cargo test --offline -q && cargo run --offline -q");
    command.env("CARGO_HOME", cargo).env("RUSTUP_HOME", rustup).env_remove("CARGO_TARGET_DIR").env_remove("RUSTFLAGS");
    let (success, text) = output_result(command.output().unwrap());
    assert!(success && text.contains("2\n"), "{text}");
    if has_program("npm") {
        let world = World::new("'src/**', package.json, package-lock.json");
        world.write("ws/src/lib/package.json", r#"{"name": "lib", "version": "1.0.0"}"#);
        world.write("ws/src/lib/index.js", "module.exports = 2;");
        world.write("ws/package.json", r#"{"name": "tiny", "version": "1.0.0", "dependencies": {"lib": "file:src/lib"}, "scripts": {"test": "node -e \"if (require('lib') !== 2) process.exit(1)\""}}"#);
        world.write(
            "ws/package-lock.json",
            r#"{"name": "tiny", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {"": {"name": "tiny", "version": "1.0.0", "dependencies": {"lib": "file:src/lib"}}, "node_modules/lib": {"resolved": "src/lib", "link": true}, "src/lib": {"version": "1.0.0"}}}"#,
        );
        run_successfully(&world, "npm ci --offline --no-audit --no-fund && npm test");
        assert!(world.ws().join("node_modules/lib").exists());
    }
    if has_program("python3") {
        let world = World::new("'src/**'");
        world.write("ws/src/test_x.py", "import multiprocessing, tempfile, unittest\nclass T(unittest.TestCase):\n    def test_x(self):\n        tempfile.mkdtemp(); multiprocessing.Lock()\n        self.assertEqual(1 + 1, 2)\n");
        run_successfully(&world, "cd src && python3 -m unittest -q test_x");
    }
    if has_program("make") && has_program("cc") {
        let world = World::new("'src/**'");
        world.write("ws/src/x.c", "int main(void) { return 0; }\n");
        world.write("ws/src/Makefile", "x: x.c\n\tcc -o x x.c\n");
        run_successfully(&world, "make -s -C src && src/x");
    }
}

/// A server on loopback that a client outside can reach, and that ends when it is told to.
#[test]
fn a_server() {
    if !can_confine() || !has_program("python3") {
        return;
    }
    let world = World::new("'src/**'");
    let script = "import socket\ns=socket.create_server(('127.0.0.1',0))\nprint(s.getsockname()[1],flush=True)\nc,_=s.accept()\nc.sendall(b'hello')\nc.close()";
    let mut child = world.confined_words(&[], &["python3", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut port = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut port).unwrap();
    let mut said = String::new();
    std::net::TcpStream::connect(("127.0.0.1", port.trim().parse().unwrap())).unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "hello");
    assert!(child.wait().unwrap().success());
    // Without network access, neither listening nor connecting works.
    world.write("ws/.tollgate/config.json", r#"{"confine": {"network": false}}"#);
    let (success, text) = run_words(&world, &["python3", "-c", script]);
    assert!(!success && text.contains("PermissionError"), "{text}");
    let client = "import socket\nsocket.create_connection(('127.0.0.1',9),timeout=5)";
    let (success, text) = run_words(&world, &["python3", "-c", client]);
    assert!(!success && text.contains("PermissionError"), "{text}");
}

fn run_words(world: &World, words: &[&str]) -> (bool, String) {
    output_result(world.confined_words(&[], words).output().unwrap())
}

/// The command replaces the process: exit code, signals, streams and arguments are its own.
#[test]
fn nothing_stands_between() {
    let Some(world) = World::if_confinable("'src/**'") else { return };
    let output = world.confined("exit 7").output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    let output = world.confined("kill -TERM $$").output().unwrap();
    assert_eq!(output.status.signal(), Some(15));
    let mut child = world
        .confined_words(&[], &["sh", "-c", "echo $$; exec cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let id = child.id();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"in\n").unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{id}\nin\n"), "another process runs the command");
    let (_, text) = run_words(&world, &["printf", "%s|", "a b", "", "*", "--session"]);
    assert_eq!(text, "a b||*|--session|");
    assert_eq!(world.confined_words(&[], &["/nowhere/x"]).output().unwrap().status.code(), Some(127));
    assert_eq!(world.confined_words(&[], &["/etc/passwd"]).output().unwrap().status.code(), Some(126));
}

#[test]
fn faults() {
    // A scope that does not exist yet: its folder is created, and nothing else.
    let Some(world) = World::if_confinable("'src/new/deep/**', 'gen/x.txt'") else { return };
    // The first command creates the gate's own files.
    run_successfully(&world, "true");
    let before = world.snapshot_elsewhere(&["ws/src/new", "ws/gen"]);
    run_successfully(&world, "make -s -f /dev/null 2>/dev/null; echo x > src/new/deep/x && echo x > gen/x.txt");
    let (success, _) = world.run("make -s -f /dev/null 2>/dev/null; echo x > src/new/y");
    assert!(!success);
    assert_eq!(differences(&before, &world.snapshot_elsewhere(&["ws/src/new", "ws/gen"])), [] as [String; 0]);

    // A scope that is a link is judged by its target.
    let world = World::new("'linked/**'");
    symlink("../outside", world.ws().join("linked")).unwrap();
    run_successfully(&world, "true");
    let before = world.snapshot_elsewhere(&[]);
    assert!(!world.run("echo x > linked/file.txt").0);
    assert_eq!(differences(&before, &world.snapshot_elsewhere(&[])), [] as [String; 0]);

    // Very many rules.
    let patterns: Vec<String> = (0..400).map(|n| format!("'many/d{n}/**'")).collect();
    let world = World::new(&patterns.join(", "));
    run_successfully(&world, "make -s -f /dev/null 2>/dev/null; echo x > many/d0/x && echo x > many/d399/x");
    assert!(!world.run("echo x > many/x").0);

    // Confined within a confined command: each level only restricts further, and the kernel allows sixteen.
    let world = World::new("'src/auth/**'");
    let (tollgate, home) = (env!("CARGO_BIN_EXE_tollgate"), world.home());
    let mut words: Vec<String> = vec!["sh".into(), "-c".into(), "echo deep > src/auth/deep".into()];
    for _ in 0..14 {
        let outer = [tollgate, "confine", "--session", "s", "--home", home.to_str().unwrap(), "--"].map(str::to_owned);
        words = outer.into_iter().chain(words).collect();
    }
    let inner: Vec<&str> = words.iter().map(String::as_str).collect();
    let (success, text) = run_words(&world, &inner);
    assert!(success, "{text}");
    assert_eq!(world.read("ws/src/auth/deep"), "deep\n");
    let mut deeper = inner.clone();
    for _ in 0..3 {
        deeper =
            [tollgate, "confine", "--session", "s", "--home", home.to_str().unwrap(), "--"].into_iter().chain(deeper).collect();
    }
    let output = world.confined_words(&[], &deeper).output().unwrap();
    assert_eq!(output.status.code(), Some(126), "{output:?}");

    // Another file system.
    if fs::metadata("/dev/shm").is_ok() {
        let other = tempfile::Builder::new().prefix("confined-").tempdir_in("/dev/shm").unwrap();
        let root = other.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".orchestration")).unwrap();
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(
            root.join(".orchestration/active_intents.yaml"),
            "[{id: I, name: N, status: IN_PROGRESS, owned_scope: ['src/**']}]",
        )
        .unwrap();
        let mut gate = tollgate::Tollgate::builder().workspace(&root).home(world.home()).open().unwrap();
        gate.select_intent("s", "I").unwrap();
        let run = |command: &str| output_result(world.confined(command).current_dir(&root).output().unwrap());
        assert!(run("echo x > src/x").0);
        // It contains shared memory and is read-only for that reason.
        assert!(!run("echo x > x").0 && !run("echo x > .orchestration/x").0, "{:?}", run("ls -la"));
    }
}

/// A folder of another user with the name of the session's temporary folder is not used.
#[test]
fn a_temporary_folder_that_is_not_ours() {
    let Some(world) = World::if_confinable("'src/**'") else { return };
    let answer = dry_run(&world, &["ls"]);
    let folder = answer["env"]["TMPDIR"].as_str().unwrap();
    let _ = fs::remove_dir_all(folder);
    fs::create_dir(folder).unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
    let (success, text) = world.run(&format!("echo \"[$TMPDIR]\"; echo x > {folder}/x"));
    assert!(!success && text.starts_with("[]\n"), "{text}");
    fs::remove_dir(folder).unwrap();
}

fn dry_run(world: &World, words: &[&str]) -> Value {
    let output = world.confined_words(&["--dry-run"], words).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A call from start to end: checked, run, recorded, and changes next to the scope restored.
#[test]
fn siblings_are_put_back() {
    let Some(world) = World::if_confinable("docs/auth.md") else { return };
    let ask = |command: &str, more: Value| {
        let mut line = json!({"session": "s", "call": "c", "tool": "bash", "args": {"command": command}});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        world.ask(&line)
    };
    let command =
        "make -s -f /dev/null 2>/dev/null; echo new > docs/auth.md; echo stray > docs/other.md; echo stray > docs/new.md";
    let ruling = ask(command, json!({"op": "pre-tool", "confinable": true}));
    // A visible path is refused; the same path in a program cannot be seen.
    assert_eq!(ruling["verdict"], "deny", "{ruling}");
    let command = "make -s -f stray.mk";
    world.write(
        "ws/stray.mk",
        "all:\n\techo new > docs/auth.md; echo stray > docs/other.md; echo stray > docs/new.md; echo stray > README.md || true\n",
    );
    let ruling = ask(command, json!({"op": "pre-tool", "confinable": true}));
    assert_eq!((ruling["code"].as_str(), ruling["confined"].as_bool()), (Some("confined"), Some(true)), "{ruling}");
    let (_, text) = output_result(world.confined_words(&["--call", "c"], &["bash", "-c", command]).output().unwrap());
    let settled = ask(command, json!({"op": "post-tool", "success": true, "output": text}));
    assert!(settled["notice"].as_str().unwrap().contains("were restored"), "{settled}");
    assert!(settled["notice"].as_str().unwrap().contains("ran confined to the scope"), "{settled}");
    for id in settled["restore"].as_array().unwrap() {
        let (ws, home) = (world.ws(), world.home());
        let words = [
            "trace",
            "revert",
            "--restoring",
            id.as_str().unwrap(),
            "--workspace",
            ws.to_str().unwrap(),
            "--home",
            home.to_str().unwrap(),
        ];
        let (success, text) = output_result(world.plain(env!("CARGO_BIN_EXE_tollgate"), &words).output().unwrap());
        assert!(success, "{text}");
    }
    assert_eq!(world.read("ws/docs/auth.md"), "new\n");
    assert_eq!(world.read("ws/docs/other.md"), "other\n");
    assert_eq!(world.read("ws/README.md"), "# Readme\n");
    assert!(!world.ws().join("docs/new.md").exists());
}

/// `confine` uses what the gate stored with its ruling, and removes it afterwards.
#[test]
fn a_ruling_is_not_asked_for_twice() {
    let Some(world) = World::if_confinable("'src/auth/**'") else { return };
    let call = |op: &str| json!({"op": op, "session": "s", "call": "c", "tool": "bash", "args": {"command": "make x"}, "confinable": true, "success": true});
    world.ask(&call("pre-tool"));
    let kept = tollgate::state_folder(&world.ws(), Some(&world.home()), None).unwrap().join("confined");
    let record = || {
        fs::read_dir(&kept)
            .map(|entries| entries.filter_map(Result::ok).map(|entry| entry.path()).collect::<Vec<_>>())
            .unwrap_or_default()
    };
    let [path] = record().try_into().unwrap();
    // Shows which record was used.
    let text = fs::read_to_string(&path).unwrap().replace("/dev/zero", "/dev/nothing");
    fs::write(&path, &text).unwrap();
    output_result(world.confined_words(&["--call", "c"], &["bash", "-c", "make x"]).output().unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), text, "the gate was asked again");
    assert_eq!(record().len(), 2, "nothing tells that it ran");
    // A different command for the same call requires a new request.
    output_result(world.confined_words(&["--call", "c"], &["bash", "-c", "make y"]).output().unwrap());
    assert_ne!(fs::read_to_string(&path).unwrap(), text);
    world.ask(&call("post-tool"));
    assert_eq!(record(), [] as [std::path::PathBuf; 0]);
}

#[test]
fn where_nothing_governs() {
    let world = World::new("'src/**'");
    let output = world.confined("true").current_dir("/").output().unwrap();
    let (success, text) = output_result(output);
    assert!(!success && text.contains("--workspace"), "{text}");
    fs::remove_dir_all(world.ws().join(".orchestration")).unwrap();
    let ws = world.ws();
    let (success, text) = output_result(
        world.confined_words(&["--workspace", ws.to_str().unwrap()], &["sh", "-c", "echo x > README.md"]).output().unwrap(),
    );
    assert!(success, "{text}");
}
