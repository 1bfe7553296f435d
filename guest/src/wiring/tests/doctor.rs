//! What `tollgate doctor` finds.

use serde_json::json;

use super::{DENIED, Machine, denied};
use crate::programs::PROGRAMS;
use crate::programs::trust::{hook_hash, hook_key};

/// Trusts everything that Codex and the forks of Gemini CLI ask about.
fn trusted(machine: Machine) -> Machine {
    let folders = json!({"/w": "TRUST_FOLDER"}).to_string();
    let mut machine = machine.with("/h/.gemini/trustedFolders.json", &folders);
    if machine.files.contains_key("/h/.codex/hooks.json") {
        let hooks = machine.json("/h/.codex/hooks.json");
        let hash = hook_hash("PreToolUse", &hooks["hooks"]["PreToolUse"][0], 0).unwrap();
        let key = hook_key("/h/.codex/hooks.json", "PreToolUse", 0, 0);
        machine = machine.with("/h/.codex/config.toml", &format!("[hooks.state.\"{key}\"]\ntrusted_hash = \"{hash}\"\n"));
    }
    machine
}

#[test]
fn what_is_wired_and_trusted_is_live() {
    for program in PROGRAMS.iter().filter(|program| program.wiring.is_some()) {
        let outcome = if program.name() == "opencode" { json!({"stdout": "denied\n", "code": 0}) } else { denied() };
        for scope in ["workspace", "user"] {
            let mut machine = Machine::new();
            machine.init(json!({"programs": [program.name()], "scope": scope}));
            let found = trusted(machine).doctor(program.name(), outcome.clone());
            assert_eq!(
                (&found["state"], &found["tools"], &found["remarks"]),
                (&json!("live"), &json!("every tool"), &json!([])),
                "{found}"
            );
        }
    }
}

#[test]
fn not_trusted_is_not_live() {
    let wired = |host: &str| {
        let mut machine = Machine::new();
        machine.init(json!({"programs": [host]}));
        machine
    };
    let codex = trusted(wired("codex"));
    let config = codex.text("/h/.codex/config.toml").to_owned();
    let hooks = codex.text("/h/.codex/hooks.json").replacen("30", "31", 1);
    let asks = r#"{"security": {"folderTrust": {"enabled": true}}}"#;
    for (host, machine, said) in [
        ("codex", wired("codex"), "until you trust it: open `/hooks` in Codex"),
        ("codex", codex.clone().with("/h/.codex/config.toml", &format!("{config}enabled = false\n")), "it is switched off"),
        ("codex", codex.clone().with("/h/.codex/hooks.json", &hooks), "it has changed since you trusted it"),
        ("gemini", wired("gemini"), "until you trust the folder"),
        (
            "gemini",
            wired("gemini").with("/h/.gemini/trustedFolders.json", "{\"/w\": \"DO_NOT_TRUST\"}"),
            "told not to trust the folder",
        ),
        ("qwen", wired("qwen").with("/h/.qwen/settings.json", asks), "until you trust the folder"),
        ("copilot", wired("copilot").with("/h/.copilot/config.json", "{}"), "until you trust the folder: trust it when"),
        (
            "copilot",
            wired("copilot").with("/h/.copilot/config.json", "// mine\n{\"trustedFolders\": [\"/w/sub\"]}"),
            "does not run the hooks of `/w`",
        ),
    ] {
        let found = machine.doctor(host, denied());
        assert_eq!(found["state"], "installed, but silent", "{found}");
        assert!(found["remarks"].to_string().contains(said), "{found}");
    }
    let asks_nobody = r#"{"security": {"folderTrust": {"enabled": false}}}"#;
    assert_eq!(wired("gemini").with("/h/.gemini/settings.json", asks_nobody).doctor("gemini", denied())["state"], "live");
    assert_eq!(wired("qwen").doctor("qwen", denied())["state"], "live");
    let listed = wired("copilot").with("/h/.copilot/config.json", "// mine\n{\"trustedFolders\": [\"/w\"]}");
    assert_eq!(listed.doctor("copilot", denied())["state"], "live");
    // In an editor, the editor asks about trust.
    assert_eq!(wired("copilot").doctor("copilot", denied())["state"], "live");
}

