//! All intents of a workspace, as `.orchestration/active_intents.yaml` declares them.

use std::fmt;
use std::rc::Rc;

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::intent::{Intent, IntentId};
use crate::ports::{Facts, FileFault, Kind, Ports, Root};

/// Where the intents stand.
pub const PATH: &str = ".orchestration/active_intents.yaml";

/// A larger file is a mistake, and would take the guest's memory.
const MOST_BYTES: u64 = 8 << 20;

/// All intents, in the order of the file.
#[derive(Debug, Default)]
pub struct Intents(Vec<Intent>);

impl Intents {
    /// Reads the YAML text.
    pub fn parse(text: &[u8]) -> Result<Self, serde_yaml::Error> {
        let blank = |line: &[u8]| matches!(line.trim_ascii_start().first(), None | Some(b'#'));
        if text.split(|byte| *byte == b'\n').all(blank) {
            return Ok(Self::default());
        }
        serde_yaml::from_slice(text)
    }

    /// The intent of that id.
    pub fn find(&self, id: &IntentId) -> Option<&Intent> {
        self.0.iter().find(|intent| intent.id == *id)
    }

    /// Those that work may go on under, for a message: `INT-001 (Login hardening), …`.
    pub fn open_ones(&self) -> String {
        let open: Vec<_> = self.0.iter().filter(|intent| intent.status.is_open()).take(MOST_NAMED + 1).map(Intent::to_string).collect();
        if open.is_empty() { format!("none is open in `{PATH}`") } else { few(&open) }
    }
}

/// Things that a message names before it says that there are more.
const MOST_NAMED: usize = 20;

/// The first of a list, for a message.
pub fn few(items: &[String]) -> String {
    let named = items.get(..MOST_NAMED.min(items.len())).unwrap_or_default().join(", ");
    if items.len() > MOST_NAMED { format!("{named}, and more") } else { named }
}

/// How a workspace is governed.
#[derive(Debug, Clone)]
pub enum Governance {
    /// There is no `.orchestration/`: not at all.
    None,
    /// The intents cannot be read and never could be; why.
    Unreadable(String),
    /// By these intents. Where the file has since become unusable, the last good ones.
    By(Rc<Intents>),
}

/// The intents, parsed once and kept until the file changes.
#[derive(Debug, Default)]
pub struct Cache {
    stamp: Option<u64>,
    good: Option<Rc<Intents>>,
    fault: String,
}

impl Cache {
    /// The governance, given what the host saw of `.orchestration/` and of the file.
    pub fn governance(&mut self, folder: &Facts, file: &Facts, ports: &Ports) -> Governance {
        if folder.kind != Kind::Directory {
            return Governance::None;
        }
        if self.stamp != Some(file.stamp) {
            self.stamp = Some(file.stamp);
            match load(ports) {
                Ok(intents) => self.good = Some(Rc::new(intents)),
                Err(fault) => {
                    ports.warn(&fault);
                    self.fault = fault;
                }
            }
        }
        match &self.good {
            Some(intents) => Governance::By(intents.clone()),
            None => Governance::Unreadable(self.fault.clone()),
        }
    }
}

fn load(ports: &Ports) -> Result<Intents, String> {
    let text = ports.workspace.read(Root::Project, PATH, MOST_BYTES).map_err(|fault| match fault {
        FileFault::TooLarge => format!("`{PATH}` is larger than {} MiB; move closed intents elsewhere", MOST_BYTES >> 20),
        fault => format!("`{PATH}` cannot be read: {fault}"),
    })?;
    Intents::parse(&text).map_err(|fault| format!("`{PATH}` cannot be parsed: {fault}"))
}

/// Three forms are understood: `active_intents:`, `intents:`, or a bare list.
impl<'de> Deserialize<'de> for Intents {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl<'de> Visitor<'de> for Forms {
            type Value = Intents;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("`active_intents:` with a list of intents")
            }

            fn visit_unit<E>(self) -> Result<Intents, E> {
                Ok(Intents(Vec::new()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Intents, A::Error> {
                let mut intents = Vec::new();
                while let Some(intent) = list.next_element()? {
                    intents.push(intent);
                }
                Ok(Intents(intents))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Intents, A::Error> {
                let mut intents = None;
                while let Some(key) = map.next_key::<String>()? {
                    if key == "active_intents" || key == "intents" {
                        intents = Some(map.next_value::<Option<Vec<Intent>>>()?.unwrap_or_default());
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                intents.map(Intents).ok_or_else(|| serde::de::Error::missing_field("active_intents"))
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTENT: &str = "{id: INT-1, name: One, status: IN_PROGRESS, owned_scope: ['a/**']}";

    fn ids(text: &str) -> Vec<String> {
        Intents::parse(text.as_bytes()).unwrap().0.iter().map(|intent| intent.id.to_string()).collect()
    }

    #[test]
    fn three_forms() {
        for text in [format!("active_intents: [{INTENT}]"), format!("version: 1\nintents: [{INTENT}]"), format!("[{INTENT}]")] {
            assert_eq!(ids(&text), ["INT-1"], "{text}");
        }
        assert!(ids("active_intents:").is_empty());
        assert!(ids("").is_empty());
    }

    #[test]
    fn faults_say_where() {
        for (text, said) in [
            ("active_intents:\n  - {id: A, name: B, status: DOING}", "line 2"),
            ("active_intents:\n  - {id: 'a b', name: B, status: PLANNED}", "`a b` is no intent id"),
            ("active_intents:\n  - {name: B, status: PLANNED}", "missing field `id`"),
            ("other: 1", "missing field `active_intents`"),
            ("active_intents:\n  - {id: A, name: B, status: PLANNED, owned_scope: [unclosed\n", "line 3"),
        ] {
            let fault = Intents::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(fault.contains(said), "{text}: {fault}");
        }
    }
}
