//! Commands that run confined: what confinement means for rulings, and what comes after the command.

use std::rc::Rc;

use serde_json::{Value, json};
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::Memory;

struct Place {
    world: Rc<Memory>,
    gate: Gate,
}

impl Place {
    fn new(scope: &str) -> Self {
        let world = Memory::new();
        world.write(
            ".orchestration/active_intents.yaml",
            format!("[{{id: I, name: Login, status: IN_PROGRESS, owned_scope: [{scope}]}}]"),
        );
        for path in ["src/auth/login.ts", "src/auth/evil.py", "src/billing/pay.ts", "docs/auth.md", "docs/other.md", "README.md"]
        {
            world.write(path, path);
        }
        world.write(".git/HEAD", "ref: refs/heads/main");
        world.write(".gitignore", "target/\n");
        world.mkdir("/tmp");
        let gate = Gate::new(world.ports());
        let mut place = Self { world, gate };
        place.ask(&json!({"op": "select-intent", "session": "s", "intent": "I"}));
        place
    }

    fn ask(&mut self, line: &Value) -> Value {
        serde_json::from_str(&perform(&mut self.gate, line.to_string().as_bytes())).unwrap()
    }

    fn rule(&mut self, command: &str, confinable: &Value) -> String {
        let line = json!({"op": "pre-tool", "session": "s", "call": "c", "tool": "bash", "args": {"command": command}, "confinable": confinable});
        let answer = self.ask(&line);
        let confined = if answer["confined"] == true { " confined" } else { "" };
        format!("{} {}{confined}", answer["verdict"].as_str().unwrap(), answer["code"].as_str().unwrap())
    }

    fn settle(&mut self, command: &str, success: bool, output: &str) -> Value {
        self.ask(&json!({"op": "post-tool", "session": "s", "call": "c", "tool": "bash", "args": {"command": command}, "success": success,
                         "error": if success { Value::Null } else { output.into() }, "output": output}))
    }

    fn grants(&mut self, command: &str) -> Value {
        let words = ["bash", "-c", command];
        self.ask(&json!({"op": "grants", "session": "s", "call": "c", "command": words, "confinable": true}))
    }
}

const SCOPE: &str = "src/auth/**, docs/auth.md, NEW.md, build/**";