#[test]
fn a_sub_folder_is_judged_from_there() {
    let wired = |host: &str, scope: &str| {
        let mut machine = Machine::new();
        machine.init(json!({"programs": [host], "scope": scope}));
        trusted(machine).started_in("/w/sub")
    };
    for host in ["claude-code", "gemini", "qwen"] {
        let found = wired(host, "workspace").doctor(host, denied());
        assert_eq!(found["state"], "installed, but silent", "{found}");
        assert_eq!(found["remarks"].as_array().unwrap().len(), 1, "{found}");
        assert!(found["remarks"][0].as_str().unwrap().contains("not in `/w/sub`"), "{found}");
        assert!(found["remarks"][0].as_str().unwrap().contains(&format!("--host {host} --scope user")), "{found}");
        assert_eq!(wired(host, "user").doctor(host, denied())["state"], "live", "{host}");
    }
    assert_eq!(wired("cursor", "workspace").doctor("cursor", denied())["state"], "live");
}

#[test]
fn a_hook_that_works_in_part_is_told() {
    let wired = |from: &str, to: &str| {
        let mut machine = Machine::new();
        machine.init(json!({"programs": ["claude-code"]}));
        let text = machine.text("/w/.claude/settings.json").to_owned();
        assert!(text.contains(from), "{text}");
        machine.with("/w/.claude/settings.json", &text.replace(from, to)).doctor("claude-code", denied())
    };
    for (from, to, state, said) in [
        ("\"*\"", "\"Write|Edit\"", "partly live", "omits tools"),
        ("\"PostToolUse\"", "\"Other\"", "partly live", "PostToolUse, so the ledger stays incomplete"),
        (
            "{\n  \"hooks\"",
            "{\n  \"disableAllHooks\": true, // off\n  \"hooks\"",
            "installed, but silent",
            "`disableAllHooks` is true",
        ),
        ("{\n  \"hooks\"", "{\n  \"hooks\" oops", "installed, but silent", "cannot be read: it is not valid JSON"),
    ] {
        let found = wired(from, to);
        assert_eq!(found["state"], state, "{found}");
        assert!(found["remarks"].to_string().contains(said), "{found}");
    }
}

#[test]
fn an_answer_is_judged_by_its_reason() {
    let mut machine = Machine::new();
    machine.init(json!({"programs": ["claude-code"]}));
    for (outcome, state, said) in [
        (json!({"code": 127, "stderr": "sh: 1: tollgate: not found\n"}), "installed, but silent", "its program is missing"),
        (
            json!({"code": 1, "stderr": "Error: no disk\n    at x\n\nNode.js v24\n"}),
            "installed, but silent",
            "exit status: 1: Error: no disk",
        ),
        (json!({"code": null}), "installed, but silent", "terminated by a signal"),
        (json!({"code": 0}), "installed, but silent", "was let through"),
        (json!({"code": 0, "stdout": "{}"}), "installed, but silent", "is not a denial: {}"),
        (
            json!({"code": 0, "stdout": DENIED.replace("}, \"d", ", \"r\": \"(gate_fault)\"}, \"d")}),
            "installed, but silent",
            "the gate behind it fails",
        ),
        (json!({"fault": "it did not answer within 10 seconds"}), "installed, but silent", "within 10 seconds"),
    ] {
        let found = machine.doctor("claude-code", outcome);
        assert_eq!(found["state"], state, "{found}");
        assert!(found["remarks"].to_string().contains(said), "{found}");
    }
}

