//! A refusal of an unknown tool says which line would allow it, by the name that the program has for the tool, and the line does.

use crate::project::Project;
use serde_json::json;
use tollgate_guest::programs::PROGRAMS;

#[test]
fn the_line_of_a_refusal_allows_the_tool() {
    let mut tried = 0;
    for program in PROGRAMS {
        for spelling in program.mcp_prefixes {
            let tool = spelling.replace("SERVER", "everything").replace("TOOL", "frobnicate");
            let mut project = Project::new();
            project.world.write(".tollgate/config.json", "{}");
            let call = json!({"op": "pre-tool", "session": "s", "call": "c", "tool": tool, "args": {}, "host": program.name()});
            let refused = project.ask(call.clone());
            assert_eq!(refused["code"], "unknown_effects", "{}: {refused}", program.title);
            let line = format!("a person can declare what it does, for instance `tollgate tools allow '{tool}' read`");
            assert!(refused["reason"].as_str().unwrap().contains(&line), "{}: {refused}", program.title);
            let allowed = project.ask(json!({"op": "allow-tool", "pattern": tool, "kind": "read"}));
            project.world.write(".tollgate/config.json", allowed["settings"].as_str().unwrap());
            let ruling = project.ask(call);
            assert_eq!(
                (&ruling["verdict"], &ruling["code"]),
                (&json!("allow"), &json!("read_only")),
                "{}: {ruling}",
                program.title
            );
            tried += 1;
        }
    }
    assert!(tried >= 10, "{tried}");
}
