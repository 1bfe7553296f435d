//! False alarms: in almost every case, what developers type all day runs without a question.

#[path = "../../fixtures/ordinary.rs"]
mod ordinary;

use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::{Value, json};
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::Memory;

/// How many out of a hundred commands may be asked about or denied.
const MAX_PER_CENT: usize = 5;
/// The same if the kernel confines commands, for those without a good reason.
const MAX_PER_CENT_CONFINED: usize = 1;
/// With fewer commands, the test would say little.
const MIN_COMMANDS: usize = 350;

const INTENTS: &str = "active_intents:\n  - id: INT-001\n    name: Login hardening\n    status: IN_PROGRESS\n    \
                       owned_scope: [src/auth/**, docs/auth.md]\n";

const FILES: &[&str] = &[
    "src/auth/login.ts",
    "src/auth/session.ts",
    "src/auth/limit.ts",
    "src/auth/a.ts",
    "src/auth/a.json",
    "src/auth/a.js",
    "src/auth/list.txt",
    "src/auth/check.sh",
    "src/auth/sub/x.ts",
    "src/auth/m.c",
    "src/billing/pay.ts",
    "tests/billing/pay.ts",
    "docs/auth.md",
    "README.md",
    ".env",
    ".gitignore",
    "package.json",
    "gradlew",
    ".git/HEAD",
    ".git/config",
    ".git/hooks/pre-commit.sample",
    "/tmp/out.txt",
];

fn world() -> Rc<Memory> {
    let world = Memory::new();
    world.write(".orchestration/active_intents.yaml", INTENTS);
    FILES.iter().for_each(|path| world.write(path, "one\n"));
    world
}

/// The commands that are asked about or denied, each with its ruling. `confinable` says whether the kernel can confine commands.
fn alarms(commands: &[String], confinable: bool) -> Vec<(&str, String)> {
    let alarm = |command: &str| {
        let mut gate = Gate::new(world().ports());
        let selected = perform(&mut gate, br#"{"op":"select-intent","session":"s","intent":"INT-001"}"#);
        assert!(selected.contains("INT-001"), "{selected}");
        let call = json!({"op": "pre-tool", "session": "s", "call": "c", "tool": "bash", "args": {"command": command}, "confinable": confinable});
        let answer: Value = serde_json::from_str(&perform(&mut gate, call.to_string().as_bytes())).unwrap();
        let text = |name: &str| answer[name].as_str().unwrap().to_owned();
        (text("verdict") != "allow").then(|| format!("{} {}: {}", text("verdict"), text("code"), text("reason")))
    };
    commands.iter().filter_map(|command| Some((command.as_str(), alarm(command)?))).collect()
}

fn commands() -> Vec<String> {
    let commands = ordinary::commands(include_str!("../../fixtures/ordinary_commands.txt"));
    let different: BTreeSet<&String> = commands.iter().collect();
    assert!(different.len() == commands.len() && commands.len() >= MIN_COMMANDS, "{} commands", commands.len());
    commands
}

#[test]
fn ordinary_commands_run_without_a_question() {
    let commands = commands();
    let alarms = alarms(&commands, false);
    println!("{} of {} ordinary commands are asked about or denied:", alarms.len(), commands.len());
    alarms.iter().for_each(|(command, ruling)| println!("{command}\n    {ruling}"));
    assert!(alarms.len() * 100 <= commands.len() * MAX_PER_CENT, "{} of {} are false alarms", alarms.len(), commands.len());
}

/// Commands that are asked about or denied although the kernel confines them, each with a good reason. With such a reason it is
/// not a false alarm: the command really does something that its intent does not own, or has it done where the kernel does not
/// confine.
const WITH_REASON: &[(&str, &str)] = &[
    ("./gradlew test", BUILD_DAEMON),
    ("gradle test", BUILD_DAEMON),
    ("dotnet build", BUILD_DAEMON),
    ("dotnet test --no-build", BUILD_DAEMON),
    ("git checkout main", ANY_FILE),
    ("git switch main", ANY_FILE),
    ("git stash", ANY_FILE),
    ("git stash pop", ANY_FILE),
    ("git pull --rebase", ANY_FILE),
    ("git merge main", ANY_FILE),
    ("git rebase main", ANY_FILE),
    ("git cherry-pick abc1234", ANY_FILE),
    ("git checkout feature/login-lock", ANY_FILE),
    ("git checkout -b fix/audit origin/main", ANY_FILE),
    ("git switch -", ANY_FILE),
    ("docker compose up -d", CONTAINER),
    ("docker compose down", CONTAINER),
    ("docker build -t auth:dev .", CONTAINER),
    ("docker exec api ls /app", CONTAINER),
    ("docker-compose up -d db", CONTAINER),
    ("docker run --rm \\\n  -p 5432:5432 \\\n  -e POSTGRES_PASSWORD=dev \\\n  postgres:16", CONTAINER),
    ("rm -rf /tmp/scratch", "it stands in a folder that everybody shares, and the session has not made it"),
];

const BUILD_DAEMON: &str =
    "a daemon that runs already does the work, and the kernel does not hold it; the message names the option without one";
const ANY_FILE: &str = "it changes files that the intent does not own, and would stop half-way at the first of them";
const CONTAINER: &str = "a container engine does the work, and the kernel does not hold it";

#[test]
fn confined_ordinary_commands_run_without_a_question() {
    let commands = commands();
    let alarms = alarms(&commands, true);
    println!("{} of {} ordinary commands are asked about or denied, confined:", alarms.len(), commands.len());
    alarms.iter().for_each(|(command, ruling)| println!("{command}\n    {ruling}"));
    for (command, reason) in WITH_REASON {
        assert!(
            alarms.iter().any(|(alarm, _)| alarm == command),
            "`{command}` is no alarm any more ({reason}); take it off the list"
        );
    }
    let listed = |command: &str| WITH_REASON.iter().any(|(listed, _)| *listed == command);
    let without: Vec<_> = alarms.iter().filter(|(command, _)| !listed(command)).collect();
    assert!(without.len() * 100 <= commands.len() * MAX_PER_CENT_CONFINED, "{without:#?}");
}
