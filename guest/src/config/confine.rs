//! How shell commands are confined: `confine` in the settings of the workspace and of the user.
//!
//! ```json
//! {"confine": {"mode": "always", "writable": ["generated/**"], "network": true, "caches": true, "restore": true}}
//! ```
//!
//! The value can also be the mode alone: `{"confine": "unread"}`.
//!
//! | setting | what it decides | default |
//! | --- | --- | --- |
//! | `mode` | which commands run confined: `always` (all), `unread` (those whose effects are not certain), `off` (none) | `always` |
//! | `writable` | what commands may change besides the intent's scope | nothing |
//! | `network` | whether commands may open TCP connections and listen | yes |
//! | `caches` | whether commands may change the caches of tools in the home folder | yes |
//! | `restore` | whether files out of scope that changed along with those in scope are restored | yes |
//!
//! A workspace can only tighten the user's settings, because a repository can ship its own: a stricter mode counts, a laxer one
//! does not. Its `writable` paths must be in the workspace; only the user can name other paths.

use serde_json::{Map, Value};

use crate::effects::path::Location;
use crate::ports::{Facts, Ports, Question, Root};

/// The user's own settings, below the home folder.
pub const USER_PATH: &str = ".tollgate/config.json";

/// Maximum size of the file; a larger one is a mistake.
const MAX_BYTES: u64 = 1 << 20;

/// Maximum number of `writable` paths; more are a mistake.
const MAX_WRITABLE: usize = 200;

/// Which commands run confined, from the laxest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfineMode {
    /// None.
    Off,
    /// Those whose effects cannot be determined.
    Unread,
    /// All.
    Always,
}

impl ConfineMode {
    /// The mode with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Off, Self::Unread, Self::Always].into_iter().find(|mode| mode.as_str() == name)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Unread => "unread",
            Self::Always => "always",
        }
    }
}

/// The kind of confinement that a system can enforce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Capability {
    /// None.
    #[default]
    None,
    /// Files and whole folders.
    Trees,
    /// Folders with exceptions, too.
    Exceptions,
}

/// The confinement settings in one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfineSettings {
    mode: Option<ConfineMode>,
    writable: Vec<String>,
    network: Option<bool>,
    caches: Option<bool>,
    restore: Option<bool>,
}

impl ConfineSettings {
    /// Reads the value of `confine`.
    pub fn parse(value: &Value) -> Result<Self, String> {
        let fields = match value {
            Value::Null => return Ok(Self::default()),
            Value::String(_) => &Map::from_iter([("mode".to_owned(), value.clone())]),
            Value::Object(fields) => fields,
            _ => return Err("`confine` must be `always`, `unread`, `off` or an object".to_owned()),
        };
        let flag = |name: &str| match fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(format!("`confine.{name}` must be true or false")),
        };
        let mode = match fields.get("mode") {
            None | Some(Value::Null) => None,
            Some(mode) => {
                let mode = mode.as_str().and_then(ConfineMode::from_name);
                Some(mode.ok_or_else(|| "`confine.mode` must be one of `always`, `unread`, `off`".to_owned())?)
            }
        };
        let writable = match fields.get("writable") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(paths)) if paths.len() <= MAX_WRITABLE => {
                let path = |path: &Value| path.as_str().filter(|path| !path.is_empty()).map(str::to_owned);
                let paths: Option<Vec<String>> = paths.iter().map(path).collect();
                paths.ok_or_else(|| "`confine.writable` must be a list of paths".to_owned())?
            }
            Some(Value::Array(_)) => return Err(format!("`confine.writable` has more than {MAX_WRITABLE} paths")),
            Some(_) => return Err("`confine.writable` must be a list of paths".to_owned()),
        };
        Ok(Self { mode, writable, network: flag("network")?, caches: flag("caches")?, restore: flag("restore")? })
    }

    /// The paths that lie outside the workspace, which only the user can name.
    pub fn paths_outside(&self) -> impl Iterator<Item = &str> {
        self.writable.iter().map(String::as_str).filter(|path| is_outside(path))
    }
}

fn is_outside(path: &str) -> bool {
    path.starts_with(['/', '~']) || path.split('/').any(|name| name == "..")
}

/// The confinement settings in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// Which commands run confined.
    pub mode: ConfineMode,
    /// What commands may change in the workspace besides the scope, as patterns like a scope's.
    pub patterns: Vec<String>,
    /// What commands may change outside the workspace: absolute, or below the home folder as `~/…`.
    pub places: Vec<String>,
    /// Whether commands may open TCP connections and listen.
    pub network: bool,
    /// Whether commands may change the caches of tools.
    pub caches: bool,
    /// Whether files out of scope that changed along with those in scope are restored.
    pub restore: bool,
}

