//! `tollgate init`: what it writes, that it writes it once, and that undo restores files exactly.

#![cfg(unix)]

use crate::terminal;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::skip::report_skip;
use serde_json::{Value, json};

struct Place(tempfile::TempDir);

impl Place {
    /// A repository and a home folder without any host.
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(place.root().join(".git")).unwrap();
        fs::create_dir_all(place.home()).unwrap();
        place
    }

    fn root(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("repo")
    }

    fn home(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("home")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.read(path)).unwrap()
    }

    /// The exit code, standard output and standard error of a run in the repository; with `--yes`, run by a person at a terminal.
    fn run(&self, words: &[&str]) -> (i32, String, String) {
        self.run_in(&self.root(), words)
    }

    /// The same in another folder.
    fn run_in(&self, here: &Path, words: &[&str]) -> (i32, String, String) {
        let folder = Path::new(env!("CARGO_BIN_EXE_tollgate")).parent().unwrap();
        if terminal::has_yes_flag(words) {
            let command = terminal::PersonCommand::new(here, words);
            return command.with_variable("HOME", self.home()).with_variable("PATH", folder).at_terminal();
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        command.args(words).current_dir(here).env_clear().env("HOME", self.home()).env("PATH", folder);
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// All files except the gate's state and the ledger, which is never undone.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let (mut folders, state) = (vec![self.root(), self.home()], self.home().join(".local"));
        let ledger = self.root().join(".orchestration/agent_trace.jsonl");
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .filter(|entry| *entry != state && *entry != ledger)
            {
                if entry.is_dir() {
                    files.insert(entry.clone(), Vec::new());
                    folders.push(entry);
                } else {
                    files.insert(entry.clone(), fs::read(&entry).unwrap());
                }
            }
        }
        files
    }
}

const ALL: [&str; 14] = [
    "--host",
    "claude-code",
    "--host",
    "codex",
    "--host",
    "gemini",
    "--host",
    "cursor",
    "--host",
    "copilot",
    "--host",
    "opencode",
    "--host",
    "qwen",
];

fn concat_words<'a>(words: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    words.iter().chain(more).copied().collect()
}

#[test]
fn every_host_is_wired_in_its_own_way() {
    let place = Place::new();
    let (code, out, err) = place.run(&concat_words(&["init", "--yes"], &ALL));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("Codex: it runs hooks only once you trust them"), "{out}");

    let hook =
        |host: &str, timeout: u64| json!({"type": "command", "command": format!("tollgate hook {host}"), "timeout": timeout});
    let claude = place.json(".claude/settings.json");
    assert_eq!(claude["hooks"]["PreToolUse"], json!([{"matcher": "*", "hooks": [hook("claude-code", 30)]}]));
    assert_eq!(claude["hooks"]["UserPromptSubmit"], json!([{"hooks": [hook("claude-code", 30)]}]));
    let server = json!({"command": "tollgate", "args": ["mcp-serve"]});
    assert_eq!(place.json(".mcp.json"), json!({"mcpServers": {"tollgate": server}}));
    // Gemini CLI uses milliseconds.
    let gemini = place.json(".gemini/settings.json");
    assert_eq!(gemini["hooks"]["BeforeTool"], json!([{"matcher": ".*", "hooks": [hook("gemini", 30_000)]}]));
    assert_eq!(gemini["mcpServers"]["tollgate"], server);
    // Codex rejects a file with other fields at the top level.
    let codex: Value = serde_json::from_slice(&fs::read(place.home().join(".codex/hooks.json")).unwrap()).unwrap();
    assert_eq!(codex.as_object().unwrap().keys().collect::<Vec<_>>(), ["hooks"]);
    assert_eq!(codex["hooks"]["PreToolUse"], json!([{"hooks": [hook("codex", 30)]}]));
    // Codex warns on every start if more is requested.
    assert_eq!(codex["hooks"]["SessionEnd"], json!([{"hooks": [hook("codex", 3)]}]));
    // A program that is only known by its record.
    let qwen = place.json(".qwen/settings.json");
    assert_eq!(qwen["hooks"]["PreToolUse"], json!([{"matcher": ".*", "hooks": [hook("qwen", 30_000)]}]));
    let cursor = place.json(".cursor/hooks.json");
    assert_eq!(cursor["version"], 1);
    assert_eq!(cursor["hooks"]["preToolUse"], json!([{"command": "tollgate hook cursor", "timeout": 30}]));
    let copilot = place.json(".github/hooks/tollgate.json");
    assert_eq!(copilot["hooks"]["preToolUse"][0]["bash"], "tollgate hook copilot --event preToolUse");
    assert_eq!(copilot["hooks"]["preToolUse"][0]["timeoutSec"], 30);
    let plugin = place.read(".opencode/plugin/tollgate.js");
    assert_eq!(plugin.lines().last().unwrap(), "export { default } from 'tollgate/opencode';");

    assert_eq!(place.run(&["intents", "check"]), (0, "1 intent, 0 errors, 0 warnings\n".to_owned(), String::new()));
}

