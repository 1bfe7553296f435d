//! Connections to MCP servers without a server: the test plays the host, and its clock moves when the test says so.

use std::rc::Rc;

use serde_json::{Value, json};
use tollgate_guest::exchange::{Exchanges, Progress};
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::Memory;

const INTENTS: &str = "[{id: INT-1, name: Login, status: IN_PROGRESS, owned_scope: ['src/**']}]";

/// A host that carries messages, and records what it is told to do.
struct Host {
    world: Rc<Memory>,
    gate: Gate,
    exchanges: Exchanges,
    now: u64,
    deadline: Option<u64>,
    commands: Vec<Value>,
    asked: u64,
}

fn tool(name: &str) -> String {
    json!({"name": name, "description": name, "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}})
        .to_string()
}

impl Host {
    fn new(servers: Value) -> Self {
        let world = Memory::new();
        world.write_home(
            ".tollgate/config.json",
            json!({"mcpServers": servers, "settings": {"token": "s3cret-value"}}).to_string(),
        );
        let gate = Gate::new(world.ports());
        let (exchanges, commands) = (Exchanges::default(), Vec::new());
        Self { world, gate, exchanges, now: 1_000, deadline: None, commands, asked: 0 }
    }

    /// A host with intents, and a session that works for one.
    fn governed(servers: Value) -> Self {
        let mut host = Self::new(servers);
        host.world.write(".orchestration/active_intents.yaml", INTENTS);
        host.perform(json!({"op": "select-intent", "session": "s1", "intent": "INT-1"}));
        host
    }

    fn perform(&mut self, line: Value) -> Value {
        serde_json::from_str(&perform(&mut self.gate, line.to_string().as_bytes())).unwrap()
    }

    fn step(&mut self, inputs: Value) {
        let turn = self.perform(json!({"op": "mcp", "do": "step", "now_ms": self.now, "inputs": inputs}));
        self.deadline = turn["next_deadline_ms"].as_u64();
        self.commands.extend(turn["commands"].as_array().unwrap_or_else(|| panic!("{turn}")).iter().cloned());
    }

    /// Moves the clock, stepping at every deadline on the way.
    fn pass(&mut self, millis: u64) {
        let end = self.now + millis;
        while let Some(deadline) = self.deadline.filter(|deadline| *deadline <= end) {
            self.now = deadline.max(self.now);
            self.step(json!([]));
            assert!(self.deadline.is_none_or(|next| next > self.now), "a step at its deadline leaves nothing due");
        }
        self.now = end;
    }

    /// The commands of a type that have not been taken yet.
    fn take(&mut self, kind: &str) -> Vec<Value> {
        let (taken, left) = std::mem::take(&mut self.commands).into_iter().partition(|command| command["type"] == kind);
        self.commands = left;
        taken
    }

    fn only(&mut self, kind: &str) -> Value {
        let mut taken = self.take(kind);
        assert_eq!(taken.len(), 1, "{kind}: {taken:?}, and {:?}", self.commands);
        taken.remove(0)
    }

    /// Lets the server behind an ordered connection answer.
    fn connect(&mut self, order: &Value, tools: &[String]) {
        let connection = &order["connection"];
        let info = json!({"serverInfo": {"name": "fake", "version": "1"}, "capabilities": {"tools": {}}});
        self.step(json!([{"type": "connected", "connection": connection, "info": info}]));
        assert_eq!(self.only("list")["connection"], *connection);
        self.step(json!([{"type": "listed", "connection": connection, "tools": tools}]));
    }

    fn request(&mut self, method: &str, params: Value) -> u64 {
        self.asked += 1;
        self.step(json!([{"type": "request", "number": self.asked, "method": method, "params": params}]));
        self.asked
    }

    fn call(&mut self, server: &str, tool: &str, arguments: Value) -> u64 {
        let call = format!("c{}", self.asked);
        self.request("call", json!({"server": server, "tool": tool, "arguments": arguments, "session": "s1", "call": call}))
    }

    /// Passes on to the gate what the host was told to pass on, until nothing is left.
    fn exchange(&mut self) -> Vec<Value> {
        let mut told = Vec::new();
        loop {
            let orders = self.take("exchange");
            if orders.is_empty() {
                return told;
            }
            for order in orders {
                let payload = &order["payload"];
                let text = match self.exchanges.respond(&mut self.gate, "generic", None, payload.to_string().as_bytes()) {
                    Progress::Answered(reply) => reply.text,
                    Progress::Waiting(number) => panic!("nobody steps hooks here: {number}"),
                };
                told.push(payload.clone());
                self.step(json!([{"type": "exchanged", "command": order["command"], "text": text}]));
            }
        }
    }

    fn answer(&mut self, order: &Value, result: Value) {
        self.step(json!([{"type": "answered", "command": order["command"], "result": result.to_string()}]));
    }

    fn reply(&mut self, number: u64) -> Value {
        let replies = self.take("reply");
        let found: Vec<&Value> = replies.iter().filter(|reply| reply["number"] == number).collect();
        assert_eq!(found.len(), 1, "{replies:?}, and {:?}", self.commands);
        found[0].get("result").unwrap_or(&found[0]["error"]).clone()
    }

    fn status(&mut self) -> Vec<Value> {
        let number = self.request("status", json!({}));
        self.reply(number)["servers"].as_array().unwrap().clone()
    }

    fn warnings(&self) -> String {
        self.world.logged().iter().map(|(_, line)| format!("{line}\n")).collect()
    }
}

#[test]
fn all_that_are_wanted_are_connected_at_once_and_listed() {
    let mut host = Host::new(
        json!({"a": {"command": "a"}, "b": {"url": "http://localhost:1/mcp"}, "c": {"command": "c", "disabled": true}}),
    );
    let number = host.request("tools", json!({}));
    let orders = host.take("connect");
    assert_eq!(orders.len(), 2);
    assert_eq!(orders[0]["transport"]["argv"], json!(["a"]));
    let limits = json!({"message_bytes": 10_485_760, "garbage_bytes": 1_048_576, "unasked_bytes": 67_108_864, "pages": 20});
    assert_eq!(orders[1]["transport"], json!({"type": "http", "url": "http://localhost:1/mcp", "headers": {}, "limits": limits}));
    host.connect(&orders[0], &[tool("one"), tool("same")]);
    assert!(host.take("reply").is_empty(), "one server is still being connected to");
    host.connect(&orders[1], &[tool("same"), "{\"name\":\"bad\",\"inputSchema\":{\"type\":7}}".to_owned()]);
    let answer = host.reply(number);
    let named = |key: &str| {
        answer["tools"].as_array().unwrap().iter().map(|tool| tool[key].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(named("name"), ["one", "a__same", "b__same"]);
    assert_eq!(named("server"), ["a", "a", "b"]);
    let states: Vec<&str> =
        answer["servers"].as_array().unwrap().iter().map(|server| server["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["connected", "connected", "disabled"]);
    assert!(
        host.warnings().contains("the MCP server `b`: the tool `bad` is left out: in its `inputSchema`, `type` must be"),
        "{}",
        host.warnings()
    );
}

#[test]
fn a_server_that_never_answers_is_given_up_after_ten_seconds_and_the_others_go_on() {
    let mut host = Host::new(json!({"mute": {"command": "m"}, "fine": {"command": "f"}}));
    let number = host.request("status", json!({}));
    let orders = host.take("connect");
    host.connect(&orders[1], &[tool("t")]);
    host.pass(9_999);
    assert!(host.take("reply").is_empty());
    host.pass(1);
    assert_eq!(host.only("disconnect")["connection"], orders[0]["connection"]);
    let answer = host.reply(number);
    assert_eq!(answer["servers"][0]["state"], "unavailable");
    assert_eq!(answer["servers"][0]["why"], "it was not ready in time: it may take 10 s");
    assert_eq!(answer["servers"][1]["state"], "connected");
    // What comes over that connection now belongs to nobody.
    host.step(json!([{"type": "connected", "connection": orders[0]["connection"], "info": {}}]));
    assert!(host.take("list").is_empty());
}

#[test]
fn a_server_that_ends_loses_its_tools_and_is_tried_again_less_and_less_often() {
    let mut host = Host::new(json!({"a": {"command": "a"}, "b": {"command": "b"}}));
    host.step(json!([{"type": "want"}]));
    let orders = host.take("connect");
    host.connect(&orders[0], &[tool("x")]);
    host.connect(&orders[1], &[tool("y")]);
    let listed = host.request("tools/list", json!({}));
    let names = |answer: &Value| -> Vec<String> {
        let tools = answer["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).filter(|name| name.len() == 1).collect()
    };
    assert_eq!(names(&host.reply(listed)), ["x", "y"]);
    host.step(json!([{"type": "closed", "connection": orders[0]["connection"], "kind": "ended", "why": "killed"}]));
    host.only("tools_changed");
    assert!(host.warnings().contains("the MCP server `a` is not available: it ended: killed"), "{}", host.warnings());
    let mut waits = Vec::new();
    for _ in 0..8 {
        let before = host.now;
        let order = host.next_attempt();
        waits.push((host.now - before) / 1_000);
        host.step(json!([{"type": "closed", "connection": order["connection"], "kind": "ended", "why": ""}]));
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    let listed = host.request("tools/list", json!({}));
    assert_eq!(names(&host.reply(listed)), ["y"]);
    let order = host.next_attempt();
    host.connect(&order, &[tool("x")]);
    host.only("tools_changed");
    assert_eq!(host.status()[0]["state"], "connected");
}

impl Host {
    /// Waits until a connection is ordered.
    fn next_attempt(&mut self) -> Value {
        loop {
            if let Some(order) = self.take("connect").pop() {
                return order;
            }
            let due = self.deadline.expect("somebody wants it, so it is tried again");
            self.pass(due - self.now);
        }
    }

    /// A governed host with one server that is connected.
    fn with_tools(tools: &[String]) -> (Self, Value) {
        let mut host = Self::governed(json!({"files": {"command": "files"}}));
        host.step(json!([{"type": "want"}]));
        let order = host.only("connect");
        host.connect(&order, tools);
        (host, order["connection"].clone())
    }
}

/// A server that worked before is not waited for: a caller that needs it gets it at once.
#[test]
fn a_demand_brings_a_server_back_that_worked() {
    let mut host = Host::new(json!({"a": {"command": "a"}}));
    let number = host.request("lookup", json!({"server": "a", "tool": "t", "arguments": {"name": "x"}}));
    let order = host.only("connect");
    host.connect(&order, &[]);
    let sent = host.only("call");
    assert_eq!((&sent["tool"], &sent["arguments"]), (&json!("t"), &json!({"name": "x"})));
    host.step(json!([{"type": "closed", "connection": order["connection"], "kind": "ended", "why": "it crashed"}]));
    let failed = host.reply(number);
    assert_eq!(failed["failed"], "the MCP server `a` ended before `t` had answered: it ended: it crashed");
    let number = host.request("lookup", json!({"server": "a", "tool": "t"}));
    let order = host.only("connect");
    host.connect(&order, &[]);
    let sent = host.only("call");
    host.answer(&sent, json!({"content": [{"type": "text", "text": "known"}]}));
    assert_eq!(host.reply(number), json!({"text": "known"}));
    assert!(host.take("exchange").is_empty(), "a lookup is no call of an agent");
    for (server, expected) in [("none", json!("unavailable")), ("a", json!("unknown"))] {
        let number = host.request("lookup", json!({"server": server, "tool": "t"}));
        if let Some(sent) = host.take("call").pop() {
            host.answer(&sent, json!({"content": []}));
        }
        assert_eq!(host.reply(number), expected);
    }
    // The connection attempt continues, for whoever asks next.
    host.step(json!([{"type": "closed", "connection": order["connection"], "kind": "ended"}]));
    let number = host.request("lookup", json!({"server": "a", "tool": "t", "timeout_ms": 500}));
    let order = host.only("connect");
    host.pass(500);
    assert_eq!(host.reply(number), json!("late"));
    assert!(host.take("disconnect").is_empty());
    host.connect(&order, &[]);
    // A server that ends again before it has answered anything is not retried at every call, but once its wait is over.
    host.step(json!([{"type": "closed", "connection": order["connection"], "kind": "ended"}]));
    host.request("lookup", json!({"server": "a", "tool": "t"}));
    assert!(host.take("connect").is_empty());
    host.pass(2_000);
    host.request("lookup", json!({"server": "a", "tool": "t"}));
    let order = host.only("connect");
    // Neither is a server that cannot even be started.
    host.step(json!([{"type": "closed", "connection": order["connection"], "kind": "missing"}]));
    assert!(host.warnings().contains("its program `a` cannot be found; install it, or correct `command`"), "{}", host.warnings());
    host.request("lookup", json!({"server": "a", "tool": "t"}));
    assert!(host.take("connect").is_empty());
}

#[test]
fn a_call_passes_the_gate_before_and_after() {
    let (mut host, connection) = Host::with_tools(&[tool("write_file")]);
    let number = host.call("files", "write_file", json!({"path": "README.md", "content": "x"}));
    host.exchange();
    let refused = host.reply(number);
    assert_eq!((&refused["outcome"], &refused["success"]), (&json!("refused"), &json!(false)));
    assert!(refused["text"].as_str().unwrap().contains("README.md"), "{refused}");
    assert!(host.take("call").is_empty(), "what is refused does not reach the server");

    let number = host.call("files", "write_file", json!({"path": "src/a.ts", "content": "x"}));
    let told = host.exchange();
    assert_eq!((&told[0]["event"], &told[0]["tool"]), (&json!("before_tool"), &json!("mcp__files__write_file")));
    let sent = host.only("call");
    assert_eq!(sent["connection"], connection);
    host.world.write("src/a.ts", "x");
    host.answer(&sent, json!({"content": [{"type": "text", "text": "written"}]}));
    let told = host.exchange();
    assert_eq!((&told[0]["event"], &told[0]["result"]), (&json!("after_tool"), &json!("written")));
    let done = host.reply(number);
    assert_eq!((&done["outcome"], &done["text"], &done["server"]), (&json!("done"), &json!("written"), &json!("files")));
    let ledger = host.perform(json!({"op": "trace"}));
    let entry = &ledger["entries"][0];
    assert_eq!(entry["intent_id"], "INT-1", "{ledger}");
    assert!(entry.to_string().contains("src/a.ts") && entry.to_string().contains("mcp__files__write_file"), "{entry}");
}

/// `tollgate mcp call` has a session of its own, in which nobody can call `select_active_intent`.
#[test]
fn a_person_without_an_intent_is_told_the_command_that_selects_one() {
    let (mut host, _) = Host::with_tools(&[tool("write_file")]);
    let arguments = json!({"path": "src/a.ts", "content": "x"});
    let call = json!({"server": "files", "tool": "write_file", "arguments": arguments, "session": "mcp-call", "call": "c"});
    let number = host.request("call", call);
    host.exchange();
    let refused = host.reply(number);
    assert_eq!(
        (&refused["outcome"], refused["text"].as_str().unwrap()),
        (
            &json!("refused"),
            "no intent is active in the session `mcp-call`; select one with `tollgate intents select ID --session mcp-call`: INT-1 (Login)"
        )
    );
}

#[test]
fn a_person_decides_where_one_can_be_asked() {
    for (attended, decided, outcome) in [
        (true, json!(true), "done"),
        (true, json!(false), "refused"),
        (true, Value::Null, "refused"),
        (false, Value::Null, "refused"),
    ] {
        let (mut host, _) = Host::with_tools(&[tool("frobnicate")]);
        let params = json!({"server": "files", "tool": "frobnicate", "session": "s1", "call": "c", "attended": attended});
        let number = host.request("call", params);
        host.exchange();
        if attended {
            let ask = host.only("ask");
            assert_eq!(ask["number"], number);
            assert!(ask["message"].as_str().unwrap().starts_with("May `frobnicate` of the MCP server `files` run?"), "{ask}");
            host.step(json!([{"type": "decided", "command": ask["command"], "accepted": decided}]));
        }
        if let Some(sent) = host.take("call").pop() {
            host.answer(&sent, json!({"content": []}));
        }
        host.exchange();
        assert_eq!(host.reply(number)["outcome"], outcome, "{attended} {decided}");
    }
}

#[test]
fn a_call_that_goes_wrong_says_so_and_is_entered() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let listed = json!({"name": "read_n", "inputSchema": schema, "outputSchema": schema}).to_string();
    let reply = |happens: &dyn Fn(&mut Host, &Value, &Value)| {
        let (mut host, connection) = Host::with_tools(std::slice::from_ref(&listed));
        let number = host.call("files", "read_n", json!({"n": 1}));
        host.exchange();
        let sent = host.only("call");
        happens(&mut host, &connection, &sent);
        let told = host.exchange();
        assert_eq!(told.len(), 1, "the gate hears of the end");
        (host.reply(number), host)
    };
    let (failed, _) = reply(&|host, _, sent| {
        host.step(json!([{"type": "answered", "command": sent["command"], "code": -32602, "message": "no"}]));
    });
    assert_eq!(failed["outcome"], "failed");
    assert!(
        failed["text"].as_str().unwrap().contains("does not accept these arguments, or no longer has this tool: no"),
        "{failed}"
    );
    let (late, mut host) = reply(&|host, _, _| host.pass(60_000));
    assert!(late["text"].as_str().unwrap().contains("did not answer within 60 s and was canceled"), "{late}");
    assert_eq!(host.take("cancel").len(), 1);
    let (gone, _) = reply(&|host, connection, _| {
        host.step(json!([{"type": "closed", "connection": connection, "kind": "flood", "why": "64 MiB"}]));
    });
    assert!(gone["text"].as_str().unwrap().contains("it sent more than it may and was cut off: 64 MiB"), "{gone}");
    let (own, _) =
        reply(&|host, _, sent| host.answer(sent, json!({"content": [{"type": "text", "text": "sorry"}], "isError": true})));
    assert_eq!((&own["outcome"], &own["text"]), (&json!("failed"), &json!("sorry")));
    let (garbled, _) = reply(&|host, _, sent| {
        host.step(json!([{"type": "answered", "command": sent["command"], "result": "[1]"}]));
    });
    assert!(garbled["text"].as_str().unwrap().contains("cannot be read: it is not an object"), "{garbled}");
    // A false schema is reported, and the answer is given all the same.
    let (lie, _) = reply(&|host, _, sent| host.answer(sent, json!({"content": [], "structuredContent": {"n": "one"}})));
    assert_eq!(lie["outcome"], "done");
    assert!(
        lie["notes"][0]
            .as_str()
            .unwrap()
            .contains("does not match what the MCP server `files` declares for `read_n`: `n` must be integer"),
        "{lie}"
    );
}

#[test]
fn what_cannot_be_called_is_not_sent() {
    let (mut host, _) = Host::with_tools(&[tool("read_file")]);
    for (server, name, arguments, outcome, said) in [
        ("none", "read_file", json!({}), "unavailable", "there is no MCP server `none`; declared: files"),
        ("files", "fly", json!({}), "unavailable", "the MCP server `files` has no tool `fly`; it has read_file"),
        (
            "files",
            "read_file",
            json!({"path": 1}),
            "failed",
            "the arguments do not fit `read_file` of the MCP server `files`: `path` must be string",
        ),
    ] {
        let number = host.call(server, name, arguments);
        let answer = host.reply(number);
        assert_eq!(answer["outcome"], outcome, "{answer}");
        assert!(answer["text"].as_str().unwrap().contains(said), "{answer}");
    }
    for (method, params, said) in [
        ("fly", json!({}), "`fly` is not a request"),
        ("call", json!({"server": "files", "tool": "x"}), "`session` is missing"),
        ("tools/call", json!({"name": "x", "session": "s", "call": "c", "arguments": []}), "`arguments` must be an object"),
        ("tools/call", json!({"name": "x", "session": "s", "call": "c"}), "no MCP server has a tool `x`"),
    ] {
        let number = host.request(method, params);
        assert!(host.reply(number).as_str().unwrap().contains(said), "{method}");
    }
    assert!(host.take("call").is_empty() && host.take("exchange").is_empty());
}

/// The protocol's own form, by the names under which tools are offered; Tollgate's own tools are among them.
#[test]
fn a_proxy_routes_by_name() {
    let mut host = Host::governed(json!({"a": {"command": "a"}, "b": {"command": "b"}}));
    let listed = host.request("tools/list", json!({}));
    let orders = host.take("connect");
    host.connect(&orders[0], &[tool("read_file"), tool("select_active_intent")]);
    host.connect(&orders[1], &[tool("read_file")]);
    let tools = host.reply(listed)["tools"].as_array().unwrap().clone();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    for name in ["select_active_intent", "a__select_active_intent", "a__read_file", "b__read_file"] {
        assert_eq!(names.iter().filter(|other| **other == name).count(), 1, "{names:?}");
    }
    let meta = tools.iter().find(|tool| tool["name"] == "b__read_file").unwrap()["_meta"].clone();
    assert_eq!(meta, json!({"tollgate/server": "b", "tollgate/tool": "read_file"}));
    let params = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments, "session": "s1", "call": "c"});
    let number = host.request("tools/call", params("b__read_file", json!({"path": "src/a.ts"})));
    host.exchange();
    let sent = host.only("call");
    assert_eq!((&sent["connection"], &sent["tool"]), (&orders[1]["connection"], &json!("read_file")));
    host.answer(&sent, json!({"content": [{"type": "image", "data": "AA==", "mimeType": "image/png"}], "_meta": {"k": 1}}));
    host.exchange();
    let result = host.reply(number);
    assert_eq!(result["content"][0], json!({"type": "image", "data": "AA==", "mimeType": "image/png"}));
    assert_eq!(result["_meta"], json!({"k": 1}));
    // Two servers have it, so the bare name means neither.
    let number = host.request("tools/call", params("read_file", json!({})));
    assert!(host.reply(number).as_str().unwrap().contains("no MCP server has a tool `read_file`"));
    let number = host.request("tools/call", params("select_active_intent", json!({"intent_id": "INT-1"})));
    assert!(host.reply(number)["content"][0]["text"].as_str().unwrap().contains("The active intent is INT-1"));
    let number = host.request("tools/call", params("select_active_intent", json!({"intent_id": "none"})));
    assert_eq!(host.reply(number)["isError"], true);
}

#[test]
fn settings_stand_in_the_order_and_nowhere_else() {
    let header = json!({"Authorization": "Bearer ${settings.token}"});
    let mut host = Host::new(json!({
        "web": {"url": "https://web.example/mcp", "headers": header},
        "unset": {"command": "x", "env": {"KEY": "${settings.none}"}},
    }));
    host.step(json!([{"type": "want"}]));
    let order = host.only("connect");
    assert_eq!(order["transport"]["headers"]["Authorization"], "Bearer s3cret-value");
    host.step(json!([{"type": "closed", "connection": order["connection"], "kind": "denied", "why": "bad token s3cret-value"}]));
    let status = host.status();
    assert_eq!(status[0]["why"], "it does not accept the credentials: bad token [REDACTED]");
    assert_eq!(status[0]["settings"], json!(["token"]));
    assert_eq!(
        (&status[1]["state"], &status[1]["why"]),
        (&json!("refused"), &json!("the setting `none`, which it needs, is not set"))
    );
    host.pass(60_000);
    let order = host.only("connect");
    host.connect(&order, &[tool("get_env")]);
    let number = host.request("lookup", json!({"server": "web", "tool": "get_env"}));
    let sent = host.only("call");
    host.answer(&sent, json!({"content": [{"type": "text", "text": "TOKEN=s3cret-value"}]}));
    assert_eq!(host.reply(number), json!({"text": "TOKEN=[REDACTED]"}));
    let said = format!("{status:?}{}", host.warnings());
    assert!(!said.contains("s3cret"), "{said}");
}

#[test]
fn declarations_that_change_take_effect_at_once() {
    let mut host = Host::new(json!({"a": {"command": "a"}, "b": {"command": "b"}}));
    host.world.write(".tollgate/config.json", r#"{"mcpServers": {"shipped": {"command": "evil"}}}"#);
    host.step(json!([{"type": "want"}]));
    let orders = host.take("connect");
    assert_eq!(orders.len(), 2, "what only the workspace declares is not started");
    host.connect(&orders[0], &[tool("x")]);
    host.connect(&orders[1], &[tool("y")]);
    let status = host.status();
    assert_eq!(status[2]["state"], "refused");
    assert!(status[2]["why"].as_str().unwrap().contains("`tollgate mcp add shipped`"), "{status:?}");
    let number = host.request("lookup", json!({"server": "b", "tool": "y"}));
    host.only("call");
    let servers = json!({"mcpServers": {"a": {"command": "a"}, "b": {"command": "b2"}, "c": {"command": "c"}}});
    host.world.write_home(".tollgate/config.json", servers.to_string());
    host.step(json!([{"type": "reload"}]));
    assert_eq!(host.only("disconnect")["connection"], orders[1]["connection"]);
    assert!(host.reply(number)["failed"].as_str().unwrap().contains("it is no longer declared"));
    let started: Vec<Value> = host.take("connect").into_iter().map(|order| order["transport"]["argv"][0].clone()).collect();
    assert_eq!(started, [json!("b2"), json!("c")]);
}

#[test]
fn a_shutdown_ends_everything_and_answers_everybody() {
    let (mut host, connection) = Host::with_tools(&[tool("read_file")]);
    let number = host.request("lookup", json!({"server": "files", "tool": "read_file"}));
    host.only("call");
    host.step(json!([{"type": "shutdown"}]));
    assert_eq!(host.only("disconnect")["connection"], connection);
    assert!(host.reply(number).as_str().unwrap().contains("shut down"));
    host.only("stopped");
    assert_eq!(host.deadline, None);
}

#[test]
fn whoever_cancels_is_not_answered_and_the_gate_hears_of_it() {
    let (mut host, _) = Host::with_tools(&[tool("read_file")]);
    let number = host.call("files", "read_file", json!({"path": "src/a.ts"}));
    host.exchange();
    host.only("call");
    host.step(json!([{"type": "cancel", "number": number}]));
    host.only("cancel");
    let told = host.exchange();
    assert_eq!(told[0]["error"], "the caller canceled it");
}

/// Whatever a host sends, the gate survives.
#[test]
fn nonsense_is_ignored() {
    let (mut host, connection) = Host::with_tools(&[tool("read_file")]);
    for input in [
        json!(1),
        json!({}),
        json!({"type": "closed"}),
        json!({"type": "closed", "connection": 99}),
        json!({"type": "connected", "connection": connection}),
        json!({"type": "answered", "command": 7, "result": "{}"}),
        json!({"type": "exchanged", "command": null}),
        json!({"type": "request"}),
        json!({"type": "listed", "connection": connection, "tools": [1, null, {}]}),
        json!({"type": "want", "servers": [1, "none"]}),
    ] {
        host.step(json!([input]));
    }
    assert_eq!(host.status()[0]["state"], "connected");
    let answer = host.perform(json!({"op": "mcp", "do": "fly"}));
    assert_eq!(answer["error"]["code"], "invalid_field");
}

#[test]
fn a_server_is_added_to_the_users_settings() {
    let mut host = Host::new(json!({}));
    host.world.write(".tollgate/config.json", r#"{"mcpServers": {"shipped": {"command": "x"}}}"#);
    let mut add = |server: &str, entry: Value, settings: &str| {
        host.perform(json!({"op": "mcp", "do": "add", "server": server, "declaration": entry, "settings": settings}))
    };
    let added = add("web", json!({"url": "https://web.example/mcp"}), "{\n  // mine\n  \"unattended\": true\n}\n");
    let settings = added["settings"].as_str().unwrap();
    assert!(settings.contains("// mine") && settings.contains("https://web.example/mcp"), "{settings}");
    assert_eq!(add("shipped", Value::Null, "")["target"], "x");
    for (server, entry, settings, said) in [
        ("none", Value::Null, "", "the workspace declares no MCP server `none`"),
        ("web", json!({"url": "ftp://x"}), "", "must begin with https://"),
        ("a b", json!({"command": "x"}), "", "a server cannot be named `a b`"),
        ("web", json!({"command": "x"}), "{", "not valid JSON"),
        ("web", json!({"command": "x"}), r#"{"mcpServers": {"web": {}}}"#, "already declares an MCP server `web`"),
    ] {
        let fault = add(server, entry, settings);
        assert!(fault["error"]["message"].as_str().unwrap().contains(said), "{fault}");
    }
}
