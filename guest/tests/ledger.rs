//! The ledger: what is entered, and what its verification notices.

use crate::dice::check;
use crate::project::{LEDGER, Project};
use serde_json::{Value, json};
use tollgate_guest::ledger::chain::End;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::Tail;
use tollgate_guest::ports::memory::STATE;

const INTENTS: &str = "[{id: I, name: I, status: IN_PROGRESS, owned_scope: ['src/**']}]";

fn empty() -> Project {
    Project::with(INTENTS, &[] as &[(&str, &str)], &[])
}

impl Project {
    /// A whole call: ruled on, carried out, settled.
    fn write(&mut self, session: &str, path: &str, content: &str) -> Value {
        let call = json!({"session": session, "call": content, "tool": "write", "args": {"filePath": path, "content": content}});
        let with = |op: &str, more: Value| {
            let mut line = call.clone();
            line["op"] = op.into();
            more.as_object().into_iter().flatten().for_each(|(name, value)| line[name] = value.clone());
            line
        };
        self.ask(json!({"op": "select-intent", "session": session, "intent": "I"}));
        let ruling = self.ask(with("pre-tool", json!({})));
        assert_eq!(ruling["verdict"], "allow", "{ruling}");
        self.world.write(path, content);
        self.ask(with("post-tool", json!({"success": true})))
    }

    fn lines(&self) -> Vec<String> {
        self.ledger_text().lines().map(str::to_owned).collect()
    }

    fn put(&self, lines: &[String]) {
        self.world.write(LEDGER, lines.iter().map(|line| format!("{line}\n")).collect::<String>());
    }
}

fn filled(entries: usize) -> Project {
    let mut project = empty();
    (0..entries).for_each(|number| drop(project.write("s", &format!("src/{}", number % 5), &format!("{number}"))));
    project
}

#[test]
fn what_nobody_touched_verifies() {
    let mut project = filled(12);
    let report = project.verify();
    assert_eq!((&report["ok"], &report["lines"], &report["entries"]), (&json!(true), &json!(12), &json!(12)), "{report}");
    assert_eq!(report["heads"].as_array().unwrap().len(), 1);
}

/// Each way to tamper with a line that is not the last, and the line at which it is noticed.
#[test]
fn tampering_is_noticed() {
    type Tampering = fn(&mut Vec<String>);
    let ways: &[(&str, Tampering, u64, &str)] = &[
        ("edited", |lines| lines[4] = lines[4].replace("\"success\":true", "\"success\":false"), 5, "it was changed"),
        ("cut short", |lines| lines[4].truncate(30), 5, "it was changed"),
        ("replaced", |lines| lines[4] = "{}".to_owned(), 5, "it was changed"),
        ("taken out", |lines| drop(lines.remove(4)), 4, "the line after it was removed"),
        ("the first taken out", |lines| drop(lines.remove(0)), 1, "a line before it was removed"),
        ("several taken out", |lines| drop(lines.drain(2..8)), 2, "the line after it was removed"),
        ("swapped", |lines| lines.swap(4, 5), 4, "the line after it was removed"),
        ("doubled", |lines| lines.insert(5, lines[4].clone()), 6, "second time"),
        ("a foreign line put in", |lines| lines.insert(5, "{\"id\":\"x\"}".to_owned()), 6, "inserted or moved"),
        ("a forged line put in", |lines| lines.insert(5, lines[4].replace("src/4", "src/evil")), 6, "inserted or moved"),
    ];
    for (way, tamper, line, what) in ways {
        let mut project = filled(12);
        let mut lines = project.lines();
        tamper(&mut lines);
        project.put(&lines);
        let report = project.verify();
        assert_eq!(report["ok"], false, "{way}: {report}");
        let first = &report["faults"][0];
        assert_eq!(first["line"], *line, "{way}: {report}");
        assert!(first["what"].as_str().unwrap().contains(what), "{way}: {report}");
    }
}

#[test]
fn a_head_kept_elsewhere_tells_that_the_end_was_cut_off() {
    let mut project = filled(6);
    let head = project.verify()["heads"][0].clone();
    assert_eq!(project.ask(json!({"op": "verify", "expect": head, "more": false}))["done"], false);
    let lines = project.lines();
    project.put(&lines[..4]);
    // On another machine, which never wrote to this ledger, the rest verifies.
    project.world.delete(&format!("{STATE}/ledger.jsonl"));
    assert_eq!(project.verify()["ok"], true);
    project.ask(json!({"op": "verify", "expect": head}));
    let report = project.ask(json!({"op": "verify", "more": true}));
    let report = project.finish("verify", report);
    assert_eq!(report["ok"], false);
    assert!(report["faults"][0]["what"].as_str().unwrap().contains("cut off"), "{report}");
}