#[test]
fn rulings() {
    for (command, plain, confined) in [
        // Certain: the command runs confined if that makes no difference to it.
        ("ls src", "allow read_only", "allow read_only confined"),
        ("echo x > src/auth/login.ts", "allow in_scope", "allow in_scope confined"),
        ("sed -i s/a/b/ docs/auth.md", "allow in_scope", "allow in_scope confined"),
        ("rm src/auth/login.ts && mkdir src/auth/x", "allow in_scope", "allow in_scope confined"),
        // At the root, the kernel cannot express what is meant.
        ("echo x > NEW.md", "allow in_scope", "allow in_scope"),
        ("mkdir build", "allow in_scope", "allow in_scope"),
        // Effects that cannot be seen.
        ("npm test", "allow in_scope", "allow confined confined"),
        ("python3 src/auth/evil.py", "allow in_scope", "allow confined confined"),
        ("python3 -c 'print(1)'", "ask unknown_effects", "allow confined confined"),
        ("eval \"$x\"", "ask unknown_effects", "allow confined confined"),
        ("f() { rm \"$1\"; }; f x", "ask unknown_effects", "allow confined confined"),
        ("npm test > NEW.md", "allow in_scope", "allow confined confined"),
        ("npm test > /tmp/out.txt", "allow in_scope", "allow confined confined"),
        ("git add -A && git commit -m x", "allow in_scope", "allow confined confined"),
        // What is clearly out of scope is denied with the same reason.
        ("echo x > src/billing/pay.ts", "deny out_of_scope", "deny out_of_scope"),
        ("python3 -c 'print(1)'; rm README.md", "deny out_of_scope", "deny out_of_scope"),
        ("echo x > .git/config", "deny control_file", "deny control_file"),
        // What another process does stays unknown.
        ("docker run -v $PWD:/x alpine rm /x/y", "allow in_scope", "ask unknown_effects"),
        ("docker ps", "allow read_only", "allow read_only confined"),
        ("tmux new-session -d 'rm x'", "ask unknown_effects", "ask unknown_effects"),
        ("systemd-run --user rm x", "ask unknown_effects", "ask unknown_effects"),
        ("echo 'rm x' | at now", "ask unknown_effects", "ask unknown_effects"),
        ("ssh localhost rm x", "allow in_scope", "ask unknown_effects"),
        ("docker logs api --tail 100", "allow in_scope", "allow confined confined"),
        ("docker -H tcp://other ps", "allow in_scope", "ask unknown_effects"),
        ("xdotool type 'rm x'", "allow in_scope", "ask unknown_effects"),
        ("cmd.exe /c del x", "ask unknown_effects", "ask unknown_effects"),
        ("robocopy.exe a b", "allow in_scope", "ask unknown_effects"),
        ("sccache cc -o src/auth/x x.c", "allow in_scope", "ask unknown_effects"),
        ("nvim --server src/auth/s --remote src/auth/x", "ask unknown_effects", "ask unknown_effects"),
        ("./gradlew test", "allow in_scope", "ask unknown_effects"),
        ("./gradlew --no-daemon test", "allow in_scope", "allow confined confined"),
        ("curl --unix-socket /var/run/docker.sock http://x/", "ask unknown_effects", "ask unknown_effects"),
        ("python3 -c 'connect(\"/var/run/docker.sock\")'", "ask unknown_effects", "ask unknown_effects"),
        // Commands that would stop half-way.
        ("git stash", "ask unknown_effects", "deny not_confinable"),
        ("git checkout main", "ask unknown_effects", "deny not_confinable"),
        ("git pull", "ask unknown_effects", "deny not_confinable"),
        ("npm test && git commit -am x", "allow in_scope", "deny not_confinable"),
        ("mkdir build && cmake -B build", "allow in_scope", "deny not_confinable"),
    ] {
        let mut place = Place::new(SCOPE);
        assert_eq!(place.rule(command, &json!(null)), plain, "{command}");
        assert_eq!(place.rule(command, &json!(true)), confined, "{command} confined");
    }
}

#[test]
fn settings() {
    for (settings, command, expected) in [
        (json!({}), "ls", "allow read_only confined"),
        (json!({"confine": "off"}), "ls", "allow read_only confined"),
        (json!({"unknown": "deny"}), "eval \"$x\"", "deny unknown_effects"),
        (json!({"programs": "deny"}), "npm test", "deny program"),
        (json!({"programs": "ask"}), "npm test", "allow confined confined"),
    ] {
        let mut place = Place::new(SCOPE);
        place.world.write(".tollgate/config.json", settings.to_string());
        assert_eq!(place.rule(command, &json!(true)), expected, "{settings} {command}");
    }
    for (own, shipped, command, expected) in [
        ("off", "off", "npm test", "allow in_scope"),
        ("off", "always", "npm test", "allow confined confined"),
        ("unread", "off", "npm test", "allow confined confined"),
        ("unread", "off", "ls", "allow read_only"),
        ("unread", "off", "echo x > src/auth/a", "allow in_scope"),
    ] {
        let mut place = Place::new(SCOPE);
        place.world.write_home(".tollgate/config.json", json!({"confine": own}).to_string());
        place.world.write(".tollgate/config.json", json!({"confine": shipped}).to_string());
        assert_eq!(place.rule(command, &json!(true)), expected, "{own} {shipped} {command}");
    }
}

/// Only a tool that is known to run a command for a shell can be confined.
#[test]
fn other_tools_are_judged_as_before() {
    let mut place = Place::new(SCOPE);
    for (tool, args) in [
        ("mcp__x__y", json!({"command": "ls"})),
        ("powershell", json!({"command": "ls; foo"})),
        ("bash", json!({"command": "x", "args": ["y"]})),
    ] {
        let line = json!({"op": "pre-tool", "session": "s", "call": "c", "tool": tool, "args": args, "confinable": true});
        let answer = place.ask(&line);
        assert_eq!((answer.get("confined"), answer["code"] == "confined"), (None, false), "{tool}: {answer}");
    }
}

