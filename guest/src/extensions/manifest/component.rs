//! A component that an extension provides, for hooks to call.

use serde_json::{Map, Value};

use crate::extensions::path;
use crate::hooks::declaration::FieldReader;

/// A component of an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestComponent {
    /// The name by which hooks call it.
    pub name: String,
    /// Its file in the extension.
    pub path: String,
}

pub(super) fn read(reader: &mut FieldReader, fields: &Map<String, Value>) -> Option<ManifestComponent> {
    reader.check_keys(fields, &["name", "path", "description"]);
    let name = reader.name_of(fields, "name");
    let file = reader.line(fields, "path", true)?;
    if let Err(why) = path::check_inside(file) {
        reader.fault_at("path", &why);
        return None;
    }
    Some(ManifestComponent { name: name?.to_owned(), path: file.strip_prefix("./").unwrap_or(file).to_owned() })
}
