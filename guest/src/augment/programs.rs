//! Programs that the host runs for the gate: which may run, and which environment variables they get.
//!
//! A repository runs nothing without consent: a command in the workspace's settings is run only if the user's own settings list
//! it.

use serde_json::Value;

use crate::home;
use crate::json::document;
use crate::ports::Ports;

/// The settings file: the workspace's, and the user's own below the home folder.
pub(super) const SETTINGS: &str = ".tollgate/config.json";

/// The variables that a program inherits. The rest of the environment may contain secrets.
const INHERITED: [&str; 12] =
    ["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TEMP", "SystemRoot", "MAENIFOLD_ROOT"];

/// The variables that a program inherits, for a request.
pub(crate) fn inherited_variables() -> Vec<String> {
    INHERITED.map(str::to_owned).into()
}

/// Whether the user's own settings list a command, word by word: `{"augment": {"commands": [["wiki", "--about", "{concept}"]]}}`.
pub(crate) fn is_allowed_by_user(words: &[String], ports: &Ports) -> bool {
    let settings: Value = home::read(home::SETTINGS, ports).and_then(|text| document::read(&text).ok()).unwrap_or_default();
    let commands = settings.pointer("/augment/commands").and_then(Value::as_array);
    !is_of_workspace(words.first().map_or("", String::as_str))
        && commands.is_some_and(|commands| commands.contains(&Value::from(words.to_vec())))
}

/// Whether a program is named by a path relative to the workspace. It is then the workspace's own, whatever the user allowed
/// elsewhere.
pub(crate) fn is_of_workspace(program: &str) -> bool {
    program.contains(['/', '\\']) && !program.starts_with('/')
}
