//! Reads the fields of an object, and collects everything that is wrong with them.

use serde_json::{Map, Value};

use super::DeclarationFault;
use crate::json::position::PathStep;

/// Maximum number of faults that are reported: each is looked up in the text, and more are not useful.
pub(super) const MAX_FAULTS: usize = 20;

/// Reads an object field by field, and collects everything that is wrong with it, and where.
#[derive(Debug, Default)]
pub(crate) struct FieldReader {
    pub(crate) faults: Vec<DeclarationFault>,
    pub(crate) path: Vec<PathStep>,
    pub(super) patterns_size: usize,
    pub(super) globs_size: usize,
}

impl FieldReader {
    pub(crate) fn fault(&mut self, message: &str) {
        if self.faults.len() >= MAX_FAULTS {
            return;
        }
        self.faults.push(DeclarationFault { path: self.path.clone(), message: message.to_owned() });
    }

    pub(crate) fn fault_at(&mut self, key: &str, message: &str) {
        self.path.push(PathStep::Key(key.to_owned()));
        self.fault(message);
        self.path.pop();
    }

    pub(crate) fn text<'v>(&mut self, fields: &'v Map<String, Value>, key: &str) -> Option<&'v str> {
        let value = fields.get(key)?;
        if !value.is_string() {
            self.fault_at(key, "must be a string");
        }
        value.as_str()
    }

    pub(crate) fn flag(&mut self, fields: &Map<String, Value>, key: &str, default: bool) -> bool {
        let Some(value) = fields.get(key) else { return default };
        if !value.is_boolean() {
            self.fault_at(key, "must be true or false");
        }
        value.as_bool().unwrap_or(default)
    }

    pub(crate) fn number(&mut self, fields: &Map<String, Value>, key: &str, range: std::ops::RangeInclusive<u64>) -> Option<u64> {
        let value = fields.get(key)?;
        let number = value.as_u64().filter(|number| range.contains(number));
        if number.is_none() {
            self.fault_at(key, &format!("must be a whole number from {} to {}", range.start(), range.end()));
        }
        number
    }
}
