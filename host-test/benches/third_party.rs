//! Compares third-party hooks with hooks that are programs, in one run: `cargo xtask bench`.
//!
//! Only calling the hooks is measured. Reading the call and recording the answers costs the same for both kinds.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

#[path = "../tests/built/mod.rs"]
mod built;
mod comparison;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tollgate::components::{Cache, HookRound, Runner, compile_now};

use built::{Language, build, sample, sh, tools};
use comparison::{Times, as_micros, print, single_row};

const TIMES: usize = 2_000;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for name in ["workspace", "home/.tollgate/components"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    let programs = measure_programs();
    single_row("five hooks that are programs (`cat`)", &programs);
    let rust = build_rust_hook(&root).map(|built| component(&root, &built));
    components("third-party/rust", &root, &programs, rust);
    let js = tools(Language::Js).and_then(|()| sample("commit-rules", Language::Js)).map(|built| component(&root, &built));
    components("third-party/js", &root, &programs, js);
}

/// Builds the hook that `tollgate new-hook` creates.
fn build_rust_hook(root: &Path) -> Result<PathBuf, String> {
    sh("tollgate new-hook bench-hook --lang rust", root);
    build(&root.join("bench-hook"), Language::Rust, "bench-hook")
}

/// Stores a component as an approval does, and compiles it. Returns its digest.
fn component(root: &Path, built: &Path) -> String {
    let bytes = fs::read(built).unwrap();
    let hex: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    fs::write(root.join(format!("home/.tollgate/components/{hex}.wasm")), &bytes).unwrap();
    let digest = format!("sha256:{hex}");
    let compiler = Path::new(env!("CARGO_BIN_EXE_tollgate")).with_file_name("tollgate-compiler");
    compile_now(&Cache::new(&root.join("home")), &digest, Some(&compiler), |_| ()).unwrap();
    digest
}

/// Compares five hooks that are components with five that are programs.
fn components(row: &str, root: &Path, programs: &Times, digest: Result<String, String>) {
    let digest = match digest {
        Ok(digest) => digest,
        Err(why) => return eprintln!("{row}: not measured: {}", why.lines().next().unwrap_or_default()),
    };
    let open = || Runner::open(&root.join("workspace"), &root.join("home")).unwrap();
    let round = HookRound::read(&line(&digest)).unwrap();
    let mut runner = open();
    call(&mut runner, &round, 200);
    let called = call(&mut runner, &round, TIMES).median();
    let loaded = load(open, &digest, 50).median();
    let programs = as_micros(programs.median());
    print(row, as_micros(called), programs, "µs");
    print(&format!("{row}/load"), as_micros(loaded), programs, "µs");
}

/// Measures calls of all hooks of a round. No hook may fail or be missing.
fn call(runner: &mut Runner, round: &HookRound, times: usize) -> Times {
    let timed = |_| {
        let start = Instant::now();
        let answers = runner.call(round);
        (start.elapsed(), answers)
    };
    let (taken, answers): (Vec<_>, Vec<_>) = (0..times).map(timed).unzip();
    for answers in answers {
        let answers: Value = serde_json::from_str(&answers.to_line()).unwrap();
        let spoke = |answer: &Value| ["nothing", "objection"].iter().any(|reply| answer["reply"].get(reply).is_some());
        assert!(answers["answers"].as_array().unwrap().iter().all(spoke), "{answers}");
    }
    Times::new(taken)
}

/// Measures loading a component from the cache and linking it, in a new engine each time.
fn load(open: impl Fn() -> Runner, digest: &str, times: usize) -> Times {
    let timed = |_| {
        let mut runner = open();
        let start = Instant::now();
        runner.load(digest).unwrap();
        start.elapsed()
    };
    Times::new((0..times).map(timed).collect())
}

/// A round of five hooks about one call, each with its own instance.
fn line(digest: &str) -> String {
    let call = json!({
        "session": "s", "id": "c", "tool": "bash", "args": json!({"command": "git commit -m 'fix(a): b' && rm src/a.ts"}).to_string(),
        "effects": [{"path": "src/a.ts", "operation": "delete"}, {"path": "src/b.ts", "operation": "read"}], "complete": true,
        "facts": json!({"commands": [{"words": ["git", "commit", "-m", "fix(a): b"], "cwd": "."}, {"words": ["rm", "src/a.ts"], "cwd": "."}]}).to_string(),
    });
    let limits = json!({"cpu_ms": 50, "wall_ms": 250, "start_ms": 400, "memory_bytes": 64 << 20, "lifted_bytes": 1 << 20, "read_bytes": 4 << 20});
    let question = |number: usize| json!({"hook": format!("h{number}"), "component": digest, "files": [], "settings": "{}", "limits": limits});
    json!({"subject": {"pre_tool": call}, "questions": (0..5).map(question).collect::<Vec<Value>>()}).to_string()
}

/// Measures five programs that read the call and answer nothing, run one after the other.
fn measure_programs() -> Times {
    let call = line("none");
    let taken = (0..50)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..5 {
                let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
                std::io::Write::write_all(&mut child.stdin.take().unwrap(), call.as_bytes()).unwrap();
                child.wait().unwrap();
            }
            start.elapsed()
        })
        .collect();
    Times::new(taken)
}
