//! `tollgate doctor` distinguishes hooks that work from hooks that are only configured.

#![cfg(unix)]

use crate::terminal;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tollgate_guest::programs::trust::{hook_hash, hook_key};

struct Place(tempfile::TempDir);

impl Place {
    /// A governed repository with these hosts set up.
    fn new(hosts: &[&str]) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(place.root().join(".git")).unwrap();
        fs::create_dir_all(place.home()).unwrap();
        fs::create_dir_all(place.temporary()).unwrap();
        let mut words = vec!["init", "--yes"];
        hosts.iter().for_each(|host| words.extend(["--host", host]));
        assert_eq!(place.run(&words).0, 0);
        place
    }

    fn root(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("repo")
    }

    fn home(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("home")
    }

    fn temporary(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("tmp")
    }

    /// Trusts what Codex and Gemini CLI require before they run a hook.
    fn trust(&self) {
        let hooks = self.home().join(".codex/hooks.json");
        if let Ok(text) = fs::read_to_string(&hooks) {
            let written: Value = serde_json::from_str(&text).unwrap();
            let hash = hook_hash("PreToolUse", &written["hooks"]["PreToolUse"][0], 0).unwrap();
            let key = hook_key(hooks.to_str().unwrap(), "PreToolUse", 0, 0);
            let config = format!("[hooks.state.\"{key}\"]\ntrusted_hash = \"{hash}\"\n");
            fs::write(self.home().join(".codex/config.toml"), config).unwrap();
        }
        if !self.root().join(".gemini").exists() {
            return;
        }
        fs::create_dir_all(self.home().join(".gemini")).unwrap();
        let folders = json!({self.root().to_str().unwrap(): "TRUST_FOLDER"}).to_string();
        fs::write(self.home().join(".gemini/trustedFolders.json"), folders).unwrap();
    }

    fn run(&self, words: &[&str]) -> (i32, String, String) {
        self.run_in(&self.root(), words)
    }

    fn run_in(&self, here: &Path, words: &[&str]) -> (i32, String, String) {
        let folder = Path::new(env!("CARGO_BIN_EXE_tollgate")).parent().unwrap().display().to_string();
        let node = std::env::var("PATH").unwrap_or_default();
        let node = std::env::split_paths(&node).find(|folder| folder.join("node").exists());
        // A folder with only Node and the shells, so that no host of this machine is found.
        let tools = self.0.path().join("tools");
        let _ = fs::create_dir(&tools);
        for (name, from) in [
            ("node", node),
            ("sh", Some(PathBuf::from("/bin"))),
            ("bash", Some(PathBuf::from("/bin"))),
            ("sleep", Some(PathBuf::from("/bin"))),
        ] {
            if let Some(from) = from {
                let _ = std::os::unix::fs::symlink(from.join(name), tools.join(name));
            }
        }
        if terminal::has_yes_flag(words) {
            let command =
                terminal::PersonCommand::new(here, words).with_variable("PATH", format!("{folder}:{}", tools.display()));
            return command.with_variable("HOME", self.home()).with_variable("TMPDIR", self.temporary()).at_terminal();
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        command.args(words).current_dir(here).env_clear().env("HOME", self.home()).env("TMPDIR", self.temporary());
        command.env("PATH", format!("{folder}:{}", tools.display()));
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    fn doctor(&self) -> (i32, Value) {
        self.doctor_in(&self.root())
    }

    fn doctor_in(&self, here: &Path) -> (i32, Value) {
        let (code, out, err) = self.run_in(here, &["doctor", "--json"]);
        (code, serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}")))
    }

    fn edit(&self, path: &str, from: &str, to: &str) {
        let path = self.root().join(path);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replace(from, to)).unwrap();
    }
}

#[test]
fn hooks_that_work_are_live_and_leave_nothing_behind() {
    let place = Place::new(&["claude-code", "codex", "gemini", "cursor", "copilot", "qwen"]);
    place.trust();
    let kept = || fs::read_dir(place.home().join(".local/state/tollgate")).unwrap().count();
    let before = kept();
    let (code, said) = place.doctor();
    // The gate's state for the tests is removed, too.
    assert_eq!(kept(), before);
    assert_eq!(code, 0, "{said:#}");
    let states: Vec<_> =
        said["hosts"].as_array().unwrap().iter().map(|host| (&host["host"], &host["state"], &host["tools"])).collect();
    assert_eq!(
        json!(states),
        json!(["claude-code", "codex", "gemini", "cursor", "copilot", "qwen"].map(|host| (host, "live", "every tool")))
    );
    assert!(said["digest"].as_str().unwrap().starts_with("sha256:"));
    // The setup by a person is recorded, and nothing else.
    let ledger = fs::read_to_string(place.root().join(".orchestration/agent_trace.jsonl")).unwrap();
    assert_eq!(ledger.lines().count(), 1, "{ledger}");
    assert!(!place.root().join("canary.txt").exists());
    assert_eq!(fs::read_dir(place.temporary()).unwrap().count(), 0);
    let (code, out, _) = place.run(&["doctor"]);
    assert_eq!(code, 0);
    assert!(
        out.starts_with("HOST         STATE  TOOLS       COMMANDS    SETTINGS\nClaude Code  live   every tool  confined    .claude/settings.json\n"),
        "{out}"
    );
    assert!(out.contains("workspace: governed, 1 open intent\n"), "{out}");
}

