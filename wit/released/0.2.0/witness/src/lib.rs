//! Every function of the contract, each with an answer that tells what it was given and what the host lent.

mod bindings {
    wit_bindgen::generate!({ path: "..", world: "plugin" });
    export!(Witness);
    use super::Witness;
}

use bindings::exports::tollgate::hooks::{augment, engine, operations, post_tool, pre_tool, programs, sessions};
use bindings::tollgate::hooks::types::{Effect, Operation, PreHash, Ruling, ToolCall, Verdict};
use bindings::tollgate::hooks::workspace::{self, Fault, Question, Reach, Root};
use bindings::tollgate::hooks::{log, records};

struct Witness;

/// Uses everything that a host lends, once, and says what came of it.
fn look_around() -> String {
    let question = |path: &str| Question { root: Root::Project, path: path.to_owned(), digest: true };
    let facts = workspace::inspect(&[question("notes/a.txt"), question("notes/nothing")]);
    let known: Vec<String> = facts
        .iter()
        .map(|fact| {
            let real = fact.real_path.as_deref().unwrap_or("nowhere");
            let is_link = fact.link.is_some() || fact.entry_path != fact.real_path;
            let has_marks = fact.marks.modified_ns != 0;
            format!("{:?} {real} {} {has_marks} {is_link} {} {:?}", fact.kind as u8, fact.size, fact.hard_links, fact.digest)
        })
        .collect();
    let text = |read: Result<Vec<u8>, Fault>| match read {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(fault) => format!("fault {}", fault as u8),
    };
    let whole = text(workspace::read(Root::Project, "notes/a.txt", 100));
    let part = text(workspace::read_range(Root::Project, "notes/a.txt", 2, 3));
    let missing = text(workspace::read(Root::Home, ".tollgate/nothing", 100));
    let tail = text(workspace::read_tail(Root::Project, "notes/a.txt", 2).map(|tail| tail.bytes));
    let names: Vec<String> =
        workspace::list(Root::Project, "notes", &Reach { depth: 2, limit: 10, skip: vec!["deep".to_owned()] })
            .map(|listing| listing.entries.iter().map(|entry| format!("{} {}", entry.path, entry.size)).collect())
            .unwrap_or_default();
    let kept = [
        records::replace(Root::State, "witness", b"one", &records::Expectation::Absent),
        records::replace(Root::State, "witness", b"two", &records::Expectation::Absent),
        records::append(Root::State, "witness", b" more"),
        records::replace(Root::State, "witness", b"three", &records::Expectation::Anything),
        records::remove(Root::State, "witness"),
        records::remove(Root::State, "witness"),
    ];
    let kept: Vec<String> =
        kept.iter().map(|done| done.err().map_or("done".to_owned(), |fault| format!("{}", fault as u8))).collect();
    log::write(log::Level::Info, "the witness looked around", b"{}");
    [known.join(", "), whole, part, missing, tail, names.join(", "), kept.join(" ")].join("; ")
}

impl pre_tool::Guest for Witness {
    fn check(call: ToolCall) -> Ruling {
        let told = [Some(call.session), call.agent, Some(call.call), call.host, Some(call.tool), call.cwd];
        let told: Vec<String> = told.into_iter().map(|part| part.unwrap_or_else(|| "none".to_owned())).collect();
        let args = String::from_utf8_lossy(&call.args).into_owned();
        Ruling {
            verdict: if call_is_asked(&args) { Verdict::Ask } else { Verdict::Allow },
            code: "witness".to_owned(),
            reason: format!("{} {args}; {}", told.join(" "), look_around()),
            effects: vec![Effect { path: "notes/a.txt".to_owned(), operation: Operation::Modify }],
            pre_hashes: vec![PreHash { path: "notes/a.txt".to_owned(), digest: "sha256:0".to_owned() }],
        }
    }
}

fn call_is_asked(args: &str) -> bool {
    args.contains("ask")
}

impl post_tool::Guest for Witness {
    fn settle(call: ToolCall, outcome: post_tool::Outcome) -> post_tool::Settlement {
        let how = match outcome {
            post_tool::Outcome::Done(Some(result)) => format!("done {}", String::from_utf8_lossy(&result)),
            post_tool::Outcome::Done(None) => "done".to_owned(),
            post_tool::Outcome::Failed(why) => format!("failed {why}"),
            post_tool::Outcome::Refused(why) => format!("refused {why}"),
        };
        post_tool::Settlement { entries: vec![format!("{{\"call\":\"{}\"}}", call.call)], notice: Some(how) }
    }
}

impl augment::Guest for Witness {
    fn plan_lookups(call: ToolCall) -> augment::Plan {
        let lookup = augment::Lookup {
            concept: call.tool,
            source: "witness".to_owned(),
            request: augment::Request::Function,
            timeout_ms: 10,
        };
        augment::Plan { concepts: vec![lookup.concept.clone()], lookups: vec![lookup], total_ms: 20, skipped: None }
    }