#[test]
fn grants_follow_the_call() {
    let mut place = Place::new(SCOPE);
    place.rule("npm test", &json!(true));
    let answer = place.grants("npm test");
    assert_eq!(
        (answer["run"].as_str(), answer["mode"].as_str(), answer["network"].as_bool()),
        (Some("confined"), Some("always"), Some(true))
    );
    assert_eq!(answer["intent"]["id"], "I");
    let paths: Vec<&str> = answer["grants"].as_array().unwrap().iter().map(|grant| grant["path"].as_str().unwrap()).collect();
    assert!(paths.contains(&"src/auth") && paths.contains(&"docs") && !paths.contains(&"src"), "{paths:?}");
    assert!(answer["env"]["TMPDIR"].as_str().unwrap().starts_with("/tmp/tollgate-"));
    // Whatever has been selected since, the call stays with the intent under which it was ruled on.
    place.ask(&json!({"op": "clear-intent", "session": "s"}));
    assert_eq!(place.grants("npm test")["intent"]["id"], "I");
    let other = place.ask(&json!({"op": "grants", "session": "s", "call": "other", "command": ["ls"], "confinable": true}));
    assert_eq!(other["intent"], Value::Null);
    assert!(!other["grants"].as_array().unwrap().iter().any(|grant| !grant["path"].as_str().unwrap().starts_with('/')));
}

