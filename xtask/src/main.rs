//! The project's own commands. `cargo xtask` lists them.

mod build;
mod check;
mod demo;
mod house;
mod npm;
mod test;

use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
cargo xtask build   target/release/tollgate, target/tollgate.wasm and npm-wrapper/dist/
cargo xtask demo    build, then show calls allowed, blocked, traced and augmented
cargo xtask test    check, then every test there is, natively, in wasmtime, in Node 20, 22 and 24 and in Bun
cargo xtask bench   how long rulings take, natively and in wasmtime, in one run
cargo xtask check   format, lints, docs, types, contract, imports and size
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
        ["bench"] => house::run(&mut house::cargo(&[
            "bench",
            "--locked",
            "--package",
            "tollgate",
            "--features",
            "native",
            "--bench",
            "effects",
            "--bench",
            "governance",
        ])),
        ["check"] => check::check(),
        [] | ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        other => bail!("`{}` is no command of this project; it has:\n{HELP}", other.join(" ")),
    }
}
