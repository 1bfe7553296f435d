//! No command makes the gate panic, and no allowed command changes a file outside the scope.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../gate.rs"]
mod gate;

fuzz_target!(|command: &str| {
    let answer = gate::ask("bash", serde_json::json!({ "command": command }));
    if answer["verdict"] == "allow" {
        for effect in answer["effects"].as_array().into_iter().flatten() {
            let changes = !matches!(effect["operation"].as_str(), Some("read" | "execute"));
            let path = effect["path"].as_str().unwrap_or_default();
            let folder = effect["operation"] == "create" && "src/auth".starts_with(path);
            assert!(!changes || folder || path == "src/auth" || path.starts_with("src/auth/"), "{answer}");
        }
    }
});
