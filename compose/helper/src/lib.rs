//! Implements the gate's imports on `wasi:filesystem` and `wasi:cli`, and nothing else.
//!
//! Environment variables name the folders: `TOLLGATE_WORKSPACE`, `TOLLGATE_HOME` and `TOLLGATE_STATE` each contain the absolute
//! path under which the host has opened that folder. Open every folder under its own real path, so that absolute paths mean the
//! same as outside.
//!
//! Some things are weaker than in the other hosts: nothing outside these folders can be inspected, so it is *unreadable*, and the
//! gate asks; links that lead out cannot be followed; files have no modes, so the state is only as private as the host makes its
//! folder; there is no keyring.

mod files;
mod folders;
mod walk;
mod writing;

wit_bindgen::generate!({
    path: "../../wit",
    inline: "package tollgate:wasi-helper; world helper {
        export tollgate:hooks/workspace@0.2.0;
        export tollgate:hooks/records@0.2.0;
        export tollgate:hooks/environment@0.2.0;
        export tollgate:hooks/log@0.2.0;
    }",
    world: "tollgate:wasi-helper/helper",
});

use exports::tollgate::hooks::{environment, log};

struct Helper;

impl environment::Guest for Helper {
    fn variables(names: Vec<String>) -> Vec<Option<String>> {
        names.iter().map(|name| std::env::var(name).ok()).collect()
    }

    fn secrets(names: Vec<String>) -> Vec<Option<String>> {
        names.iter().map(|_| None).collect()
    }
}

impl log::Guest for Helper {
    fn write(level: log::Level, message: String, details: Vec<u8>) {
        let level = match level {
            log::Level::Debug => "debug",
            log::Level::Info => "info",
            log::Level::Warn => "warn",
            log::Level::Error => "error",
        };
        eprintln!("tollgate: {level}: {message} {}", String::from_utf8_lossy(&details));
    }
}

export!(Helper);
