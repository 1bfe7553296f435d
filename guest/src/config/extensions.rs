//! Settings about extensions: `extensions` in the `config.json` of the user and of the workspace.
//!
//! ```json
//! {"extensions": {"autoEnable": false, "enabled": ["house-rules"], "disabled": [], "settings": {"house-rules": {"strict": true}}}}
//! ```
//!
//! | setting | what it decides |
//! | --- | --- |
//! | `enabled`, `disabled` | which extensions are enabled; `disabled` wins over any `enabled` |
//! | `autoEnable` | whether extensions that neither list names are enabled |
//! | `settings` | values for extensions, by extension and setting |
//!
//! The user's file decides about every extension. The workspace's file decides only about the workspace's own extensions: a
//! repository can neither disable nor enable an extension of the user's.

use serde_json::{Map, Value};

/// Maximum number of names in a list; more are a mistake.
const MAX_NAMES: usize = 1_000;

/// The settings about extensions in one file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Choices {
    /// The extensions that are enabled.
    pub enabled: Vec<String>,
    /// The extensions that are disabled.
    pub disabled: Vec<String>,
    /// Whether extensions that are not named are enabled; `None` if the file does not say.
    pub auto_enable: Option<bool>,
    /// Values, by extension and setting.
    settings: Map<String, Value>,
}

impl Choices {
    /// Reads `extensions`, or says what is wrong with it.
    pub fn parse(written: &Value) -> Result<Self, String> {
        let Some(written) = written.as_object() else { return Err("`extensions` must be an object".to_owned()) };
        let mut choices = Self::default();
        for (key, value) in written {
            match (key.as_str(), value) {
                ("enabled", value) => choices.enabled = names(key, value)?,
                ("disabled", value) => choices.disabled = names(key, value)?,
                ("autoEnable", Value::Bool(auto)) => choices.auto_enable = Some(*auto),
                ("settings", Value::Object(settings)) if settings.values().all(Value::is_object) => {
                    choices.settings.clone_from(settings);
                }
                _ => {
                    return Err(format!(
                        "`extensions.{key}` cannot be {value}; expected `enabled` and `disabled` (lists of names), `autoEnable` (true or false) and `settings` (an object for each extension)"
                    ));
                }
            }
        }
        Ok(choices)
    }

    /// The value of a setting.
    pub fn value(&self, extension: &str, setting: &str) -> Option<&Value> {
        self.settings.get(extension)?.get(setting)
    }

    /// All values for an extension.
    pub fn values(&self, extension: &str) -> Option<&Map<String, Value>> {
        self.settings.get(extension)?.as_object()
    }

    /// All values, by extension.
    pub fn all_values(&self) -> &Map<String, Value> {
        &self.settings
    }

    /// Whether an extension is enabled, by this file alone; `None` if the file does not say.
    fn choice_for(&self, extension: &str) -> Option<bool> {
        let is_named = |names: &[String]| names.iter().any(|name| name == extension);
        match (is_named(&self.disabled), is_named(&self.enabled)) {
            (true, _) => Some(false),
            (false, true) => Some(true),
            (false, false) => self.auto_enable,
        }
    }
}

/// Whether an extension is enabled. `workspace` is the workspace's file, if it decides about the extension.
pub fn is_enabled(extension: &str, user: &Choices, workspace: Option<&Choices>) -> bool {
    let disabled = |choices: &Choices| choices.disabled.iter().any(|name| name == extension);
    if disabled(user) || workspace.is_some_and(disabled) {
        return false;
    }
    let enabled = |choices: &Choices| choices.enabled.iter().any(|name| name == extension);
    if enabled(user) || workspace.is_some_and(enabled) {
        return true;
    }
    user.choice_for(extension).or_else(|| workspace?.choice_for(extension)).unwrap_or(false)
}

/// Maximum length of a name; longer names are a mistake.
const MAX_NAME: usize = 64;

/// Whether a text can be the name of an extension, or of something that it provides.
pub fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    name.len() <= MAX_NAME && name.starts_with(|first: char| first.is_ascii_alphanumeric()) && name.bytes().all(fits)
}

fn names(key: &str, written: &Value) -> Result<Vec<String>, String> {
    let listed = written.as_array().filter(|list| list.len() <= MAX_NAMES);
    let names = listed.and_then(|list| {
        let name = |name: &Value| name.as_str().filter(|name| is_name(name)).map(str::to_owned);
        list.iter().map(name).collect::<Option<Vec<_>>>()
    });
    names.ok_or_else(|| format!("`extensions.{key}` must be a list of at most {MAX_NAMES} names of extensions"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn who_decides() {
        let choices = |written: Value| Choices::parse(&written).unwrap();
        let (none, on, off) = (json!({}), json!({"enabled": ["x"]}), json!({"disabled": ["x"]}));
        let (auto, never) = (json!({"autoEnable": true}), json!({"autoEnable": false}));
        for (user, workspace, of_workspace, expected) in [
            (&none, &none, true, false),
            (&on, &none, true, true),
            (&on, &off, true, false),
            // A repository can neither disable nor enable the user's own.
            (&on, &off, false, true),
            (&none, &on, false, false),
            (&none, &auto, false, false),
            (&none, &on, true, true),
            (&off, &on, true, false),
            (&auto, &none, true, true),
            (&auto, &off, true, false),
            (&none, &auto, true, true),
            (&never, &auto, true, false),
            (&never, &on, true, true),
        ] {
            let found = is_enabled("x", &choices(user.clone()), of_workspace.then(|| choices(workspace.clone())).as_ref());
            assert_eq!(found, expected, "{user} {workspace} {of_workspace}");
        }
        for written in [
            json!([]),
            json!({"enabled": "x"}),
            json!({"enabled": ["a b"]}),
            json!({"autoEnable": 1}),
            json!({"settings": {"x": 1}}),
            json!({"other": 1}),
        ] {
            assert!(Choices::parse(&written).unwrap_err().contains("`extensions"), "{written}");
        }
    }
}
