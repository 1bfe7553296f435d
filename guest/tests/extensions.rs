//! Extensions under a virtual clock: what is found, what is active, what is brought, what is reported.

use crate::virtual_host::Project;
use serde_json::{Value, json};
use tollgate_guest::ports::memory::HOME;

/// The sample extension, file by file.
const SAMPLE: [(&str, &str); 5] = [
    ("manifest.json", include_str!("../../examples/house-rules/manifest.json")),
    ("hooks/guard.mjs", include_str!("../../examples/house-rules/hooks/guard.mjs")),
    ("hooks/protected.mjs", include_str!("../../examples/house-rules/hooks/protected.mjs")),
    ("server.mjs", include_str!("../../examples/house-rules/server.mjs")),
    ("skills/release-notes/SKILL.md", include_str!("../../examples/house-rules/skills/release-notes/SKILL.md")),
];

const USERS: &str = ".tollgate/extensions";

fn ask(project: &mut Project, fields: Value) -> Value {
    let mut line = json!({"op": "extensions"});
    line.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    project.perform(&line)
}

/// Name and state of every extension, in order.
fn states(project: &mut Project) -> Vec<String> {
    let listed = ask(project, json!({"do": "list"}));
    let rows = listed["extensions"].as_array().unwrap().iter();
    rows.map(|row| {
        format!("{} {} {}", row["name"].as_str().unwrap(), row["source"].as_str().unwrap(), row["state"].as_str().unwrap())
    })
    .collect()
}

fn faults(project: &mut Project) -> Vec<String> {
    let listed = ask(project, json!({"do": "list"}));
    let of = |fault: &Value, key: &str| fault[key].as_str().unwrap().to_owned();
    let faults = listed["faults"].as_array().unwrap().iter();
    faults
        .map(|fault| {
            format!("{}:{}:{} {} {}", of(fault, "file"), fault["line"], fault["column"], of(fault, "path"), of(fault, "message"))
        })
        .collect()
}

fn hooks(project: &mut Project) -> Vec<String> {
    let listed = project.perform(&json!({"op": "hooks", "do": "list"}));
    listed["hooks"].as_array().unwrap().iter().map(|hook| hook["id"].as_str().unwrap().to_owned()).collect()
}

fn manifest(fields: Value) -> String {
    let mut manifest = json!({"name": "x", "version": "1"});
    manifest.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    format!("{manifest:#}")
}

fn with_node(project: &Project) {
    project.world.write("/usr/bin/node", "\u{7f}ELF");
    project.world.write("/bin/sh", "\u{7f}ELF");
}

/// The sample, as the user's own or as the workspace's.
fn sample(of_workspace: bool) -> Project {
    let mut project = Project::new();
    with_node(&project);
    for (path, text) in SAMPLE {
        let path = format!("{USERS}/house-rules/{path}");
        if of_workspace { project.world.write(&path, text) } else { project.world.write_home(&path, text) }
    }
    project.hello();
    project
}

#[test]
fn the_users_are_found_before_the_workspaces() {
    let mut project = Project::new();
    project.hello();
    for (folder, name) in [(".ollm/extensions/b", "b"), (".tollgate/extensions/a", "a")] {
        project.world.write_home(&format!("{folder}/manifest.json"), manifest(json!({"name": name})));
        project.world.write(&format!("{folder}/manifest.json"), manifest(json!({"name": format!("{name}-ws")})));
    }
    project.world.mkdir(".tollgate/extensions/no-manifest");
    project.world.write(".tollgate/extensions/file.txt", "x");
    assert_eq!(
        states(&mut project),
        ["a user disabled", "b user disabled", "a-ws workspace disabled", "b-ws workspace disabled"]
    );
    assert_eq!(faults(&mut project), Vec::<String>::new());
}

