//! Looking at what the gate wants to know about agent programs: their settings files, their signs, their commands.
//!
//! The home folder is not lent to the gate, so the files are read here and handed over.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::Stop;
use crate::cli::client::{Gate, ask, list, text, texts};
use crate::cli::workspace::Folders;

/// Settings are shorter; a plugin with everything in it may be longer, and is known by its name.
const MAX_BYTES: u64 = 1 << 20;

/// How many files of a folder are read.
const MAX_FILES: usize = 200;

/// Where things are, as the gate wants to know it.
pub(crate) fn place(gate: &mut dyn Gate, folders: &Folders) -> Result<Value, Stop> {
    let known = ask(gate, &json!({"op": "wiring", "do": "programs"}))?;
    let variable = |name: &&str| Some(((*name).to_owned(), Value::from(std::env::var(name).ok()?)));
    let variables: Map<String, Value> = texts(&known, "variables").iter().filter_map(variable).collect();
    let home = folders.home.as_deref().map(|home| home.canonicalize().unwrap_or_else(|_| home.to_owned()));
    Ok(json!({
        "workspace": told(&folders.root),
        "start": told(&folders.start()),
        "home": home.as_deref().map(told),
        "home_is_named": folders.home_named.is_some(),
        "variables": variables,
        "windows": cfg!(windows),
    }))
}

/// What there is of what a question is about.
pub(crate) fn seen(gate: &mut dyn Gate, question: &Value) -> Result<Value, Stop> {
    let mut look = question.clone();
    if let Some(fields) = look.as_object_mut() {
        fields.insert("do".to_owned(), "files".into());
    }
    let look = ask(gate, &look)?;
    let (mut files, mut links) = (Map::new(), Map::new());
    let mut see = |path: &str| {
        files.insert(path.to_owned(), content(Path::new(path)));
        match Path::new(path).canonicalize() {
            Ok(real) if told(&real) != path => drop(links.insert(path.to_owned(), told(&real).into())),
            _ => {}
        }
    };
    texts(&look, "files").into_iter().for_each(&mut see);
    for folder in list(&look, "folders") {
        let endings = texts(folder, "endings");
        within(text(folder, "/path"), &endings).iter().for_each(|path| see(path));
    }
    let signs: Vec<&str> = texts(&look, "signs").into_iter().filter(|path| Path::new(path).exists()).collect();
    let on_path: Vec<&str> = texts(&look, "commands").into_iter().filter(|name| on_path(name).is_some()).collect();
    Ok(json!({"files": files, "links": links, "signs": signs, "on_path": on_path}))
}

/// A file as it was seen: its text, nothing where there is none, or why it cannot be read.
fn content(path: &Path) -> Value {
    let mut text = String::new();
    match File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text)) {
        Ok(_) if text.len() as u64 > MAX_BYTES => json!({"fault": format!("it is longer than {} MiB", MAX_BYTES >> 20)}),
        Ok(_) => text.into(),
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => Value::Null,
        Err(fault) => json!({"fault": fault.to_string()}),
    }
}

/// The files of a folder with one of these endings.
fn within(folder: &str, endings: &[&str]) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let named = entries.filter(|name| endings.iter().any(|ending| name.ends_with(ending)));
    let mut files: Vec<String> = named.map(|name| format!("{folder}/{name}")).collect();
    files.sort();
    files.truncate(MAX_FILES);
    files
}

/// A path as the gate is told it.
pub(crate) fn told(path: &Path) -> String {
    let path = path.display().to_string();
    // Windows puts this before real paths; no program does.
    path.strip_prefix(r"\\?\").unwrap_or(&path).to_owned()
}

/// A program on the search path.
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
