//! Tests the records against the payloads and answers in `fixtures/hosts/`, and against each other.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::wiring::{Canary, HooksFormat};
use super::*;

/// The cases of a program: their names and their lines.
fn cases(program: &AgentProgram) -> Vec<(String, Vec<Value>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/hosts").join(program.name());
    let mut files: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let lines =
        |file: &PathBuf| fs::read_to_string(file).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    files.iter().map(|file| (file.display().to_string(), lines(file))).collect()
}

/// The event of a line, as read by the given program.
fn event(speech: &HookProtocol, line: &Value) -> Option<ProgramEvent> {
    let named = line.get("event").and_then(Value::as_str);
    if let Some(raw) = line.get("raw").and_then(Value::as_str) {
        return Some(match serde_json::from_str::<Value>(raw) {
            Ok(payload) => (speech.read)(payload, named),
            Err(why) => recover_event(speech, raw.as_bytes(), named, &why),
        });
    }
    Some((speech.read)(line.get("payload")?.clone(), named))
}

/// Collects every string and every object in a value.
fn leaves(value: &Value, texts: &mut Vec<String>, objects: &mut Vec<Value>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Object(fields) => {
            objects.push(value.clone());
            fields.values().for_each(|value| leaves(value, texts, objects));
        }
        Value::Array(items) => items.iter().for_each(|value| leaves(value, texts, objects)),
        _ => {}
    }
}

/// An answer without what is added for the person at the start of a session.
fn without_word_to_person(speech: &HookProtocol, event: &ProgramEvent, answer: &str) -> String {
    let Some(field) = speech.person.filter(|_| event.kind() == EventKind::SessionStart) else { return answer.to_owned() };
    let Ok(Value::Object(mut fields)) = serde_json::from_str(answer) else { return answer.to_owned() };
    match fields.shift_remove(field) {
        None => answer.to_owned(),
        Some(_) if fields.is_empty() => speech.silence.to_owned(),
        Some(_) => Value::Object(fields).to_string(),
    }
}

/// Every answer in the fixtures is one that the record can give, byte for byte.
#[test]
fn answers_are_in_the_programs_own_words() {
    let mut count = 0;
    for program in PROGRAMS {
        for (file, lines) in cases(program) {
            for line in lines {
                let other = line.get("host").and_then(Value::as_str).and_then(find);
                let speech = other.unwrap_or(program).speech.as_ref().unwrap();
                let Some(mut event) = event(speech, &line) else { continue };
                // An event that cannot be understood counts as a call.
                if event.fault.is_some() && event.kind.is_none() {
                    (event.name, event.kind) = (speech.name_of(EventKind::BeforeTool), Some(EventKind::BeforeTool));
                }
                let expected = line["answer"].as_str().unwrap().trim_end_matches('\n');
                let expected = without_word_to_person(speech, &event, expected);
                if expected == speech.silence {
                    continue;
                }
                let (mut texts, mut objects) = (Vec::new(), Vec::new());
                leaves(&serde_json::from_str(&expected).unwrap(), &mut texts, &mut objects);
                // What is appended for the model to a tool's own text, and a reason with its code.
                texts.extend(texts.clone().iter().filter_map(|text| Some(text.split_once("\n\n")?.1.to_owned())));
                let codes: Vec<String> =
                    texts.iter().flat_map(|one| texts.iter().map(move |other| format!("{one} ({other})"))).collect();
                texts.extend(codes);
                let mut possible: Vec<HookAnswer> = Vec::new();
                for text in &texts {
                    possible.extend([
                        HookAnswer::Ask(text.clone()),
                        HookAnswer::Deny(text.clone()),
                        HookAnswer::Stop(text.clone()),
                    ]);
                    possible.extend([HookAnswer::Tell(text.clone()), HookAnswer::Allow { args: None, told: text.clone() }]);
                }
                possible.extend(objects.into_iter().map(|args| HookAnswer::Allow { args: Some(args), told: String::new() }));
                let given = |answer: HookAnswer| (speech.answer)(&event, answer).map(|said| said.to_string());
                assert!(possible.into_iter().any(|answer| given(answer).as_deref() == Some(&*expected)), "{file}: {expected}");
                count += 1;
            }
        }
    }
    assert!(count > 150, "{count} answers");
}

