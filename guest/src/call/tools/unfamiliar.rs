//! Arguments without a record. Programs ignore them, reject them or, in another version, obey them: an argument that could be a
//! command, a path or a folder makes the call unknown.

use serde_json::Value;

use super::arguments::fold_name;
use super::words::words;

/// Names of arguments that are plain text in every program's tools; the digests are read by the gate itself.
#[rustfmt::skip]
const PROSE: &[&str] = &[
    "comment", "description", "expectedhash", "expectedsha256", "explanation", "goal", "instruction", "instructions", "justification", "label", "note",
    "prehash", "prompt", "purpose", "query", "question", "reason", "reasoning", "result", "summary", "thought", "thoughts", "title",
];

/// Words that suggest commands, paths, folders or targets.
#[rustfmt::skip]
const SUSPECTS: &[&str] = &[
    "append", "args", "argument", "arguments", "argv", "base", "bash", "bin", "binary", "cd", "chdir", "cmd", "cmdline",
    "code", "command", "commandline", "commands", "copy", "cwd", "delete", "dest", "destination", "dir", "directories",
    "directory", "dirs", "dst", "env", "environment", "eval", "exec", "executable", "execute", "file", "filename",
    "filenames", "filepath", "files", "folder", "folders", "interpreter", "into", "location", "move", "out", "outdir",
    "outfile", "outpath", "output", "patch", "path", "paths", "program", "redirect", "remove", "rename", "root", "run",
    "save", "saveas", "script", "scripts", "shell", "sql", "statement", "stdin", "stdout", "target", "targets", "to",
    "workdir", "workingdir", "workspace", "write",
];

/// Endings of compound words: `logfile`, `basedir`, `precmd`.
const ENDINGS: &[&str] = &["path", "file", "dir", "folder", "directory", "cmd", "command", "script"];

/// Ordinary words with such an ending.
const ORDINARY: &[&str] = &["profile", "description", "transcript"];

/// Names for the folder in which something runs, in lower case without `_` and `-`.
#[rustfmt::skip]
const FOLDERS: &[&str] = &[
    "basedir", "basepath", "cd", "chdir", "currentdirectory", "currentworkingdirectory", "cwd", "dir", "directory",
    "dirpath", "folder", "folderpath", "root", "rootdir", "rootpath", "workdir", "workfolder", "workingdir",
    "workingdirectory", "workspacefolder",
];

/// Names for a command.
const COMMANDS: &[&str] = &["command", "commands", "cmd", "cmds", "commandline", "cmdline", "shellcommand", "bashcommand"];

/// Whether a name could be that of a command, a path, a folder or a target.
pub(super) fn is_suspect(argument: &str) -> bool {
    let suspect = |word: &String| {
        // `path2`, `cmd1`.
        let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
        SUSPECTS.contains(&word) || (!ORDINARY.contains(&word) && ENDINGS.iter().any(|ending| word.ends_with(ending)))
    };
    let folded = fold_name(argument);
    FOLDERS.contains(&folded.as_str()) || COMMANDS.contains(&folded.as_str()) || words(argument).iter().any(suspect)
}

/// Whether a name stands for the folder in which something runs.
pub(super) fn is_folder(argument: &str) -> bool {
    FOLDERS.contains(&fold_name(argument).as_str())
}

/// Whether a name stands for a command.
pub(super) fn is_command(argument: &str) -> bool {
    COMMANDS.contains(&fold_name(argument).as_str())
}

/// Whether an argument without a record may change what the call does. For a tool that only reads or talks, it does so only if
/// its name suggests it.
pub(super) fn may_change_effect(argument: &str, value: &Value, changes_files: bool) -> bool {
    let is_list = matches!(value, Value::Array(_) | Value::Object(_));
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        // Added by the gate itself, about the concepts that a call names.
        _ if !changes_files && argument.starts_with('_') && argument.ends_with("_context") => false,
        _ if is_suspect(argument) => true,
        _ if !changes_files || PROSE.contains(&fold_name(argument).as_str()) => false,
        Value::String(text) => !is_plain_word(text),
        _ => is_list,
    }
}

/// Whether a list or an object contains a named value that could be a command or a path and was not treated as one. `taken` says
/// which names were treated as paths, if objects were searched for paths at all.
pub(super) fn contains_suspect(value: &Value, taken: Option<fn(&str) -> bool>, depth: usize) -> bool {
    let is_taken = |name: &str| taken.is_some_and(|taken| taken(name));
    match value {
        Value::Array(list) => list.iter().any(|value| depth == 0 || contains_suspect(value, taken, depth - 1)),
        Value::Object(object) => {
            // An object that should name a file but does not may name it in another way.
            let unnamed = taken.is_some() && !object.keys().any(|name| is_taken(name));
            let names_file = |name: &str| ["name", "id", "uri"].contains(&name) || name.contains(['/', '.', '\\']);
            object.iter().any(|(name, value)| {
                (is_suspect(name) && !is_taken(name))
                    || (unnamed && names_file(name))
                    || depth == 0
                    || contains_suspect(value, taken, depth - 1)
            })
        }
        _ => false,
    }
}

/// Whether a text is at most one word, and neither a path nor an option.
pub(super) fn is_plain_word(text: &str) -> bool {
    !text.starts_with('-') && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-:".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments() {
        for (argument, value, in_reader, in_writer) in [
            ("cmdline", json!("ls"), true, true),
            ("saveAs", json!("x"), true, true),
            ("outfile", json!("x"), true, true),
            ("to", json!("x"), true, true),
            ("location", json!("x"), true, true),
            ("sql", json!("x"), true, true),
            ("args", json!([]), true, true),
            ("logFile", json!("x"), true, true),
            ("path2", json!("x"), true, true),
            ("Command", json!("x"), true, true),
            ("working_dir", json!("x"), true, true),
            ("description", json!("rm -rf /; x"), false, false),
            ("profile", json!("dev"), false, false),
            ("flavour", json!("src/x"), false, true),
            ("flavour", json!("vanilla"), false, false),
            ("flavour", json!(["vanilla"]), false, true),
            ("cwd", json!(null), false, false),
            ("run_in_background", json!(true), false, false),
            ("direction", json!("up"), false, false),
        ] {
            assert_eq!(may_change_effect(argument, &value, false), in_reader, "{argument} {value}");
            assert_eq!(may_change_effect(argument, &value, true), in_writer, "{argument} {value}");
        }
    }
}