impl Confinement {
    /// Combines the settings of the user and of the workspace.
    pub fn new(user: &ConfineSettings, workspace: &ConfineSettings) -> Self {
        let patterns = user.writable.iter().chain(&workspace.writable).filter(|path| !is_outside(path)).cloned().collect();
        Self {
            mode: user.mode.unwrap_or(ConfineMode::Always).max(workspace.mode.unwrap_or(ConfineMode::Off)),
            patterns,
            places: user.paths_outside().map(str::to_owned).collect(),
            network: user.network.unwrap_or(true) && workspace.network.unwrap_or(true),
            caches: user.caches.unwrap_or(true) && workspace.caches.unwrap_or(true),
            restore: user.restore.unwrap_or(true) || workspace.restore.unwrap_or(false),
        }
    }
}

/// What to ask the host before [`UserSettings::refresh`].
pub fn user_question() -> Question {
    Question { root: Root::Home, path: USER_PATH.to_owned(), digest: false }
}

/// The user's confinement settings, kept until the file changes.
#[derive(Debug, Default)]
pub struct UserSettings {
    stamp: Option<u64>,
    written: ConfineSettings,
}

impl UserSettings {
    /// The user's settings, given what the host saw of [`user_question`]. A file in the workspace does not count as the user's,
    /// because a repository can ship it.
    pub fn refresh(&mut self, facts: &Facts, ports: &Ports) -> &ConfineSettings {
        if self.stamp == Some(facts.stamp) {
            return &self.written;
        }
        self.stamp = Some(facts.stamp);
        self.written = ConfineSettings::default();
        let is_own = facts.real_path.as_deref().is_some_and(|real| matches!(Location::from_host(real), Location::Outside(_)));
        if facts.stamp == 0 || !is_own {
            return &self.written;
        }
        let text = ports.workspace.read(Root::Home, USER_PATH, MAX_BYTES).unwrap_or_default();
        let settings = serde_json::from_slice::<Value>(&text).map_err(|why| why.to_string());
        match settings.and_then(|settings| settings.get("confine").map_or(Ok(ConfineSettings::default()), ConfineSettings::parse))
        {
            Ok(written) => self.written = written,
            Err(why) => ports.warn(&format!("`~/{USER_PATH}` has no valid confinement settings: {why}")),
        }
        &self.written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parsed_settings(value: Value) -> ConfineSettings {
        ConfineSettings::parse(&value).unwrap()
    }

    #[test]
    fn a_workspace_only_tightens() {
        for (user, workspace, expected) in [
            (json!(null), json!(null), ConfineMode::Always),
            (json!(null), json!("off"), ConfineMode::Always),
            (json!("off"), json!(null), ConfineMode::Off),
            (json!("off"), json!("unread"), ConfineMode::Unread),
            (json!("unread"), json!({"mode": "always"}), ConfineMode::Always),
            (json!({"mode": "unread"}), json!("off"), ConfineMode::Unread),
        ] {
            assert_eq!(Confinement::new(&parsed_settings(user.clone()), &parsed_settings(workspace)).mode, expected, "{user}");
        }
        let user =
            parsed_settings(json!({"network": true, "caches": true, "restore": false, "writable": ["/var/x", "~/y", "z/**"]}));
        let loose = parsed_settings(json!({"network": true, "restore": false, "writable": ["/etc", "~/.ssh", "../x", "gen/**"]}));
        let tight = parsed_settings(json!({"network": false, "caches": false, "restore": true}));
        let with = Confinement::new(&user, &loose);
        assert_eq!((with.network, with.caches, with.restore), (true, true, false));
        assert_eq!(
            (with.patterns, with.places),
            (vec!["z/**".to_owned(), "gen/**".to_owned()], vec!["/var/x".to_owned(), "~/y".to_owned()])
        );
        let with = Confinement::new(&user, &tight);
        assert_eq!((with.network, with.caches, with.restore), (false, false, true));
    }

    #[test]
    fn faults_name_the_setting() {
        for (value, said) in [
            (json!("sometimes"), "`confine.mode`"),
            (json!(3), "`confine`"),
            (json!({"mode": true}), "`confine.mode`"),
            (json!({"writable": "x"}), "`confine.writable`"),
            (json!({"writable": [""]}), "`confine.writable`"),
            (json!({"writable": vec!["x"; 201]}), "more than 200"),
            (json!({"network": "no"}), "`confine.network`"),
        ] {
            assert!(ConfineSettings::parse(&value).unwrap_err().contains(said), "{value}");
        }
    }

    #[test]
    fn settings_in_the_workspace_do_not_count_as_the_users() {
        use crate::ports::memory::{HOME, Memory};
        let world = Memory::new();
        let ports = world.ports();
        let mode = |settings: &mut UserSettings| {
            let facts = ports.workspace.inspect(&[user_question()]).remove(0);
            settings.refresh(&facts, &ports).mode
        };
        let mut settings = UserSettings::default();
        assert_eq!(mode(&mut settings), None);
        world.write_home(USER_PATH, r#"{"confine": "off"}"#);
        assert_eq!(mode(&mut settings), Some(ConfineMode::Off));
        world.write_home(USER_PATH, r#"{"confine": "of"}"#);
        assert_eq!(mode(&mut settings), None);
        world.write("shipped.json", r#"{"confine": "off"}"#);
        world.symlink("/workspace/shipped.json", &format!("{HOME}/{USER_PATH}"));
        assert_eq!(mode(&mut settings), None);
    }
}
