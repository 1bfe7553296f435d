//! JSON by way of [`Value`], for everything but what runs for every byte of a call: a direct route for each type would be a
//! third of the component.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Error, Value};

/// Reads a value.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    serde_json::from_value(serde_json::from_slice::<Value>(bytes)?)
}

/// Writes a value on one line. What cannot be written, which no type here allows, is null.
pub fn line<T: Serialize>(value: &T) -> String {
    value_of(value).to_string()
}

/// A value as it would be written.
pub fn value_of<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