/// Torn lines, foreign lines, blank lines and no file at all are tolerated and reported.
#[test]
fn what_is_survived() {
    for (what, mangle) in [
        ("a torn last line", (|text| text + "{\"id\":\"torn") as fn(String) -> String),
        ("a foreign last line", |text| text + "{\"other\":1}\n"),
        ("no JSON", |text| text + "\u{1}\u{2} garbage\n"),
        ("blank lines", |text| text + "\n\n"),
        ("carriage returns", |text| text.replace('\n', "\r\n")),
    ] {
        let mut project = filled(3);
        let text = String::from_utf8(project.world.content(LEDGER).unwrap()).unwrap();
        project.world.write(LEDGER, mangle(text));
        let settled = project.write("s", "src/after", "after");
        assert_eq!(settled["entries"].as_array().unwrap().len(), 1, "{what}");
        let report = project.verify();
        // A ledger that is not as it was is reported in an entry of its own.
        let entries = if what == "carriage returns" { 5 } else { 4 };
        assert_eq!((&report["ok"], &report["entries"]), (&json!(true), &json!(entries)), "{what}: {report}");
        let noted = !report["notes"].as_array().unwrap().is_empty();
        assert_eq!(noted, !matches!(what, "blank lines" | "carriage returns"), "{what}: {report}");
        let listed = project.ask(json!({"op": "trace"}));
        assert_eq!(listed["entries"].as_array().unwrap().len(), entries, "{what}: {listed}");
    }
    let mut project = empty();
    assert_eq!(project.verify()["ok"], true);
    assert_eq!(project.ask(json!({"op": "trace"}))["entries"], json!([]));
}

/// Writers that read and append in any order, and are stopped half-way, leave a ledger that verifies; any later change to a line,
/// unless it is among the last, is noticed.
#[test]
fn any_order_of_writers_verifies_and_any_change_is_noticed() {
    check(1, 200, 200, |dice| {
        let mut text = String::new();
        let mut looks: Vec<Option<End>> = (0..2 + dice.below(7)).map(|_| None).collect();
        for number in 0..60 {
            let writer = dice.below(looks.len());
            match looks[writer].take() {
                None => looks[writer] = Some(End::of(&Tail { offset: 0, bytes: text.clone().into_bytes() })),
                Some(end) => {
                    let line = json!({"id": number.to_string(), "saw": end.heads}).to_string();
                    // A writer whose line ends up after a torn one notices, and enters its line once more.
                    let glued = !text.is_empty() && !text.ends_with('\n');
                    text.push_str(&format!("{line}\n"));
                    if glued {
                        text.push_str(&format!("{line}\n"));
                    } else if dice.once_in(12) {
                        text.truncate(text.len() - 1 - dice.below(line.len()));
                    }
                }
            }
        }
        let mut project = empty();
        project.world.write(LEDGER, &text);
        let report = project.verify();
        assert_eq!(report["ok"], true, "{report}\n{text}");
        let mut lines: Vec<String> = text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
        // One of two copies of a line, which was entered twice because it first ended up after a torn one, can be spared.
        let is_single = |at: &usize| lines.iter().filter(|line| line.ends_with(&*lines[*at])).count() == 1;
        let single: Vec<usize> = (0..lines.len().saturating_sub(12).max(1)).filter(is_single).collect();
        let at = single[dice.below(single.len())];
        match dice.below(3) {
            0 => lines[at].insert(1, ' '),
            1 => drop(lines.remove(at)),
            _ => lines.insert(at, json!({"id": "forged", "saw": []}).to_string()),
        }
        project.put(&lines);
        let report = project.verify();
        assert_eq!(report["ok"], false, "line {at}: {report}\n{}", lines.join("\n"));
    });
}

