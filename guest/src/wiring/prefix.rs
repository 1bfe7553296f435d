//! Sets the variable that names the program through which an agent program runs every shell command, so that the kernel can
//! confine commands.
//!
//! The variable holds a path, which differs from machine to machine, so it is set in those settings of the workspace that a team
//! does not share. The gate does not read the user's own settings and would not rely on them.

use serde_json::Value;

use super::files_read::{Seen, SeenContent};
use super::layout::{Layout, is_within};
use crate::confine::is_confiner_name;
use crate::json::document::Document;
use crate::programs::Wiring;
use crate::programs::wiring::SourceContent;

/// What is done about the variable.
#[derive(Debug, PartialEq, Eq)]
pub enum Prefix {
    /// It is set in a settings file.
    Set {
        /// The variable.
        variable: &'static str,
        /// The settings file.
        file: String,
    },
    /// It stays as it is, for the reason given to the person.
    Left(String),
}

/// What to do about the variable of a program whose hooks are in the file `hooks`; `None` if there is nothing to do or to say.
/// `confiner` is the path of the native program, if it exists and the system can confine commands.
pub fn prefix(wiring: &Wiring, confiner: Option<&str>, hooks: &str, layout: &Layout, seen: &Seen) -> Option<Prefix> {
    let (prefix, confiner) = (wiring.shell_prefix.as_ref()?, confiner?);
    let variable = prefix.variable;
    let left = |why: String| Some(Prefix::Left(format!("its commands run unconfined: {why}")));
    // The agent program would take what follows ` -` for options.
    if !is_confiner_name(confiner) || is_within(confiner, &layout.workspace) || confiner.contains(" -") {
        return left(format!("`{confiner}` cannot be named in `{variable}`; install `tollgate` in a folder of the search path"));
    }
    let pointer = format!("/env/{variable}");
    for settings in wiring.settings.iter().filter(|settings| settings.content == SourceContent::Hooks) {
        let Some(path) = layout.path(settings.place) else { continue };
        let SeenContent::Text(text) = seen.file(&path) else { continue };
        let Ok(document) = Document::parse(text) else { continue };
        match document.value().pointer(&pointer) {
            None => {}
            Some(Value::String(named)) if named == confiner => return None,
            Some(named) => {
                let shown = layout.display(&path);
                return left(format!("`env.{variable}` in {shown} is {named} and is kept; `{confiner}` would confine them"));
            }
        }
    }
    if !is_within(hooks, &layout.workspace) {
        return left(
            "it can only be set together with hooks in the workspace's settings; use `tollgate init --scope workspace`"
                .to_owned(),
        );
    }
    Some(Prefix::Set { variable, file: layout.path(prefix.file)? })
}

/// Whether Tollgate set this member of `env` in a program's settings.
pub fn is_ours(wiring: &Wiring, name: &str, value: &Value) -> bool {
    let is_variable = wiring.shell_prefix.as_ref().is_some_and(|prefix| prefix.variable == name);
    is_variable && value.as_str().is_some_and(is_confiner_name)
}
