//! Programs that Tollgate starts itself with `"confine": true`: hooks and MCP servers.

use std::rc::Rc;

use serde_json::{Value, json};
use tollgate_guest::confine::evidence::EvidenceKey;
use tollgate_guest::confine::wrapping::{Launched, parse_launch};
use tollgate_guest::engine::{Command, Input, MachineReport, Order, RunEnding};
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::{Memory, STATE};

const EVENT: &str = "onDidSaveTextDocument";

struct Place {
    world: Rc<Memory>,
    gate: Gate,
}

impl Place {
    fn new(confines: bool, config: &Value, hooks: &Value) -> Self {
        let world = Memory::new();
        world.write(
            ".orchestration/active_intents.yaml",
            "[{id: I, name: Login, status: IN_PROGRESS, owned_scope: ['src/auth/**']}]",
        );
        for path in ["src/auth/login.ts", "README.md", "/usr/bin/node", "/bin/sh", "hooks/fmt.sh"] {
            world.write(path, path);
        }
        world.mkdir("/tmp");
        world.write(".gitignore", "dist/\n");
        world.write("dist/out.js", "");
        world.write("/opt/bin/tollgate", "x".repeat(2 << 20));
        world.write(".tollgate/config.json", config.to_string());
        world.write_home(".tollgate/hooks.json", json!({ "hooks": hooks }).to_string());
        let mut gate = Gate::new(world.ports());
        gate.select("s", "I").unwrap();
        let mut place = Self { world, gate };
        let path = ["/opt/bin", "/usr/bin", "/bin"].map(str::to_owned).to_vec();
        place.step(Input::Machine(MachineReport {
            workspace: "/workspace".to_owned(),
            search_path: path,
            confines,
            ..MachineReport::default()
        }));
        place
    }

    fn step(&mut self, input: Input) -> Vec<Command> {
        self.gate.step(0, &[input]).commands
    }

    fn event(&mut self, session: Option<&str>) -> Vec<Command> {
        let session = session.map(str::to_owned);
        self.step(Input::Event { name: EVENT.to_owned(), session, data: json!({"file": "src/auth/login.ts"}) })
    }

    /// What was prepared for a run.
    fn prepared(&self, run: &str) -> Option<Value> {
        let key = EvidenceKey::of_program(run);
        serde_json::from_slice(&self.world.content(&format!("{STATE}/{}", key.path()))?).ok()
    }

    fn log_count(&self, words: &str) -> usize {
        self.world.logged().iter().filter(|(_, line)| line.contains(words)).count()
    }

    fn ask(&mut self, line: &Value) -> Value {
        serde_json::from_str(&perform(&mut self.gate, line.to_string().as_bytes())).unwrap()
    }
}

fn runs(commands: &[Command]) -> Vec<(u64, Vec<String>)> {
    commands
        .iter()
        .filter_map(|command| match &command.order {
            Order::Run { argv, .. } => Some((command.id, argv.clone())),
            _ => None,
        })
        .collect()
}

fn granted(prepared: &Value) -> Vec<&str> {
    prepared["answer"]["grants"].as_array().unwrap().iter().map(|grant| grant["path"].as_str().unwrap()).collect()
}

fn hook(more: &Value) -> Value {
    let mut hook = json!({"id": "fmt", "trigger": EVENT, "command": ["node", "/opt/fmt.js"], "confine": true});
    hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    hook
}

#[test]
fn a_hook_is_held_to_the_scope_of_its_session() {
    let mut place = Place::new(true, &json!({"confine": {"writable": ["docs/**"]}}), &json!([hook(&json!({}))]));
    place.world.mkdir("/workspace/docs");
    for (session, owns) in [(Some("s"), true), (Some("other"), false), (None, false)] {
        let commands = place.event(session);
        let [(id, argv)] = runs(&commands).try_into().unwrap();
        let Launched { workspace, state, run, program } = parse_launch(&argv).unwrap_or_else(|| panic!("{argv:?}"));
        assert_eq!((argv[0].as_str(), workspace), ("/opt/bin/tollgate", "/workspace"));
        assert_eq!(state, STATE.rsplit_once('/').map(|(folder, _)| folder));
        assert_eq!(program, ["node", "/opt/fmt.js"]);
        let prepared = place.prepared(run).unwrap();
        assert_eq!(prepared["words"], json!(["node", "/opt/fmt.js"]));
        let granted = granted(&prepared);
        assert_eq!(granted.contains(&"src/auth"), owns, "{session:?} {granted:?}");
        // What the settings name and what tools build does not depend on the session.
        assert!(granted.contains(&"docs") && granted.contains(&"dist"), "{granted:?}");
        assert!(!granted.iter().any(|path| [".", ".git", ".tollgate", "README.md"].contains(path)), "{granted:?}");
        // Its temporary folder is its own: what an agent left in the session's folder is not read by mistake.
        let temporary = prepared["answer"]["env"]["TMPDIR"].as_str().unwrap();
        assert!(!temporary.ends_with(&tollgate_guest::confine::temporary::name("s")), "{temporary}");
        let run = run.to_owned();
        place.step(Input::Ended { command: id, ending: RunEnding::Canceled });
        assert_eq!(place.prepared(&run), None, "nothing is left behind");
    }
}