    fn apply(call: ToolCall, found: Vec<augment::Finding>) -> augment::Augmented {
        let added = found.iter().map(|finding| match &finding.answer {
            augment::Answer::Text(text) => text.clone(),
            augment::Answer::Unknown => "unknown".to_owned(),
            augment::Answer::Unavailable => "unavailable".to_owned(),
            augment::Answer::Late => "late".to_owned(),
            augment::Answer::Failed(why) => why.clone(),
        });
        let added: Vec<String> = added.collect();
        augment::Augmented {
            args: call.args,
            added: Some(added.join(" ")),
            additional_context: None,
            concepts: found.into_iter().map(|finding| finding.concept).collect(),
            skipped: None,
        }
    }
}

impl sessions::Guest for Witness {
    fn select(session: String, intent: String) -> Result<sessions::Intent, sessions::Refusal> {
        match intent.as_str() {
            "none" => Err(sessions::Refusal::UnknownIntent(session)),
            _ => Ok(sessions::Intent { id: intent, name: session, status: "PLANNED".to_owned() }),
        }
    }

    fn clear(session: String) -> Result<(), sessions::Fault> {
        if session == "kept" { Err(sessions::Fault::NotKept(session)) } else { Ok(()) }
    }

    fn current(session: String) -> Option<sessions::Intent> {
        (session == "s").then(|| sessions::Intent { id: "W-1".to_owned(), name: session, status: "PLANNED".to_owned() })
    }

    fn inherit(_: String, _: String) -> Result<(), sessions::Fault> {
        Ok(())
    }

    fn context(session: String, limit_chars: u32) -> String {
        format!("{session} {limit_chars}")
    }
}

impl programs::Guest for Witness {
    fn names() -> Vec<String> {
        vec!["witness".to_owned()]
    }

    fn silence(program: String) -> String {
        program
    }

    fn variables(program: String) -> Vec<String> {
        vec![program]
    }

    fn locate(_: String, _: Option<String>, _: Vec<u8>, surroundings: programs::Surroundings) -> Option<String> {
        Some(surroundings.cwd)
    }

    fn respond(program: String, event: Option<String>, payload: Vec<u8>) -> programs::Progress {
        match event.as_deref() {
            Some("wait") => programs::Progress::Waiting(7),
            _ => programs::Progress::Answered(programs::Answer { text: [program.into_bytes(), payload].concat(), refused: None }),
        }
    }

    fn failed(_: String, _: Option<String>, payload: Vec<u8>, why: String) -> programs::Answer {
        programs::Answer { text: payload, refused: Some(why) }
    }
}

impl engine::Guest for Witness {
    fn step(now_ms: u64, inputs: Vec<engine::Input>) -> engine::Turn {
        let commands = inputs.into_iter().zip(1..).map(|(input, id)| engine::Command { id, order: order(input) }).collect();
        engine::Turn { commands, next_deadline_ms: Some(now_ms + 1) }
    }
}

/// An order for every input, so that each kind crosses.
fn order(input: engine::Input) -> engine::Order {
    let surroundings = |cwd: String| engine::Surroundings {
        hook: "h".to_owned(),
        run: "r".to_owned(),
        cwd,
        inherit: vec!["PATH".to_owned()],
        set: vec![("A".to_owned(), "b".to_owned())],
        output_bytes: 10,
    };
    match input {
        engine::Input::Machine(machine) => engine::Order::Run(engine::Run {
            argv: machine.search_path,
            stdin: machine.temporary.unwrap_or_default(),
            copy: None,
            surroundings: surroundings(machine.workspace),
        }),
        engine::Input::Event(event) => engine::Order::Prompt(engine::Prompt {
            text: event.name,
            argv: event.session.into_iter().collect(),
            surroundings: surroundings(String::from_utf8_lossy(&event.data).into_owned()),
        }),
        engine::Input::Ended(ended) => match ended.ending {
            engine::Ending::Exited(exited) => engine::Order::Record(exited.stdout.into_bytes()),
            _ => engine::Order::Cancel(ended.command),
        },
        engine::Input::Found(found) => engine::Order::Cancel(found.command),
        engine::Input::Listening(listening) => engine::Order::Listen(listening.trigger),
        engine::Input::Cancel(run) => engine::Order::Unlisten(run),
        engine::Input::Reload => engine::Order::Approval(engine::Approval {
            hook: "h".to_owned(),
            digest: "sha256:0".to_owned(),
            why: "new".to_owned(),
            notice: None,
            shows: b"{}".to_vec(),
        }),
        engine::Input::Shutdown(true) => {
            engine::Order::Reply(engine::Reply { number: 7, answer: b"{}".to_vec(), refused: Some("late".to_owned()) })
        }
        engine::Input::Shutdown(false) => engine::Order::Stopped,
    }
}

impl operations::Guest for Witness {
    fn perform(line: Vec<u8>) -> Vec<u8> {
        line.into_iter().rev().collect()
    }

    fn longest_line() -> u64 {
        1 << 20
    }
}