#[test]
fn what_is_there_stays_and_a_second_run_changes_nothing() {
    let place = Place::new();
    let mine = "{\n    \"model\": \"opus\",\n    \"big\": 123456789012345678901234567890,\n    \"hooks\": {\n        \"PreToolUse\": [\n            {\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"./mine.sh\"}]}\n        ]\n    },\n    \"list\": [1,2]\n}\n";
    place.write(".claude/settings.json", mine);
    place.write(".orchestration/active_intents.yaml", "active_intents: []\n");
    let (code, out, _) = place.run(&["init", "--yes"]);
    assert_eq!(code, 0);
    assert!(out.contains(".claude/settings.json (change)"), "{out}");
    let now = place.read(".claude/settings.json");
    // No line is missing.
    let mut lines = now.lines();
    for line in mine.lines() {
        assert!(lines.any(|now| now.trim_end_matches(',') == line.trim_end_matches(',')), "{line} is gone from\n{now}");
    }
    assert_eq!(place.json(".claude/settings.json")["hooks"]["PreToolUse"].as_array().unwrap().len(), 2);
    // No copies that could be committed by accident.
    let beside: Vec<_> = place.files().into_keys().filter(|path| path.to_string_lossy().contains("settings.json.")).collect();
    assert_eq!(beside, Vec::<PathBuf>::new());
    assert_eq!(place.read(".orchestration/active_intents.yaml"), "active_intents: []\n");

    let before = place.files();
    let (code, out, _) = place.run(&["init", "--yes"]);
    assert_eq!((code, out.lines().last().unwrap()), (0, "everything is set up already"));
    assert_eq!(place.files(), before);
}