/// What hooks get, compared with what the real programs sent.
#[test]
fn payloads_carry_what_hooks_are_given() {
    for (program, payload, expected) in [
        (
            "claude-code",
            json!({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "Go on"}),
            json!({"prompt": "Go on"}),
        ),
        (
            "claude-code",
            json!({"session_id": "s", "hook_event_name": "Stop", "last_assistant_message": "All done."}),
            json!({"response": "All done."}),
        ),
        (
            "claude-code",
            json!({"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Read", "tool_input": {}, "tool_response": [1]}),
            json!({"result": [1]}),
        ),
        (
            "claude-code",
            json!({"session_id": "s", "hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "error": "Exit code 3"}),
            json!({"error": "Exit code 3"}),
        ),
        (
            "codex",
            json!({"session_id": "s", "hook_event_name": "SessionStart", "source": "startup"}),
            json!({"source": "startup"}),
        ),
        ("codex", json!({"session_id": "s", "hook_event_name": "SessionEnd", "reason": "other"}), json!({"reason": "other"})),
        (
            "codex",
            json!({"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_response": "hi\n"}),
            json!({"result": "hi\n"}),
        ),
        (
            "gemini",
            json!({"session_id": "s", "hook_event_name": "AfterAgent", "prompt": "Go", "prompt_response": "Done."}),
            json!({"prompt": "Go", "response": "Done."}),
        ),
        (
            "gemini",
            json!({"session_id": "s", "hook_event_name": "AfterModel", "llm_request": {"model": "m"}, "llm_response": {"text": "t"}}),
            json!({"data": {"llm_request": {"model": "m"}, "llm_response": {"text": "t"}}}),
        ),
        (
            "gemini",
            json!({"session_id": "s", "hook_event_name": "AfterTool", "tool_name": "glob", "tool_response": {"error": {"message": "no"}}}),
            json!({"result": {"error": {"message": "no"}}, "error": "no"}),
        ),
        (
            "cursor",
            json!({"conversation_id": "s", "hook_event_name": "postToolUse", "tool_name": "Read", "tool_output": "text"}),
            json!({"result": "text"}),
        ),
        (
            "copilot",
            json!({"sessionId": "s", "toolName": "bash", "toolArgs": "{}", "toolResult": {"resultType": "denied"}}),
            json!({"result": {"resultType": "denied"}, "refused": true}),
        ),
        (
            "opencode",
            json!({"hook": "chat.message", "input": {"sessionID": "s"}, "output": {"parts": [
                {"type": "text", "text": "One"}, {"type": "text", "text": "hidden", "synthetic": true}, {"type": "file"}]}}),
            json!({"prompt": "One"}),
        ),
        (
            "opencode",
            json!({"hook": "tool.execute.after", "input": {"sessionID": "s", "tool": "write", "args": {}}, "output": {"output": "Wrote."}}),
            json!({"result": "Wrote."}),
        ),
        (
            "generic",
            json!({"event": "after_tool", "session": "s", "tool": "x", "result": {"a": 1}, "error": "broken"}),
            json!({"result": {"a": 1}, "error": "broken"}),
        ),
        ("generic", json!({"event": "before_model", "session": "s", "request": [1]}), json!({"data": {"request": [1]}})),
        // A name that means something else in another event is ignored.
        ("claude-code", json!({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "x", "prompt": "p"}), json!({})),
    ] {
        let event = (find(program).unwrap().speech.as_ref().unwrap().read)(payload.clone(), None);
        assert_eq!(event.fault, None, "{program} {payload}");
        let mut found = Map::new();
        let texts = [("prompt", event.prompt), ("response", event.response), ("source", event.source), ("reason", event.reason)];
        found.extend(texts.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?.into()))));
        if !event.data.is_null() {
            found.insert("data".to_owned(), event.data);
        }
        if let Some(call) = event.call {
            found.extend(call.result.map(|result| ("result".to_owned(), result)));
            match call.ending {
                CallEnding::Done => {}
                CallEnding::Failed(error) => drop(found.insert("error".to_owned(), error.into())),
                CallEnding::Refused(_) => drop(found.insert("refused".to_owned(), true.into())),
            }
        }
        assert_eq!(Value::Object(found), expected, "{program} {payload}");
    }
}

