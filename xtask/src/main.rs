//! The project's own commands. `cargo xtask` lists them.

mod bench;
mod build;
mod check;
mod compose;
mod demo;
mod docs;
mod e2e;
mod fuzz;
mod guard;
mod jobs;
mod module_order;
mod npm;
mod repository;
mod skips;
mod test;
mod test_files;

use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
cargo xtask build   target/release/tollgate and tollgate-compiler, target/tollgate.wasm and npm-wrapper/dist/
cargo xtask demo    build the npm package, then show calls allowed, blocked, traced and augmented
cargo xtask test    check, then all tests: natively, in wasmtime, in Node 20, 22 and 24, in Bun, and in real agent programs
cargo xtask fuzz    attack the gate with 20,000 generated commands, run for real in a namespace; --seed N, --count N
cargo xtask bench   how long operations take, as ratios to baselines in one run, with budgets; also in target/bench.json
cargo xtask guard   instructions, system calls and calls to the host in hot paths, compared with xtask/guard.json; --renew updates it
cargo xtask e2e     sessions in real agent programs, using the current build: opencode, claude-code, codex, gemini, copilot, vscode
cargo xtask compose target/tollgate-wasi.wasm: the whole gate for hosts that offer plain WASI, from the current build
cargo xtask check   format, links, order of modules, licences, contract, lints, docs, fuzz targets, types, imports and size
";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("xtask: {fault:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["build"] => build::build(),
        ["demo"] => demo::demo(),
        ["test"] => test::test(),
        ["fuzz", words @ ..] => fuzz::fuzz(words),
        ["bench"] => bench::bench(),
        ["guard"] => guard::guard(false),
        ["guard", "--renew"] => guard::guard(true),
        ["check"] => check::check(),
        ["compose"] => compose::compose(),
        ["compose", "test"] => compose::test(),
        ["e2e", names @ ..] => e2e::test(names),
        [] | ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        other => bail!("`{}` is not a command of this project; commands are:\n{HELP}", other.join(" ")),
    }
}
