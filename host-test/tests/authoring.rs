//! Runs the commands of `docs/first-hook.md` exactly as written, from creating a hook to a denied call.

#![cfg(target_os = "linux")]

use std::fs;

use crate::built::{output_text, repository, sh, target};
use crate::terminal::PersonCommand;

/// The blocks of a page: language and text.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    page.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n')).collect()
}

#[test]
fn the_page_leads_to_a_denial() {
    let page = fs::read_to_string(repository().join("docs/first-hook.md")).unwrap();
    let temp = tempfile::tempdir().unwrap();
    let home = temp.path().join("home");
    fs::create_dir(&home).unwrap();
    // All hooks are built in one target folder, so that is where the built file is.
    let built = format!("{}/wasm32-wasip2", target().display());
    let cargo_home = std::env::var("CARGO_HOME").unwrap_or_else(|_| format!("{}/.cargo", std::env::var("HOME").unwrap()));
    let rustup_home = std::env::var("RUSTUP_HOME").unwrap_or_else(|_| format!("{}/.rustup", std::env::var("HOME").unwrap()));
    let mut folder = temp.path().to_owned();
    let (mut told, mut count) = (Vec::new(), 0);
    for (language, text) in blocks(&page) {
        match language {
            "sh" => {
                let lines = text.replace("target/wasm32-wasip2", &built);
                let script = format!(
                    "export HOME={home} XDG_STATE_HOME={home}/state CARGO_HOME={cargo_home} RUSTUP_HOME={rustup_home}\n{lines}\npwd > {home}/folder",
                    home = home.display()
                );
                let output = sh(&script, &folder);
                assert!(output.status.success(), "{text}\n{}", output_text(&output));
                folder = fs::read_to_string(home.join("folder")).unwrap().trim().into();
                told.push(output_text(&output));
                count += lines.lines().count();
            }
            "terminal" => {
                let words: Vec<&str> = text.split_whitespace().skip(1).collect();
                let command = PersonCommand::new(&folder, &words)
                    .with_variable("HOME", &home)
                    .with_variable("XDG_STATE_HOME", home.join("state"));
                let (code, out, err) = command.at_terminal();
                assert_eq!(code, 0, "{out}{err}");
                assert!(out.contains("called for   pre-tool") && out.contains("reads no files"), "{out}");
                count += 1;
            }
            _ => {}
        }
    }
    assert!(count >= 12, "the page has commands: {count}");
    let tested = &told[1];
    assert!(tested.contains("exports   pre-tool") && tested.contains("ok") && !tested.contains("FAILED"), "{tested}");
    let denied = &told[3];
    assert!(
        denied.contains(r#""permissionDecision":"deny""#) && denied.contains("hook no-vendor: `vendor/lib.js` is protected"),
        "{denied}"
    );
    // The answer is the one that the page shows.
    let shown = blocks(&page).into_iter().find(|(language, _)| *language == "json").unwrap().1.trim();
    assert_eq!(denied.trim(), shown);
    assert!(told[4].contains("no-vendor"), "{}", told[4]);
}
