//! The values of settings that servers refer to.

use serde_json::Value;

use super::extension_servers::ExtensionServers;
use super::spec::ServerSource;
use crate::home;
use crate::json::document;
use crate::ports::Ports;

/// The value of a setting, for a server from this source; `None` if it is not set. The user's own servers use the user's
/// `settings`, those of an extension use its own, and a workspace's have none.
pub(super) fn value(source: &ServerSource, key: &str, extensions: &dyn ExtensionServers, ports: &Ports) -> Option<String> {
    match source {
        ServerSource::User => {
            let settings: Value = document::read(&home::read(home::SETTINGS, ports)?).ok()?;
            settings.get("settings")?.get(key)?.as_str().map(str::to_owned)
        }
        ServerSource::Extension(name) => extensions.setting(name, key),
        ServerSource::Workspace => None,
    }
}
