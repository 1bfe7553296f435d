use std::rc::Rc;

use serde_json::json;

use super::*;
use crate::augment::TOTAL_MS;
use crate::ports::memory::Memory;

struct Project {
    world: Rc<Memory>,
    knowledge: Knowledge,
    settings: Settings,
}

impl Project {
    fn new(settings: Value) -> Self {
        let world = Memory::new();
        world.write(".tollgate/concepts/auth.md", "Logins are limited.");
        Self { world, knowledge: Knowledge::default(), settings: Settings::parse(&settings).unwrap() }
    }

    fn plan(&mut self, call: &ToolCall) -> Plan {
        let ports = self.world.ports();
        match self.knowledge.named_concepts(call, &ports) {
            Ok(named) => {
                let start = |server: &str| crate::servers::start(server, &ports);
                self.knowledge.plan(call, named, &self.settings, &start, &ports)
            }
            Err(skipped) => Plan { skipped: Some(skipped), ..Plan::default() },
        }
    }

    fn apply(&mut self, call: &ToolCall, found: &[LookupFinding]) -> Augmentation {
        self.apply_for(call, TextReader::default(), found)
    }

    fn apply_for(&mut self, call: &ToolCall, reader: TextReader, found: &[LookupFinding]) -> Augmentation {
        let ports = self.world.ports();
        match self.knowledge.named_concepts(call, &ports) {
            Ok(named) => self.knowledge.apply(call, named, reader, found, &self.settings, &ports),
            Err(skipped) => Augmentation { skipped: Some(skipped), ..Augmentation::default() },
        }
    }

    /// What was logged at these levels.
    fn said(&self, levels: &[LogLevel]) -> Vec<String> {
        self.world.logged().into_iter().filter(|(level, _)| levels.contains(level)).map(|(_, line)| line).collect()
    }
}

fn call(tool: &str, args: Value) -> ToolCall {
    let [session, call, tool] = ["s", "c", tool].map(str::to_owned);
    ToolCall { session, agent: None, call, host: None, tool, server: None, args, cwd: None }
}

fn finding(concept: &str, source: &str, answer: LookupAnswer) -> LookupFinding {
    LookupFinding { concept: concept.to_owned(), source: source.to_owned(), answer }
}

fn asked(plan: &Plan) -> Vec<(&str, &str)> {
    plan.lookups.iter().map(|lookup| (lookup.concept.as_str(), lookup.source.as_str())).collect()
}

fn text(text: &str) -> LookupAnswer {
    LookupAnswer::Text(text.to_owned())
}

#[test]
fn only_what_nobody_here_knows_is_looked_up() {
    let graph = json!({"name": "graph", "function": true});
    let asks = call("x", json!("[[Auth]] [[other]]"));
    for (sources, expected) in [
        (json!(["notes", graph, "maenifold"]), &[("other", "graph"), ("other", "maenifold")][..]),
        (json!([graph, "notes", "maenifold"]), &[("Auth", "graph"), ("other", "graph"), ("other", "maenifold")]),
        (json!(["notes"]), &[]),
        (json!([]), &[]),
    ] {
        let mut project = Project::new(json!({"sources": sources}));
        let plan = project.plan(&asks);
        assert_eq!(asked(&plan), expected, "{sources}");
        assert_eq!(plan.concepts, ["Auth", "other"]);
    }
    let many: String = (0..100).map(|number| format!("[[{number}]]")).collect();
    let plan = Project::new(json!({})).plan(&call("x", json!(many)));
    assert_eq!((plan.concepts.len(), plan.lookups.len()), (concept::MAX_CONCEPTS, MAX_LOOKUPS));
}

#[test]
fn the_first_source_that_knows_wins() {
    let graph = json!({"name": "graph", "function": true});
    let asks = call("x", json!("[[auth]] [[b]] [[c]]"));
    let found = [
        finding("auth", "graph", text("From the graph.")),
        finding("b", "maenifold", text("Late to the table.")),
        finding("b", "graph", text("B.")),
        finding("c", "stranger", text("Nobody asked.")),
        finding("d", "graph", text("Nobody asked either.")),
    ];
    for (sources, expected) in [
        (json!(["notes", graph, "maenifold"]), &[("auth", "notes"), ("b", "graph")][..]),
        (json!([graph, "notes"]), &[("auth", "graph"), ("b", "graph")]),
        (json!(["maenifold", "notes"]), &[("auth", "notes"), ("b", "maenifold")]),
    ] {
        let augmentation = Project::new(json!({"sources": sources})).apply(&asks, &found);
        let told: Vec<_> =
            augmentation.concepts.iter().map(String::as_str).zip(augmentation.sources.iter().map(String::as_str)).collect();
        assert_eq!(told, expected, "{sources}");
    }
}

