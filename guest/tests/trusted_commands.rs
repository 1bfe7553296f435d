//! Commands that a repository configures run only if the user has allowed them.

use serde_json::{Value, json};
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::{HOME, Memory};

/// The command that the workspace names, what the user allows, and whether the command is run.
#[test]
fn a_command_that_the_workspace_names_is_run_only_if_the_user_allows_it() {
    let wiki = json!(["wiki", "--about", "{concept}"]);
    let own = |commands: Value| json!({"augment": {"commands": commands}}).to_string();
    for (source, of_user, asked) in [
        (json!({"name": "wiki", "command": wiki}), String::new(), false),
        (json!({"name": "wiki", "command": wiki}), "not valid JSON".to_owned(), false),
        (json!({"name": "wiki", "command": wiki}), own(json!([])), false),
        (json!({"name": "wiki", "command": wiki}), own(json!([wiki])), true),
        (json!({"name": "wiki", "command": ["wiki", "--delete", "{concept}"]}), own(json!([wiki])), false),
        (json!({"name": "wiki", "command": ["./wiki"]}), own(json!([["./wiki"]])), false),
        (json!({"name": "wiki", "command": ["/opt/wiki"]}), own(json!([["/opt/wiki"]])), true),
        (json!({"name": "maenifold", "command": ["sh", "-c", "evil"]}), String::new(), false),
        (json!("maenifold"), String::new(), true),
    ] {
        let world = Memory::new();
        world.write(".orchestration/active_intents.yaml", "[]");
        world.write(".tollgate/config.json", json!({"augment": {"sources": [source]}}).to_string());
        world.write(&format!("{HOME}/.tollgate/config.json"), &of_user);
        let mut gate = Gate::new(world.ports());
        let op = json!({"op": "plan-lookups", "session": "s", "call": "c", "tool": "task", "args": {"prompt": "[[auth]]"}});
        let plan: Value = serde_json::from_str(&perform(&mut gate, op.to_string().as_bytes())).unwrap();
        assert_eq!(plan["lookups"].as_array().unwrap().len(), usize::from(asked), "{source} {of_user}: {plan}");
        let told = world.logged().iter().any(|(_, line)| line.contains("~/.tollgate/config.json"));
        assert_eq!(told, !asked, "{source}: {:?}", world.logged());
    }
}