#[test]
fn undo_takes_everything_back_to_the_byte() {
    let place = Place::new();
    place.write(".claude/settings.json", "{\"model\":\"opus\"}");
    place.write(".gemini/settings.json", "{\n\t\"theme\": \"dark\"\n}\n");
    fs::create_dir(place.home().join(".codex")).unwrap();
    fs::write(place.home().join(".codex/hooks.json"), "{\"hooks\": {}}\n").unwrap();
    let before = place.files();
    assert_eq!(place.run(&concat_words(&["init", "--yes"], &ALL)).0, 0);
    assert_ne!(place.files(), before);
    let (code, out, err) = place.run(&["init", "--undo", "--yes"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.ends_with("the ledger is kept: .orchestration/agent_trace.jsonl\n"), "{out}");
    assert_eq!(fs::read_dir(place.root().join(".orchestration")).unwrap().count(), 1);
    fs::remove_dir_all(place.root().join(".orchestration")).unwrap();
    assert_eq!(place.files(), before);
    let (code, _, err) = place.run(&["init", "--undo", "--yes"]);
    assert_eq!(code, 0);
    assert!(err.contains("nothing to undo"), "{err}");
}

#[test]
fn undo_of_a_run_in_two_steps_goes_back_to_before_the_first() {
    let place = Place::new();
    place.write(".gemini/settings.json", "{\n  \"theme\": \"dark\"\n}\n");
    let before = place.files();
    assert_eq!(place.run(&["init", "--yes", "--host", "gemini"]).0, 0);
    assert_eq!(place.run(&["init", "--yes", "--host", "claude-code", "--host", "gemini"]).0, 0);
    assert_eq!(place.run(&["init", "--undo", "--yes"]).0, 0);
    fs::remove_dir_all(place.root().join(".orchestration")).unwrap();
    assert_eq!(place.files(), before);
}

#[test]
fn what_was_changed_since_keeps_its_changes() {
    let place = Place::new();
    place.write(".claude/settings.json", "{\n  \"model\": \"opus\"\n}\n");
    assert_eq!(place.run(&["init", "--yes", "--host", "claude-code"]).0, 0);
    let edited = place.read(".claude/settings.json").replace("opus", "sonnet");
    place.write(".claude/settings.json", &edited);
    place.write(".orchestration/active_intents.yaml", "active_intents: [] # mine\n");
    let (code, out, err) = place.run(&["init", "--undo", "--yes"]);
    assert_eq!(code, 0);
    assert!(out.contains("only Tollgate's entries are removed from: .claude/settings.json"), "{out}");
    assert!(err.contains("left alone"), "{err}");
    assert_eq!(place.read(".claude/settings.json"), "{\n  \"model\": \"sonnet\"\n}\n");
    assert_eq!(place.read(".orchestration/active_intents.yaml"), "active_intents: [] # mine\n");
    assert!(!place.root().join(".mcp.json").exists());
}

#[test]
fn one_program_that_cannot_be_wired_does_not_stop_the_others() {
    for (path, text, said) in [
        (".gemini/settings.json", "{\"hooks\": []}", "`hooks` is not an object"),
        (".gemini/settings.json", "{\"hooks\": {\"BeforeTool\": \"x\"}}", "`hooks.BeforeTool` is not a list"),
        (".gemini/settings.json", "{\"hooks\"", "is not valid JSON"),
        (".gemini", "not a folder", "Not a directory"),
        (".gemini/settings.json/folder", "", "Is a directory"),
    ] {
        let place = Place::new();
        place.write(path, text);
        let (code, out, err) = place.run(&concat_words(&["init", "--yes"], &ALL));
        assert_eq!(code, 2, "{path}: {err}");
        assert!(err.contains("Gemini CLI: `.gemini/settings.json`") && err.contains(said), "{path}: {err}");
        // Nothing is written for that program, and everything for the others.
        assert_eq!(place.read(path), text);
        assert!(place.read(".claude/settings.json").contains("tollgate hook claude-code"), "{out}");
        assert!(place.read(".qwen/settings.json").contains("tollgate hook qwen"), "{out}");
        let before = place.files();
        assert_eq!(place.run(&["init", "--undo", "--yes"]).0, 0);
        assert!(place.files().len() < before.len());
        assert!(!place.root().join(".claude").exists() && place.root().join(path).exists());
    }
}

#[test]
fn a_file_that_may_not_be_written_is_noticed_before_anything_is() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    place.write(".gemini/settings.json", "{}");
    fs::set_permissions(place.root().join(".gemini"), fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(place.root().join(".gemini/trial"), "").is_ok() {
        report_skip("a privileged user can write to a folder that is read-only");
        return;
    }
    let (code, _, err) = place.run(&["init", "--yes", "--host", "claude-code", "--host", "gemini"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("Gemini CLI: `.gemini/settings.json` is left as it is: it cannot be written"), "{err}");
    assert!(place.read(".claude/settings.json").contains("tollgate hook claude-code"));
}

#[test]
fn comments_stay() {
    let place = Place::new();
    let mine = "{\n  // mine\n  \"model\": \"opus\", // the best\n}\n";
    place.write(".claude/settings.json", mine);
    assert_eq!(place.run(&["init", "--yes"]).0, 0);
    let now = place.read(".claude/settings.json");
    assert!(now.starts_with("{\n  // mine\n  \"model\": \"opus\", // the best\n  \"hooks\": {\n"), "{now}");
    assert_eq!(place.run(&["init", "--undo", "--yes"]).0, 0);
    assert_eq!(place.read(".claude/settings.json"), mine);
}

#[test]
fn the_users_own_settings_serve_every_folder() {
    let place = Place::new();
    let below = place.root().join("packages/a");
    fs::create_dir_all(&below).unwrap();
    // If it were started there, Claude Code would not read the settings of the repository.
    let (code, out, _) = place.run_in(&below, &["init", "--yes", "--host", "claude-code"]);
    assert_eq!(code, 0);
    assert!(out.contains("Claude Code: set up in ~/.claude/settings.json, your own settings: started in"), "{out}");
    assert!(!place.root().join(".claude").exists());
    assert_eq!(place.run(&["init", "--undo", "--yes"]).0, 0);
    assert!(!place.home().join(".claude").exists());

    let (_, out, _) = place.run(&["init", "--yes", "--host", "claude-code"]);
    assert!(
        out.contains("Claude Code: set up in .claude/settings.json, which a team can commit; it is read only where"),
        "{out}"
    );
    let (_, out, _) = place.run(&["init", "--yes", "--host", "gemini", "--scope", "user"]);
    assert!(out.contains("Gemini CLI: set up in ~/.gemini/settings.json, your own settings, for every folder"), "{out}");
    let gemini: Value = serde_json::from_slice(&fs::read(place.home().join(".gemini/settings.json")).unwrap()).unwrap();
    assert_eq!(gemini["mcpServers"]["tollgate"]["command"], "tollgate");
}

#[test]
fn undo_is_about_one_workspace() {
    let place = Place::new();
    let other = place.root().with_file_name("other");
    fs::create_dir_all(other.join(".git")).unwrap();
    let before = place.files();
    assert_eq!(place.run(&["init", "--yes", "--host", "codex"]).0, 0);
    assert_eq!(place.run_in(&other, &["init", "--yes", "--host", "codex"]).0, 0);
    let hooks = fs::read(place.home().join(".codex/hooks.json")).unwrap();
    let (code, out, err) = place.run(&["init", "--undo", "--yes"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("used by another workspace, stays: ~/.codex/hooks.json"), "{out}");
    assert!(err.contains(&format!("because {} uses it too", other.display())), "{err}");
    assert_eq!(fs::read(place.home().join(".codex/hooks.json")).unwrap(), hooks);
    assert!(!place.root().join(".orchestration/active_intents.yaml").exists());
    // The hook still exists for the other workspace, and governs nothing here.
    let (_, found, _) = place.run(&["doctor", "--json"]);
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["workspace"]["governed"], false, "{found:#}");
    let (code, _, err) = place.run_in(&other, &["init", "--undo", "--yes"]);
    assert_eq!((code, err.as_str()), (0, ""));
    // The ledger is kept, with both commands in it.
    let mut left = place.files();
    left.remove(&place.root().join(".orchestration"));
    assert_eq!(left, before);
}

#[test]
fn nobody_is_asked_without_a_terminal() {
    let place = Place::new();
    let before = place.files();
    let (code, out, err) = place.run(&["init", "--host", "claude-code"]);
    assert_eq!(code, 2);
    assert!(out.is_empty() && err.contains("there is no terminal to ask one on"), "{out}{err}");
    assert_eq!(place.files(), before);
}

#[test]
fn the_hosts_in_use_are_found() {
    let place = Place::new();
    fs::create_dir_all(place.root().join(".cursor")).unwrap();
    fs::create_dir_all(place.home().join(".gemini")).unwrap();
    let (code, out, _) = place.run(&["init", "--yes", "--json"]);
    assert_eq!(code, 0);
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["hosts"], json!(["gemini", "cursor"]));
}
