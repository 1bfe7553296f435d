//! No patch makes the gate panic, and an allowed patch only changes files in scope.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../gate.rs"]
mod gate;

fuzz_target!(|text: &str| {
    for (tool, args) in [
        ("apply_patch", serde_json::json!({ "patchText": text })),
        ("apply_diff", serde_json::json!({ "path": "src/auth/a.ts", "diff": text })),
    ] {
        let answer = gate::ask(tool, args);
        if answer["verdict"] == "allow" {
            for effect in answer["effects"].as_array().into_iter().flatten() {
                let changes = effect["operation"] != "read";
                assert!(!changes || effect["path"].as_str().unwrap_or_default().starts_with("src/auth/"), "{answer}");
            }
        }
    }
});
