//! Collects what the gate needs to know about agent programs: settings files, signs of an installation, commands on the search
//! path.
//!
//! The gate cannot read the home folder, so this module reads the files and passes their content on.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::CommandError;
use crate::cli::client::{Gate, ask, list, text, texts};
use crate::cli::workspace::Folders;

/// Settings files are smaller than this. A bundled plugin may be larger; it is recognised by its name.
const MAX_BYTES: u64 = 1 << 20;

/// At most this many files of a folder are read.
const MAX_FILES: usize = 200;

/// The folders, variables and platform, in the form the gate expects.
pub(crate) fn environment(gate: &mut dyn Gate, folders: &Folders) -> Result<Value, CommandError> {
    let known = ask(gate, &json!({"op": "wiring", "do": "programs"}))?;
    let variable = |name: &&str| Some(((*name).to_owned(), Value::from(std::env::var(name).ok()?)));
    let variables: Map<String, Value> = texts(&known, "variables").iter().filter_map(variable).collect();
    let home = folders.home.as_deref().map(|home| home.canonicalize().unwrap_or_else(|_| home.to_owned()));
    Ok(json!({
        "workspace": path_text(&folders.root),
        "start": path_text(&folders.start()),
        "home": home.as_deref().map(path_text),
        "home_is_named": folders.home_named.is_some(),
        "variables": variables,
        "windows": cfg!(windows),
    }))
}

/// Reads the files and looks up the commands that a request is about.
pub(crate) fn inspect(gate: &mut dyn Gate, question: &Value) -> Result<Value, CommandError> {
    let mut look = question.clone();
    if let Some(fields) = look.as_object_mut() {
        fields.insert("do".to_owned(), "files".into());
    }
    let look = ask(gate, &look)?;
    let (mut files, mut links) = (Map::new(), Map::new());
    let mut see = |path: &str| {
        files.insert(path.to_owned(), read_content(Path::new(path)));
        match Path::new(path).canonicalize() {
            Ok(real) if path_text(&real) != path => drop(links.insert(path.to_owned(), path_text(&real).into())),
            _ => {}
        }
    };
    texts(&look, "files").into_iter().for_each(&mut see);
    for folder in list(&look, "folders") {
        let endings = texts(folder, "endings");
        files_in(text(folder, "/path"), &endings).iter().for_each(|path| see(path));
    }
    let signs: Vec<&str> = texts(&look, "signs").into_iter().filter(|path| Path::new(path).exists()).collect();
    let on_path: Vec<&str> = texts(&look, "commands").into_iter().filter(|name| on_path(name).is_some()).collect();
    Ok(json!({"files": files, "links": links, "signs": signs, "on_path": on_path}))
}

/// The text of a file, `null` if it does not exist, or the reason why it cannot be read.
fn read_content(path: &Path) -> Value {
    let mut text = String::new();
    match File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text)) {
        Ok(_) if text.len() as u64 > MAX_BYTES => json!({"fault": format!("it is longer than {} MiB", MAX_BYTES >> 20)}),
        Ok(_) => text.into(),
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => Value::Null,
        Err(fault) => json!({"fault": fault.to_string()}),
    }
}

/// The files in a folder whose names have one of these endings.
fn files_in(folder: &str, endings: &[&str]) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let named = entries.filter(|name| endings.iter().any(|ending| name.ends_with(ending)));
    let mut files: Vec<String> = named.map(|name| format!("{folder}/{name}")).collect();
    files.sort();
    files.truncate(MAX_FILES);
    files
}

/// A path in the form the gate expects.
pub(crate) fn path_text(path: &Path) -> String {
    let path = path.display().to_string();
    // Windows adds this prefix to canonical paths; agent programs never do.
    path.strip_prefix(r"\\?\").unwrap_or(&path).to_owned()
}

/// Finds a program on the search path.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    let names = if cfg!(windows) { vec![format!("{program}.exe"), format!("{program}.cmd")] } else { vec![program.to_owned()] };
    std::env::split_paths(&paths).find_map(|folder| names.iter().map(|name| folder.join(name)).find(|path| is_program(path)))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}