#[test]
fn where_the_system_cannot() {
    let mut place = Place::new(SCOPE);
    let line = json!({"op": "grants", "session": "s", "command": ["ls"], "why": "the kernel is older than Linux 5.13"});
    let answer = place.ask(&line);
    assert_eq!(
        (answer["run"].as_str(), answer["say"].as_str()),
        (Some("plain"), Some("commands run unconfined: the kernel is older than Linux 5.13"))
    );
    assert_eq!(place.ask(&line)["say"], Value::Null, "once");
    place.world.write(".tollgate/config.json", r#"{"strict": true}"#);
    let answer = place.ask(&line);
    assert_eq!(answer["run"], "refused");
    assert!(answer["say"].as_str().unwrap().contains("Linux 5.13"), "{answer}");
    // Without governance, nothing is confined.
    place.world.delete(".orchestration");
    assert_eq!(place.ask(&json!({"op": "grants", "session": "s", "command": ["ls"], "confinable": true}))["run"], "plain");
}

/// Changes beside a file in scope, in the folder that had to be opened for it, are reverted; changes to what a scope owns are
/// not.
#[test]
fn siblings_are_put_back() {
    let mut place = Place::new(SCOPE);
    place.rule("make", &json!(true));
    place.grants("make");
    place.world.write("docs/auth.md", "new");
    place.world.write("docs/other.md", "stray");
    place.world.write("docs/new.md", "stray");
    place.world.write("src/billing/pay.ts", "somebody else");
    let answer = place.settle("make", true, "");
    let entries = answer["entries"].as_array().unwrap();
    let found: Vec<(&str, &str, bool)> = entries
        .iter()
        .map(|entry| {
            let is_restored = answer["restore"].as_array().unwrap().contains(&entry["id"]);
            (entry["file"]["relative_path"].as_str().unwrap(), entry["scope_validation"].as_str().unwrap(), is_restored)
        })
        .collect();
    assert_eq!(
        found,
        [
            ("docs/auth.md", "PASS", false),
            ("docs/new.md", "FAIL", true),
            ("docs/other.md", "FAIL", true),
            ("src/billing/pay.ts", "FAIL", false)
        ]
    );
    let notice = answer["notice"].as_str().unwrap();
    assert!(notice.contains("`docs/new.md`, `docs/other.md`") && notice.contains("were restored"), "{notice}");
    // What is not in the ledger cannot be restored from it. It is said all the same.
    let mut place = Place::new(SCOPE);
    place.rule("make", &json!(true));
    place.grants("make");
    place.world.write("docs/other.md", "stray");
    place.world.write(".orchestration/agent_trace.jsonl/file", "");
    let answer = place.settle("make", true, "");
    assert_eq!((&answer["entries"], answer.get("restore")), (&json!([]), None), "{answer}");
    let notice = answer["notice"].as_str().unwrap();
    assert!(notice.contains("will be retried") && notice.contains("`docs/other.md`") && !notice.contains("restored"), "{notice}");
    // Settings can leave reverting to a person.
    let mut place = Place::new(SCOPE);
    place.world.write_home(".tollgate/config.json", r#"{"confine": {"restore": false}}"#);
    place.rule("make", &json!(true));
    place.grants("make");
    place.world.write("docs/other.md", "stray");
    assert_eq!(place.settle("make", true, "").get("restore"), None);
}

#[test]
fn a_command_that_was_kept_from_something() {
    let mut place = Place::new(SCOPE);
    place.rule("make", &json!(true));
    place.grants("make");
    let answer = place.settle("make", false, "cp: cannot create regular file 'README.md': Permission denied");
    let notice = answer["notice"].as_str().unwrap();
    assert!(notice.contains("src/auth/**") && notice.contains("$TMPDIR") && notice.contains("select the intent"), "{notice}");
    // A command that only reads is told too, and one that failed for another reason is not.
    place.rule("cat x", &json!(true));
    place.grants("cat x");
    assert!(place.settle("cat x", true, "bash: x: Permission denied")["notice"].is_string());
    place.rule("make", &json!(true));
    place.grants("make");
    assert_eq!(place.settle("make", false, "make: *** [all] Error 1").get("notice"), None);
    // Nobody asked for grants, so it was not the kernel's doing.
    place.rule("cat x", &json!(true));
    assert_eq!(place.settle("cat x", false, "Permission denied").get("notice"), None);
}

#[test]
fn a_command_that_was_to_run_confined_and_did_not() {
    let mut place = Place::new(SCOPE);
    place.rule("make", &json!(true));
    let answer = place.settle("make", true, "");
    assert!(answer["notice"].as_str().unwrap().contains("had to run confined and did not"), "{answer}");
    assert_eq!(answer["entries"][0]["scope_validation"], "FAIL");
    // If a system cannot confine, that was said at the time.
    place.rule("make", &json!(true));
    place.ask(&json!({"op": "grants", "session": "s", "call": "c", "command": ["make"], "why": "x"}));
    assert_eq!(place.settle("make", true, "").get("notice"), None);
}

#[test]
fn commands_are_wrapped() {
    let mut place = Place::new(SCOPE);
    let text = place.ask(&json!({"op": "wrap", "session": "s", "call": "c", "command": "echo 'a b'"}));
    assert_eq!(text["command"], r"tollgate confine --session s --call c -- bash -c 'echo '\''a b'\'''");
    let words = place
        .ask(&json!({"op": "wrap", "session": "s", "call": "c", "command": ["bash", "-lc", "ls"], "confiner": "/x/tollgate"}));
    assert_eq!(words["command"], json!(["/x/tollgate", "confine", "--session", "s", "--call", "c", "--", "bash", "-lc", "ls"]));
    // A wrapped command means the same as without the wrapping.
    let wrapped = text["command"].as_str().unwrap().replace("echo", "rm README.md; echo");
    assert_eq!(place.rule(&wrapped, &json!(true)), "deny out_of_scope");
    for line in [
        json!({"op": "wrap", "session": "s", "call": "c", "command": 3}),
        json!({"op": "wrap", "session": "s", "call": "c", "command": [1]}),
        json!({"op": "grants", "session": "s", "confinable": "yes"}),
    ] {
        assert_eq!(place.ask(&line)["error"]["code"], "invalid_field", "{line}");
    }
}
