//! Every declared MCP server, whatever its source.
//!
//! The user's own `mcpServers` come first, then those of extensions, then those of the workspace. A name that is taken is not
//! replaced: the server of an extension is then called `EXTENSION.NAME`; any other is left out, with a warning unless the user's
//! own settings take precedence over the workspace's.

use serde_json::Value;

use super::extension_servers::ExtensionServers;
use super::spec::{ServerSource, ServerSpec};
use crate::config;
use crate::home;
use crate::json::document;
use crate::ports::{Ports, Root};

/// Maximum number of servers; more are a mistake.
const MAX_SERVERS: usize = 256;

/// The workspace's declaration of a server.
pub fn workspace_entry(name: &str, ports: &Ports) -> Option<Value> {
    let text = ports.workspace.read(Root::Project, config::PATH, home::MAX_BYTES).ok()?;
    document::read::<Value>(&text).ok()?.get("mcpServers")?.get(name).cloned()
}

/// The servers, in the order in which they were added, and what could not be added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerRegistry {
    servers: Vec<ServerSpec>,
    warnings: Vec<String>,
}

impl ServerRegistry {
    /// Every server that is declared now.
    pub fn read_declared(extensions: &dyn ExtensionServers, ports: &Ports) -> Self {
        let (servers, left_out) = extensions.servers();
        Self::read(ports, |registry| {
            servers.into_iter().for_each(|spec| registry.add(spec));
            registry.warnings.extend(left_out);
        })
    }

    /// The servers that the user and the workspace declare. `add_extensions` adds those of extensions, between the two.
    pub fn read(ports: &Ports, add_extensions: impl FnOnce(&mut Self)) -> Self {
        let mut registry = Self::default();
        let read = |text: Option<Vec<u8>>| text.and_then(|text| document::read::<Value>(&text).ok()).unwrap_or_default();
        let user = read(home::read(home::SETTINGS, ports));
        registry.add_entries(user.get("mcpServers").unwrap_or(&Value::Null), &ServerSource::User);
        add_extensions(&mut registry);
        let workspace = read(ports.workspace.read(Root::Project, config::PATH, home::MAX_BYTES).ok());
        registry.add_entries(workspace.get("mcpServers").unwrap_or(&Value::Null), &ServerSource::Workspace);
        registry
    }

    /// Adds every entry of an object like `mcpServers`. An invalid entry is left out and becomes a warning.
    pub fn add_entries(&mut self, entries: &Value, source: &ServerSource) {
        match entries {
            Value::Object(entries) => {
                for (name, entry) in entries {
                    match ServerSpec::parse(name, entry, source.clone()) {
                        Ok(spec) => self.add(spec),
                        Err(why) => self.warn(source, name, &why),
                    }
                }
            }
            Value::Null => {}
            _ => self.warnings.push(format!("`mcpServers` ({source}) must be an object of servers by name")),
        }
    }

    /// Adds a server under its name, or an extension's under `EXTENSION.NAME` if that name is taken.
    pub fn add(&mut self, mut spec: ServerSpec) {
        if self.servers.len() >= MAX_SERVERS {
            return self.warn(&spec.source.clone(), &spec.name, &format!("there are more than {MAX_SERVERS} servers"));
        }
        if let (Some(_), ServerSource::Extension(extension)) = (self.get(&spec.name), &spec.source) {
            spec.name = format!("{extension}.{}", spec.name);
        }
        match self.get(&spec.name).map(|other| other.source.clone()) {
            None => self.servers.push(spec),
            // No warning: the user wrote their own settings and knows that these take precedence.
            Some(ServerSource::User) if spec.source == ServerSource::Workspace => {}
            Some(other) => self.warn(&spec.source.clone(), &spec.name, &format!("another server has that name ({other})")),
        }
    }

    fn warn(&mut self, source: &ServerSource, name: &str, why: &str) {
        let name: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
        self.warnings.push(format!("the MCP server `{name}` ({source}) is left out: {why}"));
    }

    /// The server with this name.
    pub fn get(&self, name: &str) -> Option<&ServerSpec> {
        self.servers.iter().find(|spec| spec.name == name)
    }

    /// All servers.
    pub fn servers(&self) -> &[ServerSpec] {
        &self.servers
    }

    /// What was left out, and why.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::memory::Memory;
    use serde_json::json;

    #[test]
    fn who_comes_first_has_the_name() {
        let world = Memory::new();
        let entry = |command: &str| json!({"command": command});
        let user = json!({"mcpServers": {"a": entry("user"), "bad name": {}}});
        world.write_home(home::SETTINGS, user.to_string());
        world.write(config::PATH, json!({"mcpServers": {"a": entry("workspace"), "b": entry("b"), "c": entry("c")}}).to_string());
        let registry = ServerRegistry::read(&world.ports(), |registry| {
            for extension in ["one", "two"] {
                let entries = json!({"a": entry(extension), "b": entry(extension)});
                registry.add_entries(&entries, &ServerSource::Extension(extension.to_owned()));
            }
            registry.add_entries(&json!(3), &ServerSource::Extension("three".to_owned()));
        });
        let found: Vec<(&str, String)> = registry.servers().iter().map(|spec| (spec.name.as_str(), spec.target())).collect();
        let expected = [("a", "user"), ("one.a", "one"), ("b", "one"), ("two.a", "two"), ("two.b", "two"), ("c", "c")];
        assert_eq!(found, expected.map(|(name, target)| (name, target.to_owned())));
        assert_eq!(registry.warnings().len(), 3, "{:?}", registry.warnings());
    }
}