#[test]
fn a_hook_that_is_only_written_down_is_silent() {
    for (what, from, to, state, said) in [
        ("no such program", "\"tollgate hook", "\"/no/such/tollgate hook", "installed, but silent", "its program is missing"),
        (
            "it says nothing",
            "\"tollgate hook claude-code\"",
            "\"true || tollgate hook claude-code\"",
            "installed, but silent",
            "let through",
        ),
        (
            "it says something else",
            "\"tollgate hook claude-code\"",
            "\"echo {}; true tollgate hook claude-code\"",
            "installed, but silent",
            "is not a denial: {}",
        ),
        (
            "it fails",
            "\"tollgate hook claude-code\"",
            "\"false tollgate hook claude-code\"",
            "installed, but silent",
            "exit status: 1",
        ),
        ("it leaves tools out", "\"*\"", "\"Write|Edit\"", "partly live", "omits"),
        (
            "hooks are off",
            "{\n  \"hooks\"",
            "{\n  \"disableAllHooks\": true,\n  \"hooks\"",
            "installed, but silent",
            "disableAllHooks",
        ),
    ] {
        let place = Place::new(&["claude-code"]);
        place.edit(".claude/settings.json", from, to);
        let (code, found) = place.doctor();
        assert_eq!((code, found["hosts"][0]["state"].as_str().unwrap()), (1, state), "{what}: {found:#}");
        assert!(found["hosts"][0]["remarks"].to_string().contains(said), "{what}: {found:#}");
    }
}

#[test]
fn not_trusted_is_not_live() {
    for (host, said) in [("codex", "open `/hooks` in Codex"), ("gemini", "until you trust the folder")] {
        let place = Place::new(&[host]);
        let (code, found) = place.doctor();
        assert_eq!((code, &found["hosts"][0]["state"]), (1, &json!("installed, but silent")), "{found:#}");
        assert!(found["hosts"][0]["remarks"].to_string().contains(said), "{found:#}");
        place.trust();
        let (code, found) = place.doctor();
        assert_eq!((code, &found["hosts"][0]["state"]), (0, &json!("live")), "{found:#}");
    }
}

#[test]
fn it_judges_from_the_folder_where_it_stands() {
    let place = Place::new(&["claude-code"]);
    let below = place.root().join("src");
    fs::create_dir(&below).unwrap();
    let (code, found) = place.doctor_in(&below);
    assert_eq!((code, &found["hosts"][0]["state"]), (1, &json!("installed, but silent")), "{found:#}");
    assert!(found["hosts"][0]["remarks"].to_string().contains("--host claude-code --scope user"), "{found:#}");
    assert_eq!(place.run_in(&below, &["init", "--yes", "--host", "claude-code"]).0, 0);
    let (code, found) = place.doctor_in(&below);
    assert_eq!((code, &found["hosts"][0]["settings"]), (0, &json!("~/.claude/settings.json")), "{found:#}");
}

#[test]
fn what_waits_for_a_person_is_said() {
    let place = Place::new(&["claude-code"]);
    fs::create_dir_all(place.root().join(".tollgate")).unwrap();
    let hook = json!({"hooks": [{"id": "lint", "trigger": "after_tool", "command": ["sleep", "0"]}]});
    fs::write(place.root().join(".tollgate/hooks.json"), hook.to_string()).unwrap();
    let (code, found) = place.doctor();
    assert_eq!(code, 0, "{found:#}");
    assert!(found["notes"].to_string().contains("their current version is not approved: `lint`"), "{found:#}");
    fs::write(place.root().join(".tollgate/hooks.json"), hook.to_string().replace("sleep", "no-such-program")).unwrap();
    let (_, found) = place.doctor();
    assert!(found["notes"][0].as_str().unwrap().starts_with("the hook `lint` cannot run: "), "{found:#}");
    fs::write(place.root().join(".tollgate/hooks.json"), "{\"hooks\": 3}").unwrap();
    let (code, found) = place.doctor();
    assert_eq!(code, 1, "{found:#}");
    assert!(found["faults"][0].as_str().unwrap().starts_with("`.tollgate/hooks.json`, line 1: "), "{found:#}");
}