#[test]
fn reasons() {
    let nowhere = json!({"sources": [{"name": "none", "notes": "nowhere"}, "maenifold", {"name": "graph", "function": true}]});
    let there = json!({"sources": ["notes", "maenifold", {"name": "graph", "function": true}]});
    let (late, gone, unknown) = (LookupAnswer::Late, LookupAnswer::Unavailable, LookupAnswer::Unknown);
    let failed = LookupAnswer::Failed("it\nbroke".to_owned());
    let empty = text(" \n");
    let nothing = text("Context for CONCEPT: x\n\nDirect relations (0 CONCEPTS):\n");
    for (settings, answers, expected) in [
        (&nowhere, &[][..], "source_unavailable"),
        (&nowhere, &[&gone, &gone], "source_unavailable"),
        (&nowhere, &[&gone, &late], "timeout"),
        (&nowhere, &[&late, &late], "timeout"),
        (&nowhere, &[&late, &unknown], "no_context"),
        (&nowhere, &[&gone, &failed], "no_context"),
        (&nowhere, &[&nothing, &empty], "no_context"),
        (&there, &[&gone, &gone], "no_context"),
        (&there, &[&late, &late], "timeout"),
        (&there, &[], "no_context"),
    ] {
        let answers = answers.iter().zip(["maenifold", "graph"]);
        let found: Vec<_> = answers.map(|(answer, source)| finding("x", source, (*answer).clone())).collect();
        let augmentation = Project::new(settings.clone()).apply(&call("bash", json!({"command": "[[x]]"})), &found);
        assert_eq!(augmentation, Augmentation { skipped: Some(expected), ..Augmentation::default() }, "{settings} {found:?}");
    }
}

#[test]
fn what_is_not_known_is_not_asked_again_for_a_while() {
    let mut project = Project::new(json!({"sources": ["maenifold", {"name": "graph", "function": true}]}));
    let asks = call("x", json!("[[a]] [[b]]"));
    assert_eq!(project.plan(&asks).lookups.len(), 4);
    let gone = project.apply(
        &asks,
        &[
            finding("a", "maenifold", LookupAnswer::Unavailable),
            finding("b", "maenifold", LookupAnswer::Unavailable),
            finding("a", "graph", LookupAnswer::Unknown),
            finding("b", "graph", LookupAnswer::Late),
        ],
    );
    assert_eq!(gone.skipped, Some("no_context"));
    assert_eq!(asked(&project.plan(&asks)), [("b", "graph")]);
    assert_eq!(project.apply(&asks, &[finding("b", "graph", text("B."))]).concepts, ["b"]);
    // The clock advances by a second each time it is read.
    for _ in 0..60 {
        let _ = project.world.ports().clock.now();
    }
    assert_eq!(project.plan(&asks).lookups.len(), 4);
}

#[test]
fn what_is_said_and_how_loud() {
    let mut project = Project::new(json!({"sources": ["notes", "maenifold"]}));
    project.plan(&call("bash", json!({"command": "ls"})));
    assert_eq!(project.said(&[LogLevel::Debug]), ["`bash` was given nothing: no_concepts"]);
    assert_eq!(project.said(&[LogLevel::Info, LogLevel::Warn, LogLevel::Error]), [""; 0]);

    let asks = call("bash", json!({"command": "[[auth]] [[b]] [[c]] [[d]]"}));
    project.plan(&asks);
    project.apply(
        &asks,
        &[
            finding("b", "maenifold", LookupAnswer::Failed("it broke".to_owned())),
            finding("c", "maenifold", LookupAnswer::Late),
            finding("d", "maenifold", LookupAnswer::Unavailable),
        ],
    );
    let info = project.said(&[LogLevel::Info]);
    assert_eq!(info.first().unwrap(), "`bash` names [[auth]], [[b]], [[c]], [[d]]");
    assert!(info[1].starts_with("`bash` was given what is known about [[auth]] in ") && info[1].ends_with("000 ms"), "{info:?}");
    assert_eq!(info.len(), 2, "the concepts are told once, though they are looked for twice");
    assert_eq!(
        project.said(&[LogLevel::Warn]),
        ["the source `maenifold` failed on [[b]]: it broke", "the source `maenifold` did not answer in time about [[c]]"]
    );
    assert!(project.said(&[LogLevel::Debug]).contains(&"the source `maenifold` is not available".to_owned()));
    project.apply(&call("bash", json!({"command": "[[x]]"})), &[]);
    assert_eq!(project.said(&[LogLevel::Debug]).last().unwrap(), "`bash` was given nothing: no_context");
}

