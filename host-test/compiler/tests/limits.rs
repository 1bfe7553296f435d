//! The compiler limits itself before it reads what it is given.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs::{self, OpenOptions};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A folder that is removed afterwards.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The component is a pipe, so the compiler waits while it reads, and its limits can be looked at.
#[test]
fn limits_are_set_before_the_component_is_read() {
    let folder = Folder(std::env::temp_dir().join(format!("tollgate-compiler-{}", std::process::id())));
    fs::create_dir_all(&folder.0).unwrap();
    let (component, code) = (folder.0.join("component"), folder.0.join("hook.cwasm"));
    assert!(Command::new("mkfifo").arg(&component).status().unwrap().success());
    fs::write(code.with_extension("lock"), "").unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_tollgate-compiler"))
        .args([component.as_os_str(), "sha256:0".as_ref(), code.as_os_str()])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Returns when the other end is opened.
    let pipe = OpenOptions::new().write(true).open(&component).unwrap();
    let limits = fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    let limit = |name: &str| {
        let line = limits.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(limit("Max cpu time"), ["120", "120"]);
    assert_eq!(limit("Max address space"), ["1073741824", "1073741824"]);
    assert_eq!(limit("Max core file size"), ["0", "0"]);
    drop(pipe);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let why = fs::read_to_string(code.with_extension("failed")).unwrap();
    assert!(why.contains("not the approved ones"), "{why}");
    assert!(!code.exists() && !code.with_extension("lock").exists());
}