#[test]
fn a_mode_is_about_commands_of_agents() {
    for mode in ["off", "unread", "always"] {
        let mut place = Place::new(true, &json!({}), &json!([hook(&json!({}))]));
        place.world.write_home(".tollgate/config.json", json!({ "confine": mode }).to_string());
        let commands = place.event(Some("s"));
        assert!(parse_launch(&runs(&commands)[0].1).is_some(), "{mode}");
    }
}

#[test]
fn a_hook_that_says_nothing_runs_as_it_is() {
    for hook in [hook(&json!({"confine": false})), json!({"id": "fmt", "trigger": EVENT, "command": ["node", "/opt/fmt.js"]})] {
        let commands = Place::new(true, &json!({"strict": true}), &json!([hook])).event(Some("s"));
        assert_eq!(runs(&commands)[0].1, ["node", "/opt/fmt.js"]);
    }
}

#[test]
fn where_nothing_can_confine_the_settings_decide() {
    let hooks = json!([hook(&json!({}))]);
    let mut place = Place::new(false, &json!({}), &hooks);
    for _ in 0..2 {
        let commands = place.event(Some("s"));
        assert_eq!(runs(&commands)[0].1, ["node", "/opt/fmt.js"]);
    }
    assert_eq!(place.log_count("the hook `fmt` runs unconfined"), 1);
    place.event(Some("another"));
    assert_eq!(place.log_count("the hook `fmt` runs unconfined"), 2, "each session is told");

    let mut place = Place::new(false, &json!({"strict": true}), &hooks);
    let commands = place.event(Some("s"));
    assert_eq!(runs(&commands), []);
    let records: Vec<String> = commands
        .iter()
        .filter_map(|command| match &command.order {
            Order::Record(record) => Some(record.to_string()),
            _ => None,
        })
        .collect();
    assert!(records.iter().any(|record| record.contains("does not run") && record.contains("strict")), "{records:?}");
}

#[test]
fn a_host_that_confines_by_itself_needs_no_program() {
    let mut place = Place::new(true, &json!({}), &json!([hook(&json!({}))]));
    place.world.delete("/opt/bin/tollgate");
    let commands = place.event(None);
    let [(_, argv)] = runs(&commands).try_into().unwrap();
    assert_eq!(argv[0], "tollgate");
    assert!(parse_launch(&argv).is_some(), "{argv:?}");
}

#[test]
fn servers_are_held_to_no_scope() {
    for (confines, strict) in [(true, false), (false, false), (false, true)] {
        let config =
            json!({"strict": strict, "augment": {"sources": [{"name": "graph", "mcp": {"server": "graph", "tool": "about"}}]}});
        let mut place = Place::new(confines, &config, &json!([]));
        let servers = json!({"mcpServers": {"graph": {"command": "node", "args": ["/opt/graph.js"], "confine": true}}});
        place.world.write_home(".tollgate/config.json", servers.to_string());
        let line =
            json!({"op": "plan-lookups", "session": "s", "call": "c", "tool": "bash", "args": {"command": "echo [[auth]]"}});
        for _ in 0..2 {
            let plan = place.ask(&line);
            let argv = &plan["lookups"][0]["request"]["mcp"]["start"]["argv"];
            let argv: Vec<String> = serde_json::from_value(argv.clone()).unwrap_or_default();
            match (confines, strict) {
                (true, _) => {
                    let launched = parse_launch(&argv).unwrap_or_else(|| panic!("{plan}"));
                    assert_eq!(launched.program, ["node", "/opt/graph.js"]);
                    let prepared = place.prepared(launched.run).unwrap();
                    let granted = granted(&prepared);
                    assert!(!granted.contains(&"src/auth"), "{granted:?}");
                }
                (false, false) => assert_eq!(argv, ["node", "/opt/graph.js"]),
                (false, true) => assert_eq!(argv, [] as [&str; 0], "{plan}"),
            }
        }
        assert_eq!(place.log_count("the MCP server `graph`"), usize::from(!confines));
        // The same for a connection.
        let request = json!({"type": "request", "number": 1, "method": "status"});
        let turn = place.ask(&json!({"op": "mcp", "do": "step", "now_ms": 1, "inputs": [request]}));
        let command = &turn["commands"][0];
        let argv: Vec<String> = serde_json::from_value(command["transport"]["argv"].clone()).unwrap_or_default();
        match (confines, strict) {
            (true, _) => assert_eq!(parse_launch(&argv).unwrap_or_else(|| panic!("{turn}")).program, ["node", "/opt/graph.js"]),
            (false, false) => assert_eq!(argv, ["node", "/opt/graph.js"]),
            (false, true) => {
                let server = &command["result"]["servers"][0];
                assert_eq!((&command["type"], &server["state"]), (&json!("reply"), &json!("unavailable")), "{turn}");
                assert!(server["why"].as_str().unwrap().contains("it has to run confined"), "{turn}");
            }
        }
        assert_eq!(command["transport"].get("confine"), None);
    }
}