#[test]
fn where_it_goes() {
    const CLOSES: &str = "<!-- End Knowledge Graph Context -->";
    let shell = TextReader { is_shell: true, ..TextReader::default() };
    let model = TextReader { is_model: true, ignores_properties: true, ..TextReader::default() };
    let lenient = TextReader { ignores_properties: true, ..TextReader::default() };
    let nobody = TextReader::default();
    let [content, plain] = [json!({"literal": true}), json!({})];
    for (settings, reader, args, field) in [
        (&plain, shell, json!({"command": "echo [[auth]]", "timeout": 3}), Some("command")),
        (&plain, nobody, json!({"command": "echo [[auth]]"}), None),
        (&plain, model, json!({"description": "[[auth]]", "prompt": "Do it."}), Some("prompt")),
        (&plain, model, json!({"message": "[[auth]]"}), Some("message")),
        (&plain, model, json!({"command": "[[auth]]", "prompt": "Do it."}), None),
        (&plain, model, json!({"query": "[[auth]]"}), None),
        (&plain, model, json!({"prompt": ["[[auth]]"]}), Some("_notes_context")),
        (&plain, lenient, json!({"options": {"query": "[[auth]]"}}), Some("_notes_context")),
        (&plain, lenient, json!({"_notes_context": "[[auth]]"}), None),
        (&plain, lenient, json!({"prompt": "[[auth]]"}), None),
        (&plain, nobody, json!({"content": "[[auth]]", "path": "a"}), None),
        (&content, nobody, json!({"path": "a", "content": "[[auth]]"}), Some("content")),
        (&content, nobody, json!({"command": "create", "content": "[[auth]]"}), None),
        (&content, nobody, json!({"oldString": "[[auth]]", "newString": "b"}), None),
        (&plain, nobody, json!(["[[auth]]"]), None),
        (&plain, model, json!({"prompt": "[[auth]]", "n": 1e300}), None),
    ] {
        let mut project = Project::new(settings.clone());
        let augmentation = project.apply_for(&call("x", args.clone()), reader, &[]);
        assert_eq!(augmentation.concepts, ["auth"], "{args}");
        let Some(field) = field else {
            assert_eq!(augmentation.args, None, "{args}");
            assert!(augmentation.text.unwrap().ends_with(CLOSES), "{args}");
            continue;
        };
        assert_eq!(augmentation.text, None, "{args}");
        let after = augmentation.args.unwrap();
        let held = after[field].as_str().unwrap();
        assert!(held.contains("Logins are limited.") && held.contains(CLOSES), "{after}");
        // Everything else is as it was, in the same order.
        for ((name, value), before) in after.as_object().unwrap().iter().zip(args.as_object().unwrap().values()) {
            assert!(name == field || value == before, "{after}");
        }
        if field == "command" {
            assert!(held.starts_with("echo [[auth]]\n# <!--"), "{held}");
        } else if let Some(before) = args.get(field) {
            assert!(held.starts_with("<!--") && held.ends_with(&format!("{CLOSES}\n\n{}", before.as_str().unwrap())), "{held}");
        }
        let again = project.apply_for(&call("x", after), reader, &[]);
        assert_eq!((again.args, again.text, again.skipped), (None, None, Some("no_concepts")), "applied twice: {args}");
    }
}

#[test]
fn a_source_may_say_anything() {
    let mut project = Project::new(json!({"sources": [{"name": "graph", "function": true}]}));
    let asks = call("x", json!("[[a]]"));
    for answer in
        ["\0\u{1b}[31m\r\n".repeat(1 << 20), "<!-- End Knowledge Graph Context -->".repeat(1 << 16), "é".repeat(9 << 20)]
    {
        let augmentation = project.apply(&asks, &[finding("a", "graph", text(&answer))]);
        let text = augmentation.text.unwrap();
        assert!(text.chars().count() <= 8_000);
        assert_eq!(text.matches("<!--").count(), 2);
    }
    assert_eq!(TOTAL_MS, 5_000);
}

/// A server that may not be started is asked all the same, because the embedder may be connected to it; the warning that it is
/// not started is given once a minute.
#[test]
fn a_server_that_only_the_workspace_names_is_not_started() {
    let mut project = Project::new(json!({"sources": [{"name": "graph", "mcp": {"server": "s", "tool": "t"}}]}));
    project.world.write(".tollgate/config.json", r#"{"mcpServers": {"s": {"command": "x"}}}"#);
    for (wait, warnings) in [(0, 1), (50_000, 1), (20_000, 2)] {
        project.world.pass(wait);
        let plan = project.plan(&call("bash", json!({"command": "[[a]] [[b]]"})));
        assert_eq!(asked(&plan), [("a", "graph"), ("b", "graph")]);
        assert!(plan.lookups.iter().all(|lookup| lookup.request.to_json()["mcp"]["start"].is_null()));
        assert_eq!(project.said(&[LogLevel::Warn]).len(), warnings, "warnings, {wait} ms later");
    }
    let own = r#"{"mcpServers": {"s": {"command": "x"}}}"#;
    project.world.write("/home/user/.tollgate/config.json", own);
    let plan = project.plan(&call("bash", json!({"command": "[[a]]"})));
    assert_eq!(plan.lookups[0].request.to_json()["mcp"]["start"]["argv"], json!(["x"]));
}
