//! `tollgate hook`, as every host runs it: a payload on standard input, the exact answer on standard output.
//!
//! A case is a file in `fixtures/hosts/HOST/`. Its lines are executed in order, in a workspace that starts with
//! `fixtures/base.json`; `fixtures/hosts/README.md` describes the lines.

#![cfg(unix)]

#[path = "../../fixtures/fixture.rs"]
#[allow(dead_code)]
mod fixture;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::skip::report_missing_confinement;
use fixture::Step;
use serde_json::{Value, json};
use tollgate::confine::Capability;

/// A workspace, and an empty home folder.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(place.root()).unwrap();
        let base: Vec<Value> = serde_json::from_slice(&fs::read(fixture::top().join("base.json")).unwrap()).unwrap();
        base.iter().for_each(|step| place.carry_out(step));
        place
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("repo")
    }

    /// A folder of the search path with only the program that confines commands.
    fn bin(&self) -> PathBuf {
        let folder = self.folder.path().canonicalize().unwrap().join("bin");
        if !folder.exists() {
            fs::create_dir(&folder).unwrap();
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tollgate"), folder.join("tollgate")).unwrap();
        }
        folder
    }

    /// A text with the paths of this workspace filled in.
    fn fill_paths(&self, text: &str) -> String {
        text.replace("{root}", self.root().to_str().unwrap()).replace("{bin}", self.bin().to_str().unwrap())
    }

    fn carry_out(&self, step: &Value) {
        let at = |path: &str| self.root().join(path);
        match Step::parse(step) {
            Step::Write(path, text) => {
                fs::create_dir_all(at(&path).parent().unwrap()).unwrap();
                fs::write(at(&path), text).unwrap();
            }
            Step::Home(path, text) => {
                let path = at(&format!("../home/{path}"));
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Step::Remove(path) if at(&path).is_dir() => fs::remove_dir_all(at(&path)).unwrap(),
            Step::Remove(path) => fs::remove_file(at(&path)).unwrap(),
            Step::Mkdir(path) => fs::create_dir_all(at(&path)).unwrap(),
            Step::Symlink(..) | Step::Hardlink(..) => panic!("no links here"),
        }
    }

    fn select(&self, session: &str, intent: &str) {
        let line = json!({"op": "select-intent", "session": session, "intent": intent}).to_string();
        let root = self.root();
        let output = run(self.command(&["eval", "--workspace", root.to_str().unwrap()]), line.as_bytes());
        assert!(text(&output.stdout).starts_with(r#"{"intent":{"#), "{}", text(&output.stdout));
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        command.args(words).current_dir(self.folder.path()).env_clear().env("HOME", self.folder.path().join("home"));
        command
    }

    fn hook(&self, host: &str, payload: &str) -> Output {
        run(self.command(&["hook", host]), payload.replace("{root}", self.root().to_str().unwrap()).as_bytes())
    }

    /// The entries of the ledger, abbreviated and in order.
    fn ledger(&self) -> Vec<String> {
        let ledger = fs::read_to_string(self.root().join(".orchestration/agent_trace.jsonl")).unwrap_or_default();
        let short = |line: &str| {
            let entry: Value = serde_json::from_str(line).unwrap();
            let field = |pointer: &str| entry.pointer(pointer).and_then(Value::as_str).unwrap_or("-").to_owned();
            let agent = entry.get("agent").and_then(Value::as_str).map(|agent| format!(" {agent}")).unwrap_or_default();
            format!("{} {} {}{agent}", field("/file/relative_path"), field("/scope_validation"), entry["success"])
        };
        let mut entries: Vec<String> = ledger.lines().map(short).collect();
        entries.sort();
        entries
    }

    /// An answer without the workspace's path, times and ids of entries.
    fn normalize_answer(&self, answer: &str) -> String {
        let mut kept = answer.replace(self.root().to_str().unwrap(), "{root}").replace(self.bin().to_str().unwrap(), "{bin}");
        if let Some((before, after)) = kept.split_once("trace revert ") {
            let id = after.len() - after.trim_start_matches(|c: char| c.is_ascii_hexdigit() || c == '-').len();
            kept = format!("{before}trace revert {{entry}}{}", after.get(id..).unwrap());
        }
        let mut words: Vec<&str> = kept.split(' ').collect();
        let is_time = |word: &str| word.starts_with("20") && word.ends_with('Z') && word.len() == 24;
        words.iter_mut().filter(|word| is_time(word)).for_each(|word| *word = "{time}");
        words.join(" ")
    }
}

fn run(mut command: Command, input: &[u8]) -> Output {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The hook may exit without reading its input.
    match child.stdin.take().unwrap().write_all(input) {
        Err(fault) if fault.kind() == std::io::ErrorKind::BrokenPipe => {}
        written => written.unwrap(),
    }
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn cases() -> Vec<(String, PathBuf)> {
    let folders = |folder: &Path| -> Vec<PathBuf> { fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect() };
    let mut cases = Vec::new();
    for folder in folders(&fixture::top().join("hosts")).into_iter().filter(|path| path.is_dir()) {
        let host = folder.file_name().unwrap().to_str().unwrap().to_owned();
        cases.extend(folders(&folder).into_iter().map(|case| (host.clone(), case)));
    }
    cases.sort();
    assert!(cases.len() > 70, "only {} cases", cases.len());
    cases
}

/// Executes a case, and returns its lines with the actual answers, and other problems.
fn run_case(host: &str, lines: &[Value]) -> (Vec<Value>, Vec<String>) {
    let place = Place::new();
    let mut faults = Vec::new();
    let mut came = lines.to_vec();
    let mut answers: Vec<String> = Vec::new();
    for line in &mut came {
        if let Some(step) = line.get("do") {
            place.carry_out(&serde_json::from_str(&step.to_string().replace("{bin}", place.bin().to_str().unwrap())).unwrap());
        } else if let Some(intent) = line.get("select") {
            place.select(line["session"].as_str().unwrap(), intent.as_str().unwrap());
        } else if line.get("ledger").is_some() {
            line["ledger"] = place.ledger().into();
        } else if line.get("untouched").is_some() {
            line["untouched"] = (!place.root().join(".tollgate").exists()).into();
        } else if line.get("within").is_some() {
            line["within"] = answers.iter().all(|answer| is_within_limit(answer)).into();
        } else {
            let host = line.get("host").and_then(Value::as_str).unwrap_or(host);
            let mut words = vec!["hook", host];
            if let Some(event) = line.get("event") {
                words.extend(["--event", event.as_str().unwrap()]);
            }
            let payload = line.get("raw").map_or_else(|| line["payload"].to_string(), |raw| raw.as_str().unwrap().to_owned());
            let payload = place.fill_paths(&payload);
            let mut command = place.command(&words);
            if line.get("confines").is_some() {
                command.env("PATH", place.bin());
            }
            // If the payload does not name a folder, the host's working directory is used.
            command.current_dir(place.root());
            let output = run(command, payload.as_bytes());
            if output.status.code() != Some(0) {
                faults.push(format!("{:?} for {payload}", output.status));
            }
            answers.push(text(&output.stdout).to_owned());
            line["answer"] = place.normalize_answer(text(&output.stdout)).into();
        }
    }
    (came, faults)
}

/// Whether the text for the model is within the limit: Claude Code, Gemini CLI and Cursor count 10,000 UTF-16 units, Codex about
/// 2,500 tokens of four bytes, Copilot 10 KB.
fn is_within_limit(answer: &str) -> bool {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let told = [answer.pointer("/hookSpecificOutput/additionalContext"), answer.get("additional_context")];
    let told = told.into_iter().flatten().find_map(Value::as_str).unwrap_or_default();
    told.encode_utf16().count() <= 10_000 && (told.is_empty() || told.len() > 7_000)
}

#[test]
fn every_payload_gets_its_answer() {
    let mut faults = Vec::new();
    for (host, path) in cases() {
        let case = format!("{host}/{}", path.file_name().unwrap().to_str().unwrap());
        let written = fs::read_to_string(&path).unwrap();
        let lines: Vec<Value> =
            written.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{case}: {why}"))).collect();
        if lines.iter().any(|line| line.get("confines").is_some())
            && let Capability::None(why) = Capability::of_this_system()
        {
            report_missing_confinement(why);
            continue;
        }
        let (came, wrong) = run_case(&host, &lines);
        faults.extend(wrong.into_iter().map(|fault| format!("{case}: {fault}")));
        if std::env::var_os("TOLLGATE_BLESS").is_some() {
            fs::write(&path, came.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        }
        for (number, (line, came)) in lines.iter().zip(&came).enumerate() {
            if line != came {
                let shown = |line: &Value| {
                    ["answer", "ledger", "within", "untouched"].iter().find_map(|name| line.get(name)).unwrap().to_string()
                };
                faults.push(format!("{case}:{}\n  expected {}\n  came     {}", number + 1, shown(line), shown(came)));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

const WRITE: &str = r#"{"session_id":"s1","cwd":"{root}","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"{root}/README.md","content":"x"},"tool_use_id":"c1"}"#;

/// A gate that cannot be started for lack of memory.
fn without_memory(place: &Place, hook: &str, payload: &str) -> Output {
    let mut command = Command::new("sh");
    let line = format!("ulimit -v 400000; exec {} hook {hook}", env!("CARGO_BIN_EXE_tollgate"));
    command.args(["-c", &line]).current_dir(place.root()).env_clear().env("HOME", place.folder.path());
    run(command, payload.replace("{root}", place.root().to_str().unwrap()).as_bytes())
}

/// A gate that does not start asks a person before a tool runs, and denies if nobody can be asked.
#[test]
fn a_gate_that_does_not_start_lets_nothing_run_unless_the_user_says_so() {
    let place = Place::new();
    let decision = |payload: &str| -> Option<String> {
        let output = without_memory(&place, "claude-code", payload);
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output.stderr).starts_with("tollgate: error: "), "{}", text(&output.stderr));
        let answer: Value = serde_json::from_slice(&output.stdout).ok()?;
        let answer = &answer["hookSpecificOutput"];
        assert!(answer["permissionDecisionReason"].as_str().unwrap().ends_with("(gate_fault)"), "{answer}");
        Some(answer["permissionDecision"].as_str().unwrap().to_owned())
    };
    assert_eq!(decision(WRITE).as_deref(), Some("ask"));
    let unasked = WRITE.replace(r#""session_id""#, r#""permission_mode":"bypassPermissions","session_id""#);
    assert_eq!(decision(&unasked).as_deref(), Some("deny"));
    // Only calls are checked.
    assert_eq!(decision(&WRITE.replace("PreToolUse", "PostToolUse")), None);

    // A workspace cannot allow calls that could not be checked.
    place.carry_out(&json!({"write": [".tollgate/config.json", "{\"on_fault\": \"allow\"}"]}));
    assert_eq!(decision(WRITE).as_deref(), Some("ask"));
    let own = place.folder.path().join(".tollgate");
    std::os::unix::fs::symlink(place.root().join(".tollgate"), &own).unwrap();
    assert_eq!(decision(WRITE).as_deref(), Some("ask"), "the user's settings are a file of the workspace");
    std::fs::remove_file(&own).unwrap();

    std::fs::create_dir(&own).unwrap();
    for (settings, expected) in
        [("{\"on_fault\": \"ask\"}", Some("ask")), ("{\"on_fault\": tru", Some("ask")), ("{\"on_fault\": \"allow\"}", None)]
    {
        std::fs::write(own.join("config.json"), settings).unwrap();
        assert_eq!(decision(WRITE).as_deref(), expected, "{settings}");
    }
}

/// If the gate does not start, every host gets the answer for asking a person, in its own format.
#[test]
fn every_host_is_told_of_a_gate_that_does_not_start() {
    /// The answer without its reasons, and the reasons.
    fn take_reasons(answer: &mut Value, reasons: &mut Vec<String>) {
        match answer {
            Value::String(text) if text.starts_with("Tollgate: ") => reasons.push(std::mem::take(text)),
            Value::Object(fields) => fields.values_mut().for_each(|field| take_reasons(field, reasons)),
            _ => {}
        }
    }
    for host in ["claude-code", "codex", "gemini", "cursor", "copilot", "opencode", "roo"] {
        let asked = fs::read_to_string(fixture::top().join("hosts").join(host).join("ask.jsonl")).unwrap();
        let lines = asked.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let line = lines.into_iter().find(|line| line.get("payload").is_some()).unwrap();
        let event = line["event"].as_str().map(|event| format!(" --event {event}")).unwrap_or_default();
        let output = without_memory(&Place::new(), &format!("{host}{event}"), &line["payload"].to_string());
        let mut answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|why| panic!("{host}: {why}"));
        let mut expected: Value = serde_json::from_str(line["answer"].as_str().unwrap()).unwrap();
        let mut reasons = Vec::new();
        take_reasons(&mut answer, &mut reasons);
        take_reasons(&mut expected, &mut Vec::new());
        assert_eq!((answer, output.status.code()), (expected, Some(0)), "{host}");
        assert!(!reasons.is_empty() && reasons.iter().all(|reason| reason.ends_with("(gate_fault)")), "{host}: {reasons:?}");
    }
}

/// If a host does not read the answer, the missing answer must not allow the call.
#[test]
fn an_answer_that_cannot_be_written_blocks() {
    let place = Place::new();
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec {} hook claude-code >/dev/full", env!("CARGO_BIN_EXE_tollgate"))]);
    command.current_dir(place.root()).env_clear().env("HOME", place.folder.path());
    let output = run(command, WRITE.replace("{root}", place.root().to_str().unwrap()).as_bytes());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no intent is active"), "{}", text(&output.stderr));
}

/// What an agent writes into the arguments cannot change how a truncated payload is interpreted.
#[test]
fn a_payload_that_was_cut_short_is_a_call_unless_it_says_otherwise_itself() {
    let place = Place::new();
    for (payload, refused) in [
        (
            r#"{"cwd":"{root}","tool_input":{"hook_event_name":"Stop","cwd":"/tmp"},"tool_name":"Bash","session_id":"s1","hook_ev"#,
            true,
        ),
        (r#"{"cwd":"{root}","tool_input":{"hook_event_name":"Stop","content":"xxxx"#, true),
        (r#"{"cwd":"{root}","hook_event_name":"PreToolUse","tool_input":{"hook_event_name":"Stop","#, true),
        (r#"{"cwd":"{root}","hook_event_name":"Stop","hook_event_name":"PreToolUse","#, true),
        (r#"{"cwd":"{root}","hook_event_name":"Stop","session_id":"#, false),
    ] {
        let output = place.hook("claude-code", payload);
        assert_eq!(text(&output.stdout).contains("invalid_input"), refused, "{payload}: {}", text(&output.stdout));
    }
}

/// A payload that is truncated, nested too deeply or too long is refused in the format of each program; unknown fields do not
/// change the answer.
#[test]
fn every_host_is_answered_whatever_the_payload() {
    let place = Place::new();
    for host in ["claude-code", "codex", "gemini", "cursor", "copilot", "opencode", "qwen", "roo", "generic"] {
        let denied = fs::read_to_string(fixture::top().join("hosts").join(host).join("deny.jsonl")).unwrap();
        let line: Value = serde_json::from_str(denied.lines().next().unwrap()).unwrap();
        let event = line.get("event").and_then(Value::as_str);
        let ask = |payload: &str| {
            let words: Vec<&str> = ["hook", host].into_iter().chain(event.iter().flat_map(|event| ["--event", event])).collect();
            let mut command = place.command(&words);
            command.current_dir(place.root());
            let output = run(command, payload.replace("{root}", place.root().to_str().unwrap()).as_bytes());
            assert_eq!(output.status.code(), Some(0), "{host}: {}", text(&output.stderr));
            place.normalize_answer(text(&output.stdout))
        };
        let whole = line["payload"].to_string();
        // Among the arguments, or next to them if they are a single text.
        let with = |value: &str| match whole.replacen(r#""export {}\n""#, value, 1) {
            same if same == whole => whole.replacen('{', &format!(r#"{{"beside":{value},"#), 1),
            replaced => replaced,
        };
        let expected = line["answer"].as_str().unwrap();
        assert_eq!(ask(&whole), expected, "{host}");
        let more = whole.replacen('{', r#"{"never_heard_of":{"a":[1,null]},"#, 1);
        assert_eq!(ask(&more), expected, "{host}: a field that nobody knows");

        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        let long = format!("\"{}\"", "x".repeat(100 << 20));
        let half = whole.get(..whole.len() * 2 / 3).unwrap();
        for (what, payload) in [("cut short", half.to_owned()), ("deep", with(&deep)), ("long", with(&long))] {
            let answer = ask(&payload);
            assert!(
                answer.contains("(invalid_input)") || answer.contains(r#""code":"invalid_input""#),
                "{host}, {what}: {answer}"
            );
        }
    }
    assert!(place.ledger().is_empty());
}

/// A program that removes the files that govern it is reported anyway.
#[test]
fn removing_the_governing_files_is_reported() {
    let place = Place::new();
    place.select("s1", "INT-001");
    let event = |name: &str| {
        let input = json!({"command": "make"});
        json!({"session_id": "s1", "cwd": place.root(), "hook_event_name": name, "tool_name": "Bash", "tool_input": input,
            "tool_use_id": "c1"})
        .to_string()
    };
    assert_eq!(text(&place.hook("claude-code", &event("PreToolUse")).stdout), "");
    place.carry_out(&json!({"remove": ".orchestration"}));
    let output = place.hook("claude-code", &event("PostToolUse"));
    let said = text(&output.stdout);
    assert!(said.contains("is no longer governed"), "{said}\n{}", text(&output.stderr));
    assert!(said.contains(".orchestration/active_intents.yaml") && said.contains("FAIL"), "{said}");
    // The last valid version still applies as long as there is a ledger.
    assert!(text(&place.hook("claude-code", WRITE).stdout).contains("out_of_scope"));
}

/// A call that was denied and ran anyway, and what its host is told.
#[test]
fn a_denied_call_that_ran_is_told() {
    let place = Place::new();
    place.select("s1", "INT-001");
    assert!(text(&place.hook("claude-code", WRITE).stdout).contains("out_of_scope"));
    place.carry_out(&json!({"write": ["README.md", "x"]}));
    let after = WRITE.replace("PreToolUse", "PostToolUse");
    let said = place.hook("claude-code", &after);
    assert!(text(&said.stdout).contains("it was denied (out_of_scope) and ran anyway"), "{}", text(&said.stdout));
    assert_eq!(place.ledger(), ["README.md FAIL true"]);
}

#[test]
fn a_repository_within_the_workspace_is_still_within_it() {
    let place = Place::new();
    place.carry_out(&json!({"mkdir": "vendor/library/.git"}));
    let payload = WRITE.replace(r#""cwd":"{root}""#, r#""cwd":"{root}/vendor/library""#);
    assert!(text(&place.hook("claude-code", &payload).stdout).contains("no_active_intent"));
}

#[test]
fn the_project_goes_before_a_folder_that_the_agent_stepped_into() {
    let place = Place::new();
    let elsewhere = place.folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let payload = WRITE.replace(r#""cwd":"{root}""#, &format!(r#""cwd":"{}""#, elsewhere.display()));
    assert_eq!(text(&place.hook("claude-code", &payload).stdout), "");
    let mut command = place.command(&["hook", "claude-code"]);
    command.env("CLAUDE_PROJECT_DIR", place.root());
    let output = run(command, payload.replace("{root}", place.root().to_str().unwrap()).as_bytes());
    assert!(text(&output.stdout).contains("no_active_intent"));
}

/// Hosts run their hooks in parallel, and Cursor runs two for the same call.
#[test]
fn a_call_that_is_told_twice_at_once_is_entered_once() {
    let place = Place::new();
    place.select("s1", "INT-001");
    let root = place.root();
    let payload = |event: &str, number: usize| {
        json!({
            "conversation_id": "s1", "session_id": "s1", "hook_event_name": event, "cwd": root, "tool_name": "Write",
            "tool_input": {"file_path": format!("src/auth/{number}.ts"), "content": "x"}, "tool_use_id": format!("c{number}"),
        })
        .to_string()
    };
    let both = |one: String, other: String| {
        let start = |host: &str, payload: &str| {
            let mut command = place.command(&["hook", host]);
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
            child
        };
        let (one, other) = (start("claude-code", &one), start("cursor", &other));
        for (child, silence) in [(one, ""), (other, "{}\n")] {
            let output = child.wait_with_output().unwrap();
            assert_eq!((text(&output.stdout), text(&output.stderr)), (silence, ""));
        }
    };
    for number in 0..20 {
        both(payload("PreToolUse", number), payload("preToolUse", number));
        fs::write(root.join(format!("src/auth/{number}.ts")), "x").unwrap();
        both(payload("PostToolUse", number), payload("postToolUse", number));
    }
    assert_eq!(place.ledger().len(), 20, "{:?}", place.ledger());
}

/// Two hosts in one workspace at the same time do not disturb each other.
#[test]
fn two_hosts_at_once() {
    let place = Place::new();
    place.select("a", "INT-001");
    place.select("b", "INT-002");
    std::thread::scope(|threads| {
        for (host, session, folder, tool) in
            [("claude-code", "a", "src/auth", "Write"), ("gemini", "b", "src/billing", "write_file")]
        {
            let place = &place;
            threads.spawn(move || {
                let (before, after) = if host == "gemini" { ("BeforeTool", "AfterTool") } else { ("PreToolUse", "PostToolUse") };
                for number in 0..10 {
                    for event in [before, after] {
                        let payload = json!({
                            "session_id": session, "cwd": "{root}", "hook_event_name": event, "tool_name": tool,
                            "tool_input": {"file_path": format!("{{root}}/{folder}/{number}.ts"), "content": "x"},
                        });
                        let output = place.hook(host, &payload.to_string());
                        assert_eq!((text(&output.stdout), text(&output.stderr)), ("", ""));
                        if event == before {
                            fs::write(place.root().join(format!("{folder}/{number}.ts")), "x").unwrap();
                        }
                    }
                }
            });
        }
    });
    assert_eq!(place.ledger().len(), 20);
    let root = place.root();
    let verified = run(place.command(&["trace", "verify", "--workspace", root.to_str().unwrap()]), b"");
    assert!(verified.status.success(), "{}", text(&verified.stderr));
}

#[test]
fn a_host_that_is_not_known_is_explained() {
    let place = Place::new();
    let output = run(place.command(&["hook", "emacs"]), b"{}");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("claude-code, codex, gemini, cursor, copilot, opencode, roo"));
}
