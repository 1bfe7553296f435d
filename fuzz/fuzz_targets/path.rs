//! No path makes the gate panic, normalizing twice changes nothing, and allowed paths are in scope.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_guest::effects::path::normalize;

#[path = "../gate.rs"]
mod gate;

fuzz_target!(|path: &str| {
    if let Ok(once) = normalize(path, None) {
        assert_eq!(normalize(&once, None).as_deref(), Ok(once.as_str()), "{path:?}");
    }
    let answer = gate::ask("write_to_file", serde_json::json!({ "path": path }));
    if answer["verdict"] == "allow" {
        for effect in answer["effects"].as_array().into_iter().flatten() {
            let path = effect["path"].as_str().unwrap_or_default();
            assert!(path.starts_with("src/auth/") && !path.split('/').any(|name| name == ".."), "{answer}");
        }
    }
});
