//! Embeds a gate in a program: `cargo run --release -p tollgate --example embed`.

use std::fs;

use tollgate::{Error, Outcome, Tollgate, ToolCall, Verdict};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("tollgate-embed-{}", std::process::id()));
    fs::create_dir_all(folder.join(".orchestration"))?;
    fs::create_dir_all(folder.join("src"))?;
    let intents = "active_intents:\n  - {id: INT-001, name: Login, status: IN_PROGRESS, owned_scope: ['src/**']}\n";
    fs::write(folder.join(".orchestration/active_intents.yaml"), intents)?;

    let mut gate = Tollgate::builder().workspace(&folder).home(&folder).open()?;
    gate.select_intent("session-1", "INT-001")?;
    for path in ["src/login.rs", "README.md"] {
        let call = write(path, "fn login() {}\n")?;
        let ruling = gate.pre_tool(&call)?;
        if ruling.verdict == Verdict::Allow {
            fs::write(folder.join(path), "fn login() {}\n")?;
            let settlement = gate.post_tool(&call, &Outcome::Done(None))?;
            println!("{path}: allowed\n  {}", settlement.entries.join("\n  "));
        } else {
            println!("{path}: {:?}, {}\n  {}", ruling.verdict, ruling.code, ruling.reason);
        }
    }
    if let Err(Error::Refused { code, message }) = gate.select_intent("session-1", "INT-404") {
        println!("{code}: {message}");
    }
    fs::remove_dir_all(folder)?;
    Ok(())
}

fn write(path: &str, content: &str) -> Result<ToolCall, Error> {
    let args = serde_json::json!({"path": path, "content": content});
    ToolCall::new("session-1", format!("write {path}"), "write_to_file", &args)
}