/// A writer that was stopped half-way and one that did not see it: the second line is glued to the rest of the first.
#[test]
fn a_line_behind_a_torn_one_is_entered_again() {
    let mut project = filled(2);
    project.ask(json!({"op": "select-intent", "session": "s", "intent": "I"}));
    let call = r#""session":"s","call":"c","tool":"write","args":{"filePath":"src/x","content":"x"}"#;
    perform(&mut project.gate, format!(r#"{{"op":"pre-tool",{call}}}"#).as_bytes());
    project.world.write("src/x", "x");
    // The append lands after what another process left without an end.
    project.world.before_append(LEDGER, b"{\"id\":\"torn");
    let settled: Value =
        serde_json::from_str(&perform(&mut project.gate, format!(r#"{{"op":"post-tool",{call},"success":true}}"#).as_bytes()))
            .unwrap();
    let id = settled["entries"][0]["id"].as_str().unwrap();
    let whole = |line: &String| serde_json::from_str::<Value>(line).is_ok_and(|entry| entry["id"] == id);
    assert_eq!(project.lines().iter().filter(|line| whole(line)).count(), 1);
    project.write("s", "src/y", "y");
    let report = project.verify();
    assert_eq!(report["ok"], true, "{report}");
}

#[test]
fn pages_and_filters() {
    let mut project = filled(30);
    project.write("other", "src/deep/file.ts", "z");
    let all = project.ask(json!({"op": "trace", "limit": 100}));
    assert_eq!(all["entries"].as_array().unwrap().len(), 31);
    assert_eq!(all["before"], json!(null));
    let mut seen = 0;
    let mut before = json!(null);
    loop {
        let page = project.ask(json!({"op": "trace", "limit": 7, "before": before}));
        seen += page["entries"].as_array().unwrap().len();
        before = page["before"].clone();
        if before.is_null() {
            break;
        }
        assert!(seen <= 31, "the pages never end");
    }
    assert_eq!(seen, 31);
    let at = all["entries"][10]["timestamp"].as_str().unwrap().to_owned();
    for (filter, count) in [
        (json!({"session": "other"}), 1),
        (json!({"intent": "I"}), 31),
        (json!({"intent": "J"}), 0),
        (json!({"file": "src/3"}), 6),
        (json!({"file": "src/deep"}), 1),
        (json!({"file": "src/**/*.ts"}), 1),
        (json!({"since": at}), 21),
        (json!({"until": at}), 11),
        (json!({"since": "2026-01-01"}), 31),
        (json!({"until": "2026-01-01"}), 31),
        (json!({"until": "2025"}), 0),
        (json!({"since": "2026-01-01T00:00Z"}), 31),
        (json!({"since": "9999d"}), 31),
    ] {
        let mut op = filter.clone();
        (op["op"], op["limit"]) = ("trace".into(), 100.into());
        assert_eq!(project.ask(op)["entries"].as_array().unwrap().len(), count, "{filter}");
    }
    for (field, value) in [("since", "yesterday"), ("until", "2026-1-1"), ("since", "2026-01-01T00:00:00+02:00")] {
        let answer = project.ask(json!({"op": "trace", field: value}));
        assert!(answer["error"]["message"].as_str().unwrap().contains(value), "{answer}");
    }
}

#[test]
fn agent_trace_records() {
    let mut project = filled(3);
    let answer = project.ask(json!({"op": "export", "format": "agent-trace"}));
    let records = answer["records"].as_array().unwrap();
    assert_eq!((records.len(), &answer["cursor"]), (3, &json!(null)));
    assert_eq!(records[0]["files"][0]["path"], "src/0");
    assert_eq!(records[0]["files"][0]["conversations"][0]["ranges"], json!([{"start_line": 1, "end_line": 1}]));
    assert_eq!(records[0]["metadata"]["dev.tollgate"]["intent_id"], "I");
    assert!(project.ask(json!({"op": "export", "format": "csv"}))["error"]["message"].as_str().unwrap().contains("agent-trace"));
}

#[test]
fn the_map_is_kept_and_can_be_rebuilt() {
    let mut project = filled(7);
    let kept = project.world.content(".orchestration/intent_map.md").unwrap();
    assert!(String::from_utf8_lossy(&kept).contains("## I\n\n- `src/0`\n- `src/1`"));
    project.world.write(".orchestration/intent_map.md", "somebody's scribble");
    let answer = project.ask(json!({"op": "map"}));
    let answer = project.finish("map", answer);
    assert_eq!((&answer["intents"], &answer["files"]), (&json!(1), &json!(5)), "{answer}");
    assert_eq!(project.world.content(".orchestration/intent_map.md").unwrap(), kept);
}

/// The ledger is archived twice, with writers that come before the new ledger is linked to the old one.
#[test]
fn an_archive_does_not_break_the_chain() {
    let mut project = filled(4);
    for round in 1..=2 {
        let plan = project.ask(json!({"op": "archive", "step": "plan"}));
        let (from, to) = (plan["rename"]["from"].as_str().unwrap(), plan["rename"]["to"].as_str().unwrap());
        assert_eq!(to, format!(".orchestration/archive/agent_trace-{round:04}.jsonl"));
        project.world.write(to, project.world.content(from).unwrap());
        project.world.delete(from);
        project.write("s", "src/between", &format!("between {round}"));
        let report = project.verify();
        assert!(report["notes"].to_string().contains("no line of the ledger names this part"), "{report}");
        assert_eq!(project.ask(json!({"op": "archive", "step": "plan"}))["rename"], json!(null));
        assert_eq!(project.ask(json!({"op": "archive", "step": "tie"}))["tied"].as_array().unwrap().len(), 1);
        assert_eq!(project.ask(json!({"op": "archive", "step": "tie"}))["tied"], json!([]));
        project.write("s", "src/later", &format!("later {round}"));
    }
    let report = project.verify();
    assert_eq!((&report["ok"], &report["entries"], &report["notes"]), (&json!(true), &json!(8), &json!([])), "{report}");
    assert_eq!(report["files"].as_array().unwrap().len(), 3);
    let old = ".orchestration/archive/agent_trace-0001.jsonl";
    let text = String::from_utf8(project.world.content(old).unwrap()).unwrap();
    project.world.write(old, text.replace("src/3", "src/x"));
    let report = project.verify();
    assert_eq!(report["ok"], false);
    project.world.delete(old);
    let report = project.verify();
    assert_eq!(report["ok"], true);
    assert!(report["notes"].to_string().contains("kept elsewhere"), "{report}");
}
