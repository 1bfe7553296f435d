//! The compiler limits itself before it reads its input.

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

/// The component is a pipe, so the compiler blocks while reading it, and its limits can be inspected.
#[test]
fn limits_are_set_before_the_component_is_read() {
    let folder = Folder(std::env::temp_dir().join(format!("tollgate-compiler-{}", std::process::id())));
    fs::create_dir_all(&folder.0).unwrap();
    let (component, code) = (folder.0.join("component"), folder.0.join("hook.cwasm"));
    assert!(Command::new("mkfifo").arg(&component).status().unwrap().success());
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
    assert!(why.contains("not what was approved"), "{why}");
    assert!(!code.exists());
    assert_eq!(fs::read_to_string(code.with_extension("lock")).unwrap(), "");
}

/// While one process is compiling, others exit at once. If that process was killed, the next one records this.
#[test]
fn a_killed_compiler_is_noticed_by_the_next_one() {
    let folder = Folder(std::env::temp_dir().join(format!("tollgate-compiler-killed-{}", std::process::id())));
    fs::create_dir_all(&folder.0).unwrap();
    let (component, code) = (folder.0.join("component"), folder.0.join("hook.cwasm"));
    assert!(Command::new("mkfifo").arg(&component).status().unwrap().success());
    let compiler = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate-compiler"));
        command.args([component.as_os_str(), "sha256:0".as_ref(), code.as_os_str()]).stderr(Stdio::null());
        command
    };
    let mut first = compiler().spawn().unwrap();
    let pipe = OpenOptions::new().write(true).open(&component).unwrap();
    assert_eq!(compiler().status().unwrap().code(), Some(3));
    assert!(!code.with_extension("failed").exists());
    first.kill().unwrap();
    first.wait().unwrap();
    drop(pipe);
    assert_eq!(compiler().status().unwrap().code(), Some(1));
    let why = fs::read_to_string(code.with_extension("failed")).unwrap();
    assert!(why.contains("was killed") && why.contains("approve the hook again"), "{why}");
    assert_eq!(fs::read_to_string(code.with_extension("lock")).unwrap(), "");
}
