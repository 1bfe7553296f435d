//! The values of settings that servers refer to.

use serde_json::Value;

use super::brought::Extensions;
use super::spec::Source;
use crate::home;
use crate::json::document;
use crate::ports::Ports;

/// The value of a setting, for a server that somebody declares; none where it is not set. The user's own servers have the user's
/// `settings`, those of an extension have its own, and a workspace's have none.
pub(super) fn value(source: &Source, key: &str, extensions: &dyn Extensions, ports: &Ports) -> Option<String> {
    match source {
        Source::User => {
            let settings: Value = document::read(&home::read(home::SETTINGS, ports)?).ok()?;
            settings.get("settings")?.get(key)?.as_str().map(str::to_owned)
        }
        Source::Extension(name) => extensions.setting(name, key),
        Source::Workspace => None,
    }
}