#[test]
fn a_timeout_in_the_wrong_unit_is_noticed() {
    let place = Place::new(&["gemini"]);
    place.trust();
    place.edit(".gemini/settings.json", "30000", "30");
    let (code, found) = place.doctor();
    assert_eq!(code, 1);
    assert!(found["hosts"][0]["remarks"].to_string().contains("milliseconds"), "{found:#}");
}

#[test]
fn a_host_without_a_hook_is_missing() {
    let place = Place::new(&["claude-code"]);
    fs::create_dir(place.root().join(".gemini")).unwrap();
    let (code, found) = place.doctor();
    assert_eq!((code, found["hosts"][1]["state"].as_str().unwrap()), (1, "missing"), "{found:#}");
    assert!(found["hosts"][1]["remarks"].to_string().contains("tollgate init --host gemini"));
}

#[test]
fn the_workspace_is_looked_at_too() {
    let place = Place::new(&["claude-code"]);
    for (path, text, said) in [
        (
            ".orchestration/active_intents.yaml",
            "active_intents: [{id: 1",
            "governance is off, because the intents were never readable",
        ),
        (".tollgate/config.json", "{\"strict\": 3}", ".tollgate/config.json"),
    ] {
        let path = place.root().join(path);
        let before = fs::read(&path).ok();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let (code, found) = place.doctor();
        assert_eq!(code, 1, "{found:#}");
        assert!(found["faults"].to_string().contains(said), "{found:#}");
        match before {
            Some(before) => fs::write(&path, before).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
    }
    fs::remove_dir_all(place.root().join(".orchestration")).unwrap();
    let (code, found) = place.doctor();
    assert_eq!((code, &found["workspace"]["governed"]), (1, &json!(false)));
}

#[test]
fn a_plugin_is_loaded_and_tried() {
    let place = Place::new(&["opencode"]);
    let package = place.root().join(".opencode/node_modules/tollgate");
    fs::create_dir_all(&package).unwrap();
    fs::write(
        package.join("package.json"),
        r#"{"name": "tollgate", "type": "module", "exports": {"./opencode": "./opencode.js"}}"#,
    )
    .unwrap();
    for (plugin, state) in [
        ("export default async () => ({ 'tool.execute.before': async () => { throw new Error('no'); } });", "live"),
        (
            "export default { id: 'tollgate', server: async () => ({ 'tool.execute.before': async () => { throw new Error('no'); } }) };",
            "live",
        ),
        ("export default async () => ({ 'tool.execute.before': async () => {} });", "installed, but silent"),
        ("this is no JavaScript", "installed, but silent"),
    ] {
        fs::write(package.join("opencode.js"), plugin).unwrap();
        let (_, found) = place.doctor();
        assert_eq!(found["hosts"][0]["state"], state, "{plugin}: {found:#}");
    }
    fs::remove_dir_all(package).unwrap();
    let (_, found) = place.doctor();
    assert_eq!(found["hosts"][0]["state"], "installed, but silent");
    // The reason, not the last line that Node prints.
    assert!(found["hosts"][0]["remarks"].to_string().contains("Cannot find package 'tollgate'"), "{found:#}");
}

#[test]
fn every_way_to_load_a_plugin_is_tried() {
    let deny = "export default async () => ({ 'tool.execute.before': async () => { throw new Error('no'); } });";
    for (config, file) in [
        (json!({"plugin": ["tollgate"]}), ".cache/opencode/node_modules/tollgate/dist/opencode.js"),
        (
            json!({"plugin": [["tollgate@0.2.0", {"debug": true}]]}),
            ".cache/opencode/packages/tollgate@0.2.0/node_modules/tollgate/dist/opencode.js",
        ),
        (json!({"plugin": ["../home/pkg/tollgate"]}), "pkg/tollgate/dist/opencode.js"),
        (json!({"plugin": ["../home/pkg/tollgate/dist/opencode.js"]}), "pkg/tollgate/dist/opencode.js"),
    ] {
        let place = Place::new(&["claude-code"]);
        fs::write(place.root().join("opencode.jsonc"), format!("// mine\n{config}")).unwrap();
        let at =
            |found: &Value| found["hosts"].as_array().unwrap().iter().find(|host| host["host"] == "opencode").unwrap().clone();
        let found = at(&place.doctor().1);
        let expected = if file.starts_with(".cache") { "installed, not verified" } else { "installed, but silent" };
        assert_eq!(found["state"], expected, "{found:#}");
        let file = place.home().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, deny).unwrap();
        let about = r#"{"name": "tollgate", "type": "module", "exports": {"./server": {"default": "./dist/opencode.js"}}}"#;
        fs::write(file.parent().unwrap().with_file_name("package.json"), about).unwrap();
        let found = at(&place.doctor().1);
        assert_eq!((&found["state"], &found["settings"]), (&json!("live"), &json!("opencode.jsonc")), "{found:#}");
    }
}
