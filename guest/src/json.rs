//! JSON helpers that go through [`Value`], because a derived deserializer per type would make up a third of the component's size.

pub mod document;
pub mod position;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Error, Map, Value};

/// Reads a value.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    serde_json::from_value(serde_json::from_slice::<Value>(bytes)?)
}

/// Writes a value on one line. A value that cannot be written becomes `null`; no type here has such values.
pub fn line<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

/// Converts to a [`Value`].
pub fn value_of<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Makes a JSON object. The `json!` macro would take ten times the space in the component.
pub fn object(fields: &mut [(&str, Value)]) -> Value {
    let mut object = Map::new();
    for (key, value) in fields {
        object.insert((*key).to_owned(), value.take());
    }
    Value::Object(object)
}

/// The string under a key.
pub fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

/// Reads any value. It parses bytes, so that the component contains one parser and not a second one for `str`.
pub fn value(text: &str) -> Result<Value, Error> {
    serde_json::from_slice(text.as_bytes())
}
