//! Connections to MCP servers, including the servers of extensions and programs that run confined.

use serde_json::Value;

use super::Gate;
use crate::extensions::Extensions;
use crate::hooks::machine::Machine;
use crate::json::{self, object};
use crate::ports::Ports;
use crate::servers::hub::HubTurn;
use crate::servers::{self, ServerSource, ServerSpec};

/// The MCP servers of active extensions, for the connections.
struct ActiveExtensions<'g> {
    extensions: &'g Extensions,
    machine: &'g Machine,
    ports: &'g Ports,
}

impl servers::ExtensionServers for ActiveExtensions<'_> {
    fn revision(&self) -> u64 {
        self.extensions.revision()
    }

    fn servers(&self) -> (Vec<ServerSpec>, Vec<String>) {
        self.extensions.servers(self.machine, self.ports)
    }

    fn verify(&self, extension: &str) -> Result<(), String> {
        let Some(extension) = self.extensions.find(extension) else { return Err("the extension no longer exists".to_owned()) };
        self.extensions.verify(extension, self.machine, self.ports)
    }

    fn setting(&self, extension: &str, key: &str) -> Option<String> {
        self.extensions.setting(&ServerSource::Extension(extension.to_owned()), key)
    }
}

impl Gate {
    /// Processes what happened to connections to MCP servers; returns what to do about it.
    pub fn step_servers(&mut self, now_ms: u64, inputs: &[Value]) -> HubTurn {
        // These inputs need the current declarations; the others use what is already known.
        let looks = |input: &Value| matches!(json::text(input, "type"), Some("want" | "request" | "reload"));
        if inputs.iter().any(looks) {
            self.hooks();
        }
        let mut turn = self.step_hub(now_ms, inputs);
        loop {
            let refused = self.confine_connections(&mut turn.commands);
            if refused.is_empty() {
                return turn;
            }
            let then = self.step_hub(now_ms, &refused);
            turn.commands.extend(then.commands);
            turn.next_deadline_ms = then.next_deadline_ms;
        }
    }

    fn step_hub(&mut self, now_ms: u64, inputs: &[Value]) -> HubTurn {
        let extensions = ActiveExtensions { extensions: &self.extensions, machine: self.hooks.machine(), ports: &self.ports };
        self.servers.step(now_ms, inputs, &extensions, &self.ports)
    }

    /// Makes the programs of servers that are declared as confined run confined. Returns the endings of connections that may not
    /// be made.
    fn confine_connections(&mut self, commands: &mut Vec<Value>) -> Vec<Value> {
        let mut refused = Vec::new();
        for mut command in std::mem::take(commands) {
            let server = json::text(&command, "server").unwrap_or_default().to_owned();
            let transport = command.get_mut("transport").and_then(Value::as_object_mut);
            let Some(transport) = transport.filter(|transport| transport.contains_key("confine")) else {
                commands.push(command);
                continue;
            };
            transport.shift_remove("confine");
            let words = transport.get("argv").and_then(Value::as_array).into_iter().flatten();
            let words: Vec<String> = words.filter_map(|word| Some(word.as_str()?.to_owned())).collect();
            match self.confined_server(&server, &words) {
                Ok(argv) => {
                    transport.insert("argv".to_owned(), argv.into());
                    commands.push(command);
                }
                Err(why) => refused.push(object(&mut [
                    ("type", "closed".into()),
                    ("connection", command.get("connection").cloned().unwrap_or_default()),
                    ("kind", "unconfined".into()),
                    ("why", why.into()),
                ])),
            }
        }
        refused
    }
}