/// The call that proves that a hook works must be denied.
#[test]
fn canaries_are_calls_of_tools_that_change_something() {
    for program in PROGRAMS {
        let Some(wiring) = &program.wiring else { continue };
        let speech = program.speech.as_ref().unwrap();
        let Canary::Command { payload, denial: (pointer, word), shell } = wiring.canary else {
            assert!(matches!(wiring.form, HooksFormat::Plugin(_)), "{}", program.title);
            continue;
        };
        let named = wiring.events.first().copied();
        let event = (speech.read)(payload("/w", "/w/canary.txt"), named);
        assert_eq!((event.fault.as_deref(), event.kind()), (None, EventKind::BeforeTool), "{}", program.title);
        let tool = event.call.as_ref().unwrap().tool.clone();
        assert!(program.changing_tools().any(|known| known == tool), "{tool} of {}", program.title);
        let answer = (speech.answer)(&event, HookAnswer::Deny("no".to_owned())).unwrap();
        assert_eq!(answer.pointer(pointer).and_then(Value::as_str), Some(word), "{}", program.title);
        let Some(shell) = shell else { continue };
        let event = (speech.read)((shell.payload)("/w", "ls"), named);
        let call = event.call.as_ref().unwrap();
        assert!(program.tools.iter().any(|tool| tool.act == Act::Shell && tool.names.contains(&call.tool.as_str())), "{call:?}");
        assert_eq!(shell.rewritten.is_some(), (speech.rewrites)(&event), "{}", program.title);
        assert_eq!(shell.rewritten.is_none(), wiring.shell_prefix.is_some(), "{}", program.title);
        if let Some(pointer) = shell.rewritten {
            let answer = HookAnswer::Allow { args: Some(call.args.clone()), told: String::new() };
            let answer = (speech.answer)(&event, answer).unwrap();
            assert_eq!(answer.pointer(pointer).and_then(Value::as_str), Some("ls"), "{}", program.title);
        }
    }
}

#[test]
fn entries_are_found_again() {
    for program in PROGRAMS {
        let Some(wiring) = &program.wiring else { continue };
        for event in wiring.events {
            assert!(program.speech.as_ref().unwrap().event_of(event).is_some(), "{event} of {}", program.title);
            let entry = program.hook_entry("/opt/tollgate", event);
            assert_eq!(program.is_our_entry(&entry), !matches!(wiring.form, HooksFormat::Plugin(_)), "{entry}");
        }
        assert!(!program.is_our_command("tollgate hook somebody") && !program.is_our_command("make hook"));
        assert!(!program.is_our_command(&format!("tollgate hook {}-other", program.name())));
    }
    let codex = find("codex").unwrap();
    assert_eq!(codex.hook_entry("tollgate", "SessionEnd")["hooks"][0]["timeout"], 3);
    let gemini = find("gemini").unwrap().hook_entry("tollgate", "BeforeTool");
    assert_eq!(
        gemini,
        json!({"matcher": ".*", "hooks": [{"type": "command", "command": "tollgate hook gemini", "timeout": 30000}]})
    );
}

#[test]
fn names_mean_one_program() {
    for program in PROGRAMS {
        assert!(program.names.iter().all(|name| std::ptr::eq(find(&name.to_uppercase()).unwrap(), *program)));
        let others = PROGRAMS.iter().filter(|other| !std::ptr::eq(**other, *program));
        let shared = |list: fn(&AgentProgram) -> &'static [&'static str]| {
            others.clone().flat_map(|other| list(other)).find(|name| list(program).contains(name))
        };
        assert_eq!(shared(|program| program.processes), None, "{}", program.title);
        assert_eq!(shared(|program| program.variables), None, "{}", program.title);
        assert!(program.wiring.is_none() || program.speech.is_some(), "{}", program.title);
    }
    assert!(find("somebody").is_none());
}

/// Every file that `init` writes, or from which a program reads its hooks or its trust, is a control file.
#[test]
fn settings_are_controls() {
    let is_in =
        |path: &str, control: &str| path.strip_prefix(control).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    for program in PROGRAMS {
        let Some(wiring) = &program.wiring else { continue };
        let trust = wiring.trust.map(wiring::TrustRule::file);
        for place in wiring.settings.iter().map(|settings| settings.place).chain(trust) {
            let known = |control: &SettingsPlace| match (place, *control) {
                (SettingsPlace::Workspace(path), SettingsPlace::Workspace(control))
                | (SettingsPlace::Home(path), SettingsPlace::Home(control)) => is_in(path, control),
                (SettingsPlace::Own { folder, path, .. }, SettingsPlace::Home(control)) => {
                    is_in(&format!("{folder}/{path}"), control)
                }
                _ => false,
            };
            assert!(program.controls.iter().any(known), "{place:?} of {}", program.title);
        }
        for control in program.controls {
            if let SettingsPlace::Workspace(path) = control {
                assert_eq!(*path, path.to_lowercase(), "{}", program.title);
            }
        }
    }
}