#[test]
fn every_way_to_load_a_plugin_is_known_and_kept() {
    let import = "export { default } from 'tollgate/opencode';\n";
    for (path, text, tried) in [
        ("/w/.opencode/plugin/tollgate.js", import, "/w/.opencode/plugin/tollgate.js"),
        ("/w/.opencode/plugins/gate.ts", import, "/w/.opencode/plugins/gate.ts"),
        ("/w/.opencode/plugin/tollgate.js", "/* the bundle */", "/w/.opencode/plugin/tollgate.js"),
        ("/w/opencode.json", r#"{"plugin": ["other", "tollgate"]}"#, "tollgate"),
        ("/w/opencode.jsonc", "{\n  // the gate\n  \"plugin\": [[\"tollgate@0.2.0\", {\"debug\": true}],],\n}", "tollgate@0.2.0"),
        ("/w/.opencode/opencode.json", r#"{"plugin": ["./node_modules/tollgate"]}"#, "./node_modules/tollgate"),
        ("/h/.config/opencode/opencode.json", r#"{"plugin": ["file:///x/opencode.bundle.js"]}"#, "file:///x/opencode.bundle.js"),
        ("/h/.config/opencode/plugin/tollgate.js", import, "/h/.config/opencode/plugin/tollgate.js"),
    ] {
        let mut machine = Machine::new().with(path, text);
        let found = machine.doctor("opencode", json!({"stdout": "denied\n", "code": 0}));
        assert_eq!((&found["state"], &found["command"]), (&json!("live"), &json!(tried)), "{path}: {found}");
        // `init` does not replace a plugin that works.
        let plan = machine.init(json!({"programs": ["opencode"]}));
        assert!(!plan["changes"].to_string().contains("opencode"), "{path}: {plan}");
        assert!(plan["notes"][0].as_str().unwrap().contains("already set up"), "{plan}");
        let absent = machine.doctor("opencode", json!({"stdout": "absent\n", "code": 0}));
        assert_eq!(absent["state"], "installed, not verified", "{absent}");
    }
    let mut machine = Machine::new();
    machine.init(json!({"programs": ["opencode"]}));
    let missing = json!({"stderr": "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'tollgate' imported from x\n", "code": 1});
    let found = machine.doctor("opencode", missing);
    assert!(found["remarks"][0].as_str().unwrap().ends_with("run `npm install --prefix .opencode tollgate`"), "{found}");
    let found = Machine::new().with("/w/opencode.json", r#"{"plugin": ["other"]}"#).doctor("opencode", json!({}));
    assert_eq!(found["state"], "missing");
}

/// The wrapped command of a confinement trial, and what its hook would answer.
const WRAPPED: &str = "/opt/tollgate confine --session s --call c -- bash -c x";

/// Runs trials as on a machine where everything works; `held` says whether the kernel confines commands.
fn working(trial: &serde_json::Value, held: bool) -> serde_json::Value {
    let id = trial["id"].as_str().unwrap();
    let answer = json!({"hookSpecificOutput": {"updatedInput": {"command": WRAPPED}, "tool_input": {"command": WRAPPED}},
                        "modifiedArgs": {"command": WRAPPED}, "command": WRAPPED});
    if id.ends_with("/confine") {
        return json!({"stdout": format!("{answer}\n"), "code": 0});
    }
    let files: Vec<&str> = trial["exist"].as_array().unwrap().iter().map(|file| file.as_str().unwrap()).collect();
    if let [own, other] = files.as_slice() {
        return json!({"code": 1, "exist": if held { vec![own] } else { vec![own, other] }});
    }
    if id.starts_with("opencode") { json!({"stdout": "denied\n", "code": 0}) } else { denied() }
}

#[test]
fn the_commands_of_each_program_are_tried_as_it_runs_them() {
    let confiner = json!({"confiner": "/opt/tollgate"});
    for program in PROGRAMS.iter().filter(|program| program.wiring.is_some()) {
        let host = program.name();
        let mut machine = Machine::new();
        machine.init(json!({"programs": [host], "confiner": "/opt/tollgate"}));
        let machine = trusted(machine);
        let found = |more: &serde_json::Value, held: bool| {
            let ran = std::cell::RefCell::new(Vec::new());
            let judged = machine.judge(more, |trial| {
                ran.borrow_mut().push(trial.clone());
                working(trial, held)
            });
            let host = judged["hosts"].as_array().unwrap().iter().find(|found| found["host"] == host).cloned().unwrap();
            (judged, host, ran.into_inner())
        };
        let takes_none = matches!(host, "cursor" | "qwen");
        let (judged, held, ran) = found(&confiner, true);
        assert_eq!(
            (&held["state"], &judged["confinement"]),
            (&json!("live"), &json!("commands are confined to their scope by the kernel"))
        );
        assert_eq!(held["commands"], if takes_none { "unconfined" } else { "confined" }, "{held}");
        let run = ran.iter().find(|trial| trial["id"] == format!("{host}/run"));
        match host {
            "cursor" | "qwen" => {
                assert!(run.is_none() && held["confinement"].to_string().contains("the model's own command"), "{held}")
            }
            "claude-code" => {
                let run = run.unwrap();
                assert_eq!(run["words"][0], "/opt/tollgate");
                assert!(run["words"][1].as_str().unwrap().contains(" && eval '") && run["shell"].is_null(), "{run}");
                assert_eq!(run["variables"]["CLAUDE_CODE_SHELL_PREFIX"], "/opt/tollgate");
                let asked = ran.iter().find(|trial| trial["id"] == "claude-code/confine").unwrap();
                assert_eq!(asked["file"]["path"], "/tmp/c/.claude/settings.local.json");
                assert!(asked["file"]["text"].as_str().unwrap().contains("/opt/tollgate"), "{asked}");
            }
            _ => assert_eq!(run.unwrap()["shell"], WRAPPED),
        }
        // A command that writes out of scope is a fault.
        let (judged, broken, _) = found(&confiner, false);
        assert_eq!(judged["ok"], false);
        assert_eq!(broken["commands"], if takes_none { "unconfined" } else { "confinement fails" }, "{broken}");
        assert!(judged["confinement"].as_str().unwrap().contains("NOT"), "{judged}");
        // A machine that cannot confine is reported, but that is not a fault.
        let (judged, plain, ran) = found(&json!({"why": "the kernel has no Landlock"}), true);
        assert!(judged["confinement"].as_str().unwrap().ends_with("unconfined: the kernel has no Landlock"), "{judged}");
        let asks = ran.iter().any(|trial| trial["id"] == "kernel");
        assert!(!asks && plain["state"] == "live", "{judged}");
    }
}

#[test]
fn commands_that_are_not_wrapped_are_told() {
    let confiner = json!({"confiner": "/opt/tollgate"});
    let mut machine = Machine::new();
    machine.init(json!({"programs": ["gemini"]}));
    // The hook answers that a person has to be asked: the settings say `off`, or a different version runs.
    let machine = trusted(machine);
    let judged = machine.judge(&confiner, |trial| if trial["id"] == "gemini/confine" { denied() } else { working(trial, true) });
    let found = &judged["hosts"][0];
    assert_eq!((&judged["ok"], &found["commands"]), (&json!(true), &json!("unconfined")), "{judged}");
    assert!(found["confinement"].as_str().unwrap().contains("does not replace the command"), "{found}");
    // Settings that name no program, or a different one.
    for (settings, said) in
        [("{}", "does not name"), (r#"{"env": {"CLAUDE_CODE_SHELL_PREFIX": "/usr/bin/time"}}"#, "does not name")]
    {
        let mut machine = Machine::new();
        machine.init(json!({"programs": ["claude-code"]}));
        let machine = machine.with("/w/.claude/settings.local.json", settings);
        let judged = machine.judge(&confiner, |trial| working(trial, true));
        let found = &judged["hosts"][0];
        assert_eq!(found["commands"], "unconfined", "{found}");
        assert!(found["confinement"].as_str().unwrap().contains(said), "{found}");
    }
    // A command that could not even write in scope.
    let mut machine = Machine::new();
    machine.init(json!({"programs": ["gemini"]}));
    let judged = trusted(machine).judge(&confiner, |trial| {
        let has_files = trial["exist"].as_array().is_some_and(|files| !files.is_empty());
        if has_files { json!({"code": 126, "stderr": "tollgate: it cannot be confined\n"}) } else { working(trial, true) }
    });
    let found = &judged["hosts"][0];
    assert_eq!((&judged["ok"], &found["commands"]), (&json!(false), &json!("confinement fails")), "{judged}");
    assert!(found["confinement"].as_str().unwrap().contains("it cannot be confined"), "{found}");
}