#[test]
fn an_invalid_one_is_reported_with_every_fault_and_the_rest_load() {
    let mut project = Project::new();
    project.hello();
    project.world.write_home(".tollgate/config.json", r#"{"extensions": {"autoEnable": true}}"#);
    let broken = "{\n  \"name\": \"bad\",\n  \"mcpServers\": {\n    \"s\": {\"command\": \"x\"}\n  },\n  \"hooks\": [{\"name\": \"h\", \"event\": \"before_tool\"}],\n  \"settings\": [{\"name\": \"t\"}],\n  \"skills\": [{\"name\": \"k\", \"description\": \"d\"}],\n  \"more\": 1\n}\n";
    project.world.write_home(".tollgate/extensions/bad/manifest.json", broken);
    project.world.write_home(".tollgate/extensions/good/manifest.json", manifest(json!({"name": "good"})));
    project.world.write_home(".tollgate/extensions/torn/manifest.json", "{\n \"name\": ");
    assert_eq!(states(&mut project), ["bad user invalid", "good user active", "torn user invalid"]);
    let file = "~/.tollgate/extensions/bad/manifest.json";
    let expected = [
        format!("{file}:9:11 $.more is not known"),
        format!("{file}:1:1 $ has no `version`"),
        format!("{file}:7:16 $.settings[0] has no `description`"),
        format!("{file}:8:14 $.skills[0] has no `prompt`"),
        format!("{file}:4:10 $.mcpServers.s has no `args`"),
        format!("{file}:6:13 $.hooks[0] must have one of `prompt`, `command` and `component`"),
        "~/.tollgate/extensions/torn/manifest.json:2:9 $ is not valid JSON".to_owned(),
    ];
    let found = faults(&mut project);
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    assert!(found.iter().zip(&expected).all(|(found, expected)| found.starts_with(expected)), "{found:#?}");
    assert!(project.log_text().contains("the extension `bad` is skipped: `~/.tollgate/extensions/bad/manifest.json`, line 9"));
    // A hook with a missing field is as bad as any other fault, and nothing is brought by half.
    let hooks_of = json!({"name": "half", "hooks": [{"name": "a", "event": "e", "command": "x"}, {"name": "b", "event": "e"}]});
    project.world.write_home(".tollgate/extensions/half/manifest.json", manifest(hooks_of));
    assert!(states(&mut project).contains(&"half user invalid".to_owned()));
    assert_eq!(hooks(&mut project), Vec::<String>::new());
}

#[test]
fn a_manifest_needs_what_each_part_needs() {
    let server = |entry: Value| json!({"mcpServers": {"s": entry}});
    let hook = |hook: Value| json!({"hooks": [hook]});
    let setting = |setting: Value| json!({"settings": [setting]});
    let skill = |skill: Value| json!({"skills": [skill]});
    let good_skill = json!({"name": "k", "description": "d", "prompt": "p"});
    let good_setting = json!({"name": "t", "description": "d"});
    let with = |base: &Value, more: Value| {
        let mut all = base.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    for (fields, said) in [
        (json!({}), ""),
        (json!({"name": ""}), "$.name must be a string"),
        (json!({"name": "a b"}), "$.name must be 1 to 64"),
        (json!({"name": "a\u{1b}[2J"}), "$.name must be a string of one line"),
        (json!({"name": "../x"}), "$.name must be 1 to 64"),
        (json!({"name": 3}), "$.name must be a string"),
        (json!({"version": null}), "$.version must be a string"),
        (json!({"schemaVersion": 2}), "$.schemaVersion must be 1"),
        (json!({"mcpServers": []}), "$.mcpServers must be an object"),
        (server(json!({"command": "x", "args": []})), ""),
        (server(json!({"args": []})), "$.mcpServers.s cannot be used: it has neither"),
        (server(json!({"command": "x"})), "$.mcpServers.s has no `args`"),
        (server(json!({"command": "x", "args": ["../y"]})), "$.mcpServers.s.args names `../y`"),
        (server(json!({"command": "../x", "args": []})), "$.mcpServers.s.command names `../x`"),
        (server(json!({"command": "x", "args": [], "cwd": "a/../.."})), "$.mcpServers.s.cwd names"),
        (
            server(json!({"command": "x", "args": [], "env": {"A=B": "c"}})),
            "$.mcpServers.s cannot be used: `env` has an invalid name",
        ),
        (
            server(json!({"command": "x", "args": [], "env": {"A": "${settings.no}"}})),
            "$.mcpServers.s refers to the setting `no`",
        ),
        (server(json!({"command": "x", "args": ["${settings.t}"]})), "$.mcpServers.s.args cannot contain settings"),
        (server(json!({"url": "https://a.example/mcp"})), "$.mcpServers.s cannot be used: `url` leads to `a.example`"),
        (server(json!({"url": "https://a.example/mcp", "allowedHosts": ["a.example"]})), ""),
        (hook(json!({"name": "h", "event": "before_tool", "command": ["x"]})), ""),
        (hook(json!({"name": "h", "event": "before_tool"})), "$.hooks[0] must have one of"),
        (hook(json!({"event": "before_tool", "command": ["x"]})), "$.hooks[0] has no `id`"),
        (hook(json!({"name": "h", "command": ["x"]})), "$.hooks[0] has no `trigger`"),
        (hook(json!({"name": "h", "event": "e", "command": ["sh", "../../x.sh"]})), "$.hooks[0].command names `../../x.sh`"),
        (hook(json!(3)), "$.hooks[0] must be an object"),
        (json!({"hooks": 3}), "$.hooks must be a list"),
        (json!({"hooks": "../hooks.json"}), "$.hooks names `../hooks.json`"),
        (
            json!({"hooks": [{"name": "h", "event": "e", "prompt": "p"}, {"name": "h", "event": "e", "prompt": "p"}]}),
            "$.hooks[1] has the same name as another",
        ),
        (setting(good_setting.clone()), ""),
        (setting(json!({"name": "t"})), "$.settings[0] has no `description`"),
        (setting(json!({"description": "d"})), "$.settings[0] has no `name`"),
        (setting(with(&good_setting, json!({"envVar": "A=B"}))), "$.settings[0].envVar must be the name of a variable"),
        (setting(with(&good_setting, json!({"type": "list"}))), "$.settings[0].type must be"),
        (setting(with(&good_setting, json!({"default": 3}))), "$.settings[0].default must be a string"),
        (setting(with(&good_setting, json!({"sensitive": true, "default": "x"}))), "$.settings[0].default is not allowed"),
        (json!({"settings": [good_setting, good_setting]}), "$.settings[1].name `t` appears twice"),
        (skill(good_skill.clone()), ""),
        (skill(json!({"name": "k", "prompt": "p"})), "$.skills[0] has no `description`"),
        (skill(json!({"name": "k", "description": "d"})), "$.skills[0] has no `prompt`"),
        (skill(with(&good_skill, json!({"prompt": "{{who}}"}))), "$.skills[0].prompt has the placeholder `who`"),
        (
            skill(with(&good_skill, json!({"parameters": [{"name": "a"}, {"name": "a"}]}))),
            "$.skills[0].parameters[1].name `a` appears twice",
        ),
        (json!({"components": [{"name": "c", "path": "/etc/passwd"}]}), "$.components[0].path names"),
        (json!({"components": [{"name": "c", "path": "c.wasm"}]}), "$.components names `c.wasm`, which is not a file"),
    ] {
        let mut project = Project::new();
        project.hello();
        project.world.write(".tollgate/extensions/x/manifest.json", manifest(fields.clone()));
        let found = faults(&mut project);
        let expected = if said.is_empty() { found.is_empty() } else { found.iter().any(|fault| fault.contains(said)) };
        assert!(expected, "{fields}: {found:#?}");
    }
}

#[test]
fn what_could_be_an_attack_is_refused_with_a_reason() {
    let mut project = Project::new();
    project.hello();
    project.world.write_home(".tollgate/config.json", r#"{"extensions": {"autoEnable": true}}"#);
    project.world.write("elsewhere/manifest.json", manifest(json!({"name": "linked"})));
    project.world.symlink("../../elsewhere", ".tollgate/extensions/linked");
    project.world.symlink("../../../elsewhere/manifest.json", ".tollgate/extensions/file-linked/manifest.json");
    project.world.write(".tollgate/extensions/deep/manifest.json", format!("{}{}", "[".repeat(200), "]".repeat(200)));
    project.world.write(".tollgate/extensions/twice/manifest.json", r#"{"name": "a", "name": "b", "version": "1"}"#);
    project.world.write(".tollgate/extensions/large/manifest.json", " ".repeat(2 << 20));
    project.world.write_home(".tollgate/extensions/one/manifest.json", manifest(json!({"name": "same"})));
    project.world.write(".tollgate/extensions/two/manifest.json", manifest(json!({"name": "same"})));
    let found = faults(&mut project);
    for said in [
        ".tollgate/extensions/linked:1:1 $ is a link",
        ".tollgate/extensions/file-linked/manifest.json:1:1 $ `manifest.json` is a link",
        ".tollgate/extensions/deep/manifest.json:1:128 $ is not valid JSON: recursion limit",
        ".tollgate/extensions/twice/manifest.json:1:10 $.name appears twice",
        ".tollgate/extensions/large/manifest.json:1:1 $ `manifest.json` cannot be read: it is too large",
        ".tollgate/extensions/two/manifest.json:1:1 $.name `same` is already the name of `~/.tollgate/extensions/one`",
    ] {
        assert!(found.iter().any(|fault| fault.starts_with(said)), "{said}: {found:#?}");
    }
    assert_eq!(found.len(), 6, "{found:#?}");
    let active: Vec<String> = states(&mut project).into_iter().filter(|state| !state.ends_with(" invalid")).collect();
    assert_eq!(active, ["same user active"]);
}

#[test]
fn hooks_servers_and_skills_come_and_go_with_the_extension() {
    let mut project = sample(false);
    assert_eq!(states(&mut project), ["house-rules user disabled"]);
    assert_eq!(hooks(&mut project), Vec::<String>::new());
    let enabled = ask(&mut project, json!({"do": "enable", "id": "house-rules"}));
    assert_eq!(enabled, json!({"id": "house-rules", "file": "~/.tollgate/config.json", "state": "active"}));
    assert_eq!(hooks(&mut project), ["house-rules:guard"]);
    assert_eq!(skills(&mut project), ["explain-rule", "release-notes"]);
    // The hook runs with the extension's own file and its settings.
    let number = project.ask("before_tool", json!({"tool_name": "write", "args": {"filePath": "LICENSE"}}));
    let run = project.only_run();
    assert_eq!(run["argv"], json!(["node", "/home/user/.tollgate/extensions/house-rules/hooks/guard.mjs"]));
    let set = run["set"].as_object().unwrap();
    assert_eq!((&set["HOUSE_RULES_PROTECTED"], &set["TOLLGATE_HOOK"]), (&json!("LICENSE"), &json!("house-rules:guard")));
    project.done(&run, json!({"exit": 0, "stdout": r#"{"continue": false, "systemMessage": "no"}"#, "stderr": ""}));
    assert_eq!(project.answer(number)["continue"], false);
    let disabled = ask(&mut project, json!({"do": "disable", "id": "house-rules"}));
    assert_eq!(disabled["state"], "disabled");
    assert_eq!((hooks(&mut project), skills(&mut project)), (Vec::new(), Vec::new()));
    let nobody = project.perform(&json!({"op": "event", "event": "before_tool", "session": "s1", "data": {}}));
    assert_eq!(nobody["continue"], true, "{nobody}");
    let kept: Value = serde_json::from_slice(&project.world.content("/home/user/.tollgate/config.json").unwrap()).unwrap();
    assert_eq!(kept, json!({"extensions": {"enabled": [], "disabled": ["house-rules"]}}));
    ask(&mut project, json!({"do": "enable", "id": "house-rules"}));
    assert_eq!(hooks(&mut project), ["house-rules:guard"]);
}

/// The orders that follow if all MCP servers are wanted, and every server's name and state after that.
fn servers(project: &mut Project) -> (Vec<Value>, Vec<String>) {
    let inputs = json!([{"type": "want"}, {"type": "request", "number": 1, "method": "declared"}]);
    let turn = project.perform(&json!({"op": "mcp", "do": "step", "now_ms": 1, "inputs": inputs}));
    let (replies, orders): (Vec<Value>, Vec<Value>) =
        turn["commands"].as_array().unwrap().iter().cloned().partition(|command| command["type"] == "reply");
    let shown = |server: &Value| format!("{} {}", server["name"].as_str().unwrap(), server["state"].as_str().unwrap());
    (orders, replies[0]["result"]["servers"].as_array().unwrap().iter().map(shown).collect())
}

#[test]
fn servers_of_an_extension_are_connected_while_it_is_active() {
    let mut project = sample(false);
    project.world.set_variable("HOUSE_RULES_TOKEN", "s3cret-value");
    assert_eq!(servers(&mut project), (Vec::new(), Vec::new()));
    ask(&mut project, json!({"do": "enable", "id": "house-rules"}));
    let (orders, states) = servers(&mut project);
    assert_eq!(states, ["rules connecting"]);
    let transport = &orders[0]["transport"];
    let script = "/home/user/.tollgate/extensions/house-rules/server.mjs";
    assert_eq!((&orders[0]["type"], &transport["argv"]), (&json!("connect"), &json!(["node", script])));
    assert_eq!(transport["set"], json!({"RULES_TOKEN": "s3cret-value"}));
    ask(&mut project, json!({"do": "disable", "id": "house-rules"}));
    let (orders, states) = servers(&mut project);
    assert_eq!((orders[0]["type"].as_str(), states), (Some("disconnect"), Vec::new()));
}

#[test]
fn a_workspaces_server_is_started_only_as_approved() {
    let mut project = sample(true);
    ask(&mut project, json!({"do": "enable", "id": "house-rules"}));
    assert_eq!(servers(&mut project), (Vec::new(), Vec::new()));
    assert_eq!(ask(&mut project, json!({"do": "approve", "id": "house-rules"}))["state"], "active");
    assert_eq!(servers(&mut project).1, ["rules connecting"]);
    // It is changed after it was inspected: what counts is what is there when it is started.
    let mut project = sample(true);
    ask(&mut project, json!({"do": "approve", "id": "house-rules"}));
    let request = |project: &mut Project, method: &str| {
        let request = json!({"type": "request", "number": 1, "method": method});
        project.perform(&json!({"op": "mcp", "do": "step", "now_ms": 1, "inputs": [request]}))["commands"].clone()
    };
    assert_eq!(request(&mut project, "declared")[0]["result"]["servers"][0]["state"], "idle");
    project.world.write(&format!("{USERS}/house-rules/server.mjs"), "evil()");
    let commands = request(&mut project, "status");
    assert_eq!(commands[0]["type"], "reply", "{commands}");
    let server = &commands[0]["result"]["servers"][0];
    assert!(server["why"].as_str().unwrap().contains("it has changed since it was approved"), "{server}");
}

#[test]
fn new_ones_count_at_once_where_that_is_configured() {
    let mut project = Project::new();
    project.hello();
    project.world.write_home(".tollgate/config.json", "{\n  // mine\n  \"extensions\": {\"autoEnable\": true}\n}\n");
    let prompt = json!({"hooks": [{"name": "h", "event": "before_tool", "prompt": "p"}]});
    project.world.write_home(".tollgate/extensions/x/manifest.json", manifest(prompt));
    assert_eq!((states(&mut project), hooks(&mut project)), (vec!["x user active".to_owned()], vec!["x:h".to_owned()]));
    ask(&mut project, json!({"do": "disable", "id": "x"}));
    let kept = String::from_utf8(project.world.content("/home/user/.tollgate/config.json").unwrap()).unwrap();
    assert!(kept.contains("// mine") && kept.contains("\"disabled\""), "{kept}");
    assert_eq!(states(&mut project), ["x user disabled"]);
    // A file that cannot be used is left alone, and says so.
    project.world.write_home(".tollgate/config.json", r#"{"extensions": 3}"#);
    assert_eq!(states(&mut project), ["x user disabled"]);
    let answer = ask(&mut project, json!({"do": "enable", "id": "x"}));
    assert!(answer["error"]["message"].as_str().unwrap().contains("is left alone: `extensions` must be an object"), "{answer}");
}

#[test]
fn a_workspaces_extension_counts_once_approved_and_no_longer_when_changed() {
    let mut project = sample(true);
    ask(&mut project, json!({"do": "enable", "id": "house-rules"}));
    assert_eq!(states(&mut project), ["house-rules workspace unapproved"]);
    assert_eq!((hooks(&mut project), skills(&mut project)), (Vec::new(), Vec::new()));
    let shown = ask(&mut project, json!({"do": "show", "id": "house-rules"}));
    let brings: Vec<&str> = shown["shows"]["brings"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    assert_eq!(
        brings,
        [
            "hook `guard`: at `before_tool` runs `node hooks/guard.mjs`",
            "MCP server `rules`: starts `node server.mjs`, with the variables RULES_TOKEN",
            "setting `protected` (string, reads the variable HOUSE_RULES_PROTECTED and gives it to the extension's programs): Files that no agent may change, separated by commas",
            "setting `token` (secret, reads the variable HOUSE_RULES_TOKEN and gives it to the extension's programs): What the rules' server asks for before it tells the private rules",
            "skill `explain-rule` (topic, tone): Explains one of the rules to somebody who is new here",
            "skill `release-notes` (arguments): Writes release notes from what the ledger says",
        ]
    );
    assert_eq!(shown["shows"]["files"].as_array().unwrap().len(), 5);
    let wrong = ask(&mut project, json!({"do": "approve", "id": "house-rules", "digest": "sha256:00"}));
    assert!(wrong["error"]["message"].as_str().unwrap().contains("has changed since it was shown"), "{wrong}");
    let approved = ask(&mut project, json!({"do": "approve", "id": "house-rules", "digest": shown["digest"]}));
    assert_eq!(approved["state"], "active", "{approved}");
    assert_eq!(hooks(&mut project), ["house-rules:guard"]);
    let guard = project.perform(&json!({"op": "hooks", "do": "show", "id": "house-rules:guard"}));
    assert_eq!((&guard["trust"], &guard["source"]), (&json!("approved"), &json!("workspace")), "{guard}");
    // It runs from a copy of the whole folder.
    project.ask("before_tool", json!({"tool_name": "write", "args": {}}));
    let run = project.only_run();
    assert_eq!(run["argv"], json!(["/usr/bin/node", ".tollgate/extensions/house-rules/hooks/guard.mjs"]));
    assert_eq!(run["copy"]["files"].as_array().unwrap().len(), 5, "{run}");
    project.done(&run, json!({"exit": 0, "stdout": "", "stderr": ""}));
    // Another file of the folder changes: the hook is skipped, servers and skills are gone.
    project.world.write(".tollgate/extensions/house-rules/server.mjs", "evil()");
    project.ask("before_tool", json!({"tool_name": "write", "args": {}}));
    assert!(project.runs().is_empty());
    assert!(project.ended().contains(&"house-rules:guard skipped".to_owned()), "{:?}", project.ended());
    assert_eq!(skills(&mut project), Vec::<String>::new());
    // Approved again, it is active again; revoked, it is not.
    let again = ask(&mut project, json!({"do": "approve", "id": "house-rules"}));
    assert_eq!(again["state"], "active");
    assert_eq!(skills(&mut project).len(), 2);
    ask(&mut project, json!({"do": "revoke", "id": "house-rules"}));
    assert_eq!(states(&mut project), ["house-rules workspace unapproved"]);
}

#[test]
fn what_the_workspace_sets_is_part_of_what_is_approved() {
    let mut project = sample(true);
    ask(&mut project, json!({"do": "approve", "id": "house-rules"}));
    assert_eq!(states(&mut project), ["house-rules workspace active"]);
    project.world.write(".tollgate/config.json", r#"{"extensions": {"settings": {"house-rules": {"protected": ""}}}}"#);
    assert_eq!(states(&mut project), ["house-rules workspace changed"]);
    // A repository cannot disable what the user has.
    let mut project = sample(false);
    ask(&mut project, json!({"do": "enable", "id": "house-rules"}));
    project.world.write(".tollgate/config.json", r#"{"extensions": {"disabled": ["house-rules"], "autoEnable": false}}"#);
    assert_eq!(states(&mut project), ["house-rules user active"]);
}

/// An approval says what it covers. One from a version that covered less, or from a later version, is asked for again.
#[test]
fn an_approval_of_another_format_is_asked_for_again() {
    let mut project = sample(true);
    ask(&mut project, json!({"do": "approve", "id": "house-rules"}));
    let file = format!("{HOME}/.tollgate/trusted-hooks.json");
    let kept = String::from_utf8(project.world.content(&file).unwrap()).unwrap();
    assert_eq!(kept.matches("\"format\": 1").count(), 1, "{kept}");
    for (format, state, why) in
        [("0", "changed", Some("another version")), ("2", "changed", Some("another version")), ("1", "active", None)]
    {
        project.world.write(&file, kept.replace("\"format\": 1", &format!("\"format\": {format}")));
        assert_eq!(states(&mut project), [format!("house-rules workspace {state}")]);
        let shown = ask(&mut project, json!({"do": "show", "id": "house-rules"}));
        let said = shown["why"].as_str();
        assert_eq!(said.is_some(), why.is_some(), "{shown}");
        assert!(said.is_none_or(|said| said.contains(why.unwrap()) && !said.contains("it has changed")), "{shown}");
    }
}

#[test]
fn a_home_folder_in_the_workspace_is_the_workspaces() {
    let mut project = Project::new();
    project.hello();
    project.world.write("dotfiles/tollgate/extensions/x/manifest.json", manifest(json!({})));
    project.world.write_home(".tollgate/config.json", r#"{"extensions": {"autoEnable": true}}"#);
    project.world.symlink("/workspace/dotfiles/tollgate/extensions", "/home/user/.ollm/extensions");
    let found = faults(&mut project);
    assert!(found.len() == 1 && found[0].contains("~/.ollm/extensions:1:1 $ is a link"), "{found:?}");
    assert_eq!(states(&mut project), Vec::<String>::new());
}

fn values(project: &mut Project, id: &str) -> Vec<String> {
    let shown = ask(project, json!({"do": "show", "id": id}));
    let of = |set: &Value| format!("{}={} {}", set["name"].as_str().unwrap(), set["value"], set["from"].as_str().unwrap_or("-"));
    shown["settings"].as_array().unwrap().iter().map(of).collect()
}

fn with_settings(settings: Value) -> Project {
    let mut project = Project::new();
    project.hello();
    project.world.write_home(".tollgate/config.json", r#"{"extensions": {"autoEnable": true}}"#);
    project.world.write_home(".tollgate/extensions/x/manifest.json", manifest(json!({"settings": settings})));
    project
}

#[test]
fn settings_are_merged_by_who_says_them() {
    let settings = json!([
        {"name": "a", "description": "d", "default": "default", "envVar": "X_A", "workspace": true},
        {"name": "n", "description": "d", "type": "number", "default": 1},
        {"name": "b", "description": "d", "type": "boolean", "envVar": "X_B"},
    ]);
    let mut project = with_settings(settings);
    assert_eq!(values(&mut project, "x"), [r#"a="default" default"#, "n=1 default", "b=null none"]);
    // A workspace can set only what the setting of a user's extension lets it set.
    project.world.write(".tollgate/config.json", r#"{"extensions": {"settings": {"x": {"a": "workspace", "n": 5}}}}"#);
    assert_eq!(values(&mut project, "x"), [r#"a="workspace" workspace"#, "n=1 default", "b=null none"]);
    let set = ask(&mut project, json!({"do": "set", "id": "x", "key": "n", "value": "7"}));
    assert_eq!(set, json!({"id": "x", "key": "n", "file": "~/.tollgate/config.json", "state": "active"}));
    ask(&mut project, json!({"do": "set", "id": "x", "key": "a", "value": "user"}));
    assert_eq!(values(&mut project, "x"), [r#"a="user" user"#, "n=7 user", "b=null none"]);
    ask(&mut project, json!({"do": "set", "id": "x", "key": "a"}));
    assert_eq!(values(&mut project, "x")[0], r#"a="workspace" workspace"#);
}

#[test]
fn a_setting_is_read_from_its_variable() {
    let mut project = Project::new();
    project.world.set_variable("X_A", "from the environment");
    project.world.set_variable("X_EMPTY", "");
    project.world.set_variable("X_N", "12");
    project.world.set_variable("OTHER", "nobody's business");
    project.hello();
    project
        .world
        .write_home(".tollgate/config.json", r#"{"extensions": {"autoEnable": true, "settings": {"x": {"a": "user"}}}}"#);
    let settings = json!([
        {"name": "a", "description": "d", "envVar": "X_A"},
        {"name": "e", "description": "d", "envVar": "X_EMPTY", "default": "d"},
        {"name": "n", "description": "d", "envVar": "X_N", "type": "number"},
    ]);
    let hook = json!([{"name": "h", "event": "before_tool", "command": ["check"]}]);
    project.world.write_home(".tollgate/extensions/x/manifest.json", manifest(json!({"settings": settings, "hooks": hook})));
    let expected = [r#"a="from the environment" environment"#, r#"e="d" default"#, "n=12 environment"];
    assert_eq!(values(&mut project, "x"), expected);
    project.ask("before_tool", json!({}));
    let set = project.only_run()["set"].clone();
    assert_eq!((&set["X_A"], &set["X_N"], &set["X_EMPTY"]), (&json!("from the environment"), &json!("12"), &json!("d")));
    assert!(set.get("OTHER").is_none());
}

#[test]
fn values_are_held_to_their_definitions() {
    let settings = json!([
        {"name": "n", "description": "d", "type": "number", "envVar": "X_N"},
        {"name": "c", "description": "d", "enum": ["red", "green"]},
    ]);
    let mut project = with_settings(settings.clone());
    for (key, value, said) in [
        ("n", json!("many"), "the setting `n` of `x` must be a number"),
        ("c", json!("blue"), "the setting `c` of `x` must be one of \"red\", \"green\""),
        ("c", json!(3), "the setting `c` of `x` must be a string"),
        ("z", json!("x"), "there is no setting `z`; expected one of: n, c"),
    ] {
        let answer = ask(&mut project, json!({"do": "set", "id": "x", "key": key, "value": value}));
        assert!(answer["error"]["message"].as_str().unwrap().contains(said), "{answer}");
    }
    assert_eq!(states(&mut project), ["x user active"]);
    // A value that is in a file already, or in the environment, disables the extension instead.
    project
        .world
        .write_home(".tollgate/config.json", r#"{"extensions": {"autoEnable": true, "settings": {"x": {"c": "blue"}}}}"#);
    assert_eq!(states(&mut project), ["x user incomplete"]);
    let mut project = with_settings(settings);
    project.world.set_variable("X_N", "many");
    assert_eq!(states(&mut project), ["x user incomplete"]);
    let shown = ask(&mut project, json!({"do": "show", "id": "x"}));
    assert_eq!(shown["why"], "the setting `n`: the variable `X_N` must be a number");
}

#[test]
fn a_missing_setting_disables_the_extension_and_says_how_to_set_it() {
    let mut project = Project::new();
    project.hello();
    project.world.write_home(".tollgate/config.json", r#"{"extensions": {"autoEnable": true}}"#);
    let fields = json!({
        "settings": [{"name": "key", "description": "d", "required": true, "envVar": "X_KEY"}],
        "hooks": [{"name": "h", "event": "before_tool", "prompt": "p"}],
    });
    project.world.write_home(".tollgate/extensions/x/manifest.json", manifest(fields));
    assert_eq!((states(&mut project), hooks(&mut project)), (vec!["x user incomplete".to_owned()], Vec::new()));
    let said = "the extension `x` is disabled: the setting `key`: it is required and not set; set it with `tollgate extensions set x key`, or set the variable `X_KEY`";
    assert!(project.log_text().contains(said), "{}", project.log_text());
    ask(&mut project, json!({"do": "set", "id": "x", "key": "key", "value": "there"}));
    assert_eq!((states(&mut project), hooks(&mut project)), (vec!["x user active".to_owned()], vec!["x:h".to_owned()]));
}

#[test]
fn a_secret_is_kept_apart_and_never_shown() {
    let settings = json!([{"name": "token", "description": "d", "sensitive": true, "required": true, "envVar": "X_TOKEN"}]);
    let mut project = with_settings(settings);
    assert_eq!(states(&mut project), ["x user incomplete"]);
    let short = ask(&mut project, json!({"do": "set", "id": "x", "key": "token", "value": "abc"}));
    assert!(short["error"]["message"].as_str().unwrap().contains("at least 4 characters"), "{short}");
    let secret = "correct horse \"battery\"";
    let set = ask(&mut project, json!({"do": "set", "id": "x", "key": "token", "value": secret}));
    assert_eq!(set, json!({"id": "x", "key": "token", "file": "~/.tollgate/secrets.json", "state": "active"}));
    assert_eq!(values(&mut project, "x"), [r#"token="[REDACTED]" secrets"#]);
    // Nothing that is said or written down reveals it, not even in JSON's notation.
    let hooks = json!([{"name": "h", "event": "before_tool", "command": ["check"]}]);
    let settings = json!([{"name": "token", "description": "d", "sensitive": true, "envVar": "X_TOKEN"}]);
    project.world.write_home(".tollgate/extensions/x/manifest.json", manifest(json!({"settings": settings, "hooks": hooks})));
    project.ask("before_tool", json!({}));
    let run = project.only_run();
    assert_eq!(run["set"]["X_TOKEN"], secret, "its own programs are given it");
    let printed = json!({"said": secret}).to_string();
    project.done(&run, json!({"exit": 1, "stdout": printed, "stderr": format!("cannot log in with {secret}")}));
    let everything = format!("{:?}{}", project.records(), project.log_text());
    assert!(!everything.contains("battery") && everything.contains("[REDACTED]"), "{everything}");
    // In plain sight it does not count.
    ask(&mut project, json!({"do": "set", "id": "x", "key": "token"}));
    project
        .world
        .write_home(".tollgate/config.json", r#"{"extensions": {"autoEnable": true, "settings": {"x": {"token": "abcdef"}}}}"#);
    let shown = ask(&mut project, json!({"do": "show", "id": "x"}));
    assert!(shown["why"].as_str().unwrap().contains("does not belong in `config.json`"), "{shown}");
    assert!(!shown.to_string().contains("abcdef"));
}

#[test]
fn a_secret_can_be_in_the_systems_keyring() {
    let settings = json!([{"name": "token", "description": "d", "sensitive": true}]);
    let mut project = with_settings(settings.clone());
    let asked = ask(&mut project, json!({"do": "setting", "id": "x", "key": "token"}));
    assert_eq!(asked["stored_as"], "x/token");
    project.world.set_secret("x/token", "from the keyring");
    ask(&mut project, json!({"do": "set", "id": "x", "key": "token", "keyring": true}));
    let file = String::from_utf8(project.world.content("/home/user/.tollgate/secrets.json").unwrap()).unwrap();
    assert!(!file.contains("from the keyring"), "{file}");
    assert_eq!(values(&mut project, "x"), [r#"token="[REDACTED]" keyring"#]);
    // A host without a keyring reports that instead of going on without it.
    let mut project = with_settings(settings);
    ask(&mut project, json!({"do": "set", "id": "x", "key": "token", "keyring": true}));
    assert_eq!(states(&mut project), ["x user incomplete"]);
    // A workspace's extension of the same name has none of the user's secrets.
    let mut project = sample(true);
    let asked = ask(&mut project, json!({"do": "setting", "id": "house-rules", "key": "token"}));
    assert_eq!(asked["stored_as"], "house-rules@/workspace/token");
}

/// Reading is free, but not reading secrets.
#[test]
fn an_agent_does_not_read_the_secrets() {
    let mut project = Project::new();
    project.world.write(".orchestration/active_intents.yaml", "[{id: I, name: I, status: IN_PROGRESS, owned_scope: ['**']}]");
    project.world.write_home(".tollgate/secrets.json", "{}");
    project.world.symlink("/home/user/.tollgate/secrets.json", "notes.txt");
    project.hello();
    project.perform(&json!({"op": "select-intent", "session": "s", "intent": "I"}));
    for (tool, args) in [
        ("read", json!({"filePath": "/home/user/.tollgate/secrets.json"})),
        ("read", json!({"filePath": "notes.txt"})),
        ("bash", json!({"command": "cat ~/.tollgate/secrets.json"})),
        ("bash", json!({"command": "cp notes.txt copy.txt"})),
    ] {
        let ruling = project.perform(&json!({"op": "pre-tool", "session": "s", "call": "c", "tool": tool, "args": args}));
        assert_eq!((&ruling["verdict"], &ruling["code"]), (&json!("deny"), &json!("control_file")), "{args}: {ruling}");
    }
    let other = json!({"op": "pre-tool", "session": "s", "call": "c", "tool": "read", "args": {"filePath": "/home/user/.tollgate/config.json"}});
    assert_eq!(project.perform(&other)["verdict"], "allow");
}

/// A variable is not read for an extension that nobody has approved.
#[test]
fn nothing_is_read_for_an_extension_that_does_not_count() {
    let mut project = Project::new();
    project.world.set_variable("AWS_SECRET_ACCESS_KEY", "abcdefgh");
    project.hello();
    let settings = json!([{"name": "k", "description": "d", "envVar": "AWS_SECRET_ACCESS_KEY", "sensitive": true}]);
    project.world.write(".tollgate/extensions/x/manifest.json", manifest(json!({"settings": settings})));
    project.world.write(".tollgate/config.json", r#"{"extensions": {"enabled": ["x"]}}"#);
    assert_eq!(states(&mut project), ["x workspace unapproved"]);
    assert_eq!(values(&mut project, "x"), ["k=null -"]);
}

fn skills(project: &mut Project) -> Vec<String> {
    let listed = project.perform(&json!({"op": "skills", "do": "list"}));
    listed["skills"].as_array().unwrap().iter().map(|skill| skill["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_skill_is_invoked_by_name_with_its_parameters() {
    let mut project = sample(false);
    ask(&mut project, json!({"do": "enable", "id": "house-rules"}));
    let invoke = |project: &mut Project, id: &str, args: Value| {
        project.perform(&json!({"op": "skills", "do": "invoke", "id": id, "args": args}))
    };
    let invoked = invoke(&mut project, "explain-rule", json!({"topic": "tests {{tone}}"}));
    let prompt = "Explain the rule about tests {{tone}} to somebody who is new here, in plain words, with one example from this repository.";
    assert_eq!(invoked["prompt"], prompt, "what is filled in is not filled again");
    let qualified = invoke(&mut project, "house-rules:explain-rule", json!({"topic": "x", "tone": "formal"}));
    assert!(qualified["prompt"].as_str().unwrap().contains("in formal words"), "{qualified}");
    let notes = invoke(&mut project, "release-notes", json!({"arguments": "since May"}));
    assert!(notes["prompt"].as_str().unwrap().ends_with("\n\nsince May"), "{notes}");
    for (id, args, said) in [
        ("explain-rule", json!({}), "`explain-rule` needs the parameter `topic`"),
        ("explain-rule", json!({"topic": "x", "tone": "rude"}), "must be one of plain, formal"),
        ("explain-rule", json!({"topic": "x", "who": "me"}), "has no parameter `who`; use one of: topic, tone"),
        ("explain-rule", json!({"topic": ["x"]}), "must be a string"),
        ("explain-rule", json!("x"), "must be an object of parameters"),
        ("nothing", json!({}), "there is no skill `nothing`; expected one of: explain-rule, release-notes"),
    ] {
        let answer = invoke(&mut project, id, args.clone());
        assert!(answer["error"]["message"].as_str().unwrap().contains(said), "{args}: {answer}");
    }
}

#[test]
fn skills_of_one_name_are_told_apart() {
    let mut project = Project::new();
    project.hello();
    project.world.write_home(".tollgate/config.json", r#"{"extensions": {"autoEnable": true}}"#);
    let skill =
        json!([{"name": "review", "description": "d", "prompt": "p"}, {"name": "only-one", "description": "d", "prompt": "p"}]);
    project.world.write_home(".tollgate/extensions/a/manifest.json", manifest(json!({"name": "a", "skills": skill})));
    let skill = json!([{"name": "review", "description": "d", "prompt": "q"}]);
    project.world.write_home(".tollgate/extensions/b/manifest.json", manifest(json!({"name": "b", "skills": skill})));
    assert_eq!(skills(&mut project), ["a:review", "only-one", "b:review"]);
    let of_b = project.perform(&json!({"op": "skills", "do": "invoke", "id": "b:review"}));
    assert_eq!(of_b["prompt"], "q");
    let plain = project.perform(&json!({"op": "skills", "do": "invoke", "id": "review"}));
    assert!(plain["error"]["message"].as_str().unwrap().contains("expected one of: a:review"), "{plain}");
}

#[test]
fn skills_of_agent_programs_are_read_too() {
    let mut project = Project::new();
    project.hello();
    let file = |name: &str| format!("---\nname: {name}\ndescription: d\n---\nDo {name}.\n");
    project.world.write_home(".claude/skills/mine/SKILL.md", file("mine"));
    project.world.write_home(".codex/skills/other/SKILL.md", file("other"));
    project.world.write(".claude/skills/mine/SKILL.md", file("mine"));
    project.world.write(".gemini/skills/g/SKILL.md", file("g"));
    project.world.write(".agents/skills/broken/SKILL.md", "no front matter");
    project.world.write(".agents/skills/deep/er/SKILL.md", file("deep"));
    project.world.symlink("../../secret", ".agents/skills/linked");
    assert_eq!(skills(&mut project), ["mine", "other", "workspace:mine", "g"]);
    let listed = project.perform(&json!({"op": "skills", "do": "list"}));
    let faults = listed["faults"].as_array().unwrap();
    assert_eq!((faults.len(), &faults[0]["file"]), (1, &json!(".agents/skills/broken/SKILL.md")));
    let invoked = project.perform(&json!({"op": "skills", "do": "invoke", "id": "mine"}));
    assert_eq!(invoked["prompt"], "Do mine.");
}

#[test]
fn a_new_extension_is_one_that_works() {
    let mut project = Project::new();
    with_node(&project);
    project.hello();
    let made = ask(&mut project, json!({"do": "new", "id": "fresh"}));
    assert_eq!(made, json!({"id": "fresh", "folder": ".tollgate/extensions/fresh"}));
    assert_eq!((states(&mut project), faults(&mut project)), (vec!["fresh workspace disabled".to_owned()], Vec::new()));
    assert_eq!(
        ask(&mut project, json!({"do": "check", "path": ".tollgate/extensions/fresh"})),
        json!({"checked": 1, "faults": []})
    );
    let approved = ask(&mut project, json!({"do": "approve", "id": "fresh"}));
    assert_eq!(approved["state"], "active", "{approved}");
    let again = ask(&mut project, json!({"do": "new", "id": "fresh"}));
    assert!(again["error"]["message"].as_str().unwrap().contains("already exists"), "{again}");
    let bad = ask(&mut project, json!({"do": "new", "id": "../x"}));
    assert!(bad["error"]["message"].as_str().unwrap().contains("cannot be named"), "{bad}");
}

/// Nobody below an agent changes which extensions are active.
#[test]
fn only_a_person_changes_extensions() {
    let mut project = sample(false);
    let above = json!([{"id": 9, "name": "claude", "words": ["claude"]}]);
    for above in [above, json!([])] {
        let seen = project.perform(&json!({"op": "person", "step": "look", "above": above, "variables": []}));
        assert_eq!(seen["agent"], "Claude Code (process 9)", "a later line does not take it back");
    }
    for what in ["enable", "disable", "approve", "revoke", "set", "new", "anything"] {
        let answer = ask(&mut project, json!({"do": what, "id": "house-rules", "key": "token", "value": "abcdef"}));
        assert_eq!(answer["error"]["code"], "needs_person", "{what}: {answer}");
    }
    let import = project.perform(&json!({"op": "hooks", "do": "import", "take": true}));
    assert_eq!(import["error"]["code"], "needs_person");
    for what in ["list", "show", "check"] {
        let answer = ask(&mut project, json!({"do": what, "id": "house-rules"}));
        assert_eq!(answer.get("error"), None, "{what}: {answer}");
    }
}
