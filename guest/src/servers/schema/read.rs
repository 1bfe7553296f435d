//! Parses JSON Schema into [`Schema`].

use serde_json::Value;

use super::{JsonType, NamedSchemas, Schema, TYPES, Types, Union};

/// Maximum depth of nested schemas.
const MAX_DEPTH: usize = 64;

/// Maximum number of parts of a schema.
const MAX_PARTS: usize = 10_000;

/// Why a schema cannot be used: where in it, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` {why}")]
pub struct SchemaFault {
    /// The place, such as `properties.path.type`.
    pub path: String,
    /// What is wrong there.
    pub why: String,
}

/// Keywords that hold schemas to refer to.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

impl Schema {
    /// Parses the schema of a whole tool, which has to describe an object.
    pub fn read(written: &Value) -> Result<Self, SchemaFault> {
        let mut reader = SchemaReader { path: Vec::new(), parts: 0, references: Vec::new() };
        let schema = reader.schema(written)?;
        if !written.is_object() || schema.types != Types::One(JsonType::Object) {
            return Err(SchemaFault { path: "type".to_owned(), why: "must be `object`".to_owned() });
        }
        match reader.references.iter().find(|(_, reference)| schema.resolve_reference(reference).is_none()) {
            Some((path, reference)) => {
                Err(SchemaFault { path: path.clone(), why: format!("refers to `{reference}`, which does not exist") })
            }
            None => Ok(schema),
        }
    }

    /// What a reference within this schema leads to; `None` if it leads nowhere, or to a place that is not read here.
    pub(super) fn resolve_reference(&self, reference: &str) -> Option<&Self> {
        let path = reference.strip_prefix('#')?;
        if path.is_empty() {
            return Some(self);
        }
        let (word, name) = path.strip_prefix('/')?.split_once('/')?;
        let (_, named) = self.definitions.iter().find(|(held, _)| *held == word)?;
        let name = name.replace("~1", "/").replace("~0", "~");
        named.iter().find(|(other, _)| *other == name).map(|(_, schema)| schema)
    }
}

struct SchemaReader {
    path: Vec<String>,
    parts: usize,
    /// The references into the schema itself, and where they are.
    references: Vec<(String, String)>,
}

impl SchemaReader {
    fn fault<T>(&self, key: &str, why: &str) -> Result<T, SchemaFault> {
        Err(SchemaFault { path: self.place(key), why: why.to_owned() })
    }

    /// A position in the schema, shortened to a few steps.
    fn place(&self, key: &str) -> String {
        const MAX_STEPS: usize = 12;
        let steps: Vec<&str> =
            self.path.iter().map(String::as_str).chain([key].into_iter().filter(|key| !key.is_empty())).collect();
        match steps.get(steps.len().saturating_sub(MAX_STEPS)..) {
            Some(last) if last.len() < steps.len() => format!("….{}", last.join(".")),
            _ => steps.join("."),
        }
    }

    fn read_at(&mut self, step: &str, written: &Value) -> Result<Schema, SchemaFault> {
        // Names come from outside and become part of a message.
        self.path.push(step.chars().filter(|c| !c.is_control()).take(64).collect());
        let schema = self.schema(written);
        self.path.pop();
        schema
    }

    fn schema(&mut self, written: &Value) -> Result<Schema, SchemaFault> {
        self.parts += 1;
        if self.path.len() > MAX_DEPTH * 2 {
            return self.fault("", "is nested too deeply");
        }
        if self.parts > MAX_PARTS {
            return self.fault("", "has too many parts");
        }
        let fields = match written {
            Value::Object(fields) => fields,
            Value::Bool(answer) => return Ok(Schema { constant_answer: Some(*answer), ..Schema::default() }),
            _ => return self.fault("", "must be an object, true or false"),
        };
        let mut schema = Schema::default();
        for (key, value) in fields {
            self.keyword(&mut schema, key, value)?;
        }
        Ok(schema)
    }

    fn keyword(&mut self, schema: &mut Schema, key: &str, value: &Value) -> Result<(), SchemaFault> {
        match key {
            "type" => schema.types = self.types(value)?,
            "description" => match value {
                Value::String(text) => schema.description = Some(text.clone()),
                _ => return self.fault(key, "must be a string"),
            },
            "default" => schema.default = Some(value.clone()),
            "const" => schema.constant = Some(value.clone()),
            "enum" => match value {
                Value::Array(choices) if !choices.is_empty() => schema.choices = Some(choices.clone()),
                _ => return self.fault(key, "must be a list with at least one value"),
            },
            "properties" => schema.properties = Some(self.read_named_schemas(key, value)?),
            "required" => {
                let names = value.as_array().map(|names| names.iter().map(|name| name.as_str().map(str::to_owned)).collect());
                match names {
                    Some(Some(names)) => schema.required = Some(names),
                    _ => return self.fault(key, "must be a list of names"),
                }
            }
            "additionalProperties" => schema.additional = Some(Box::new(self.read_at(key, value)?)),
            // A list of schemas is how earlier drafts wrote what is now `prefixItems`.
            "items" if !value.is_array() => schema.items = Some(Box::new(self.read_at(key, value)?)),
            "anyOf" | "oneOf" => {
                let Some(written) = value.as_array().filter(|written| !written.is_empty()) else {
                    return self.fault(key, "must be a list of schemas");
                };
                let mut alternatives = Vec::new();
                for (at, written) in written.iter().enumerate() {
                    alternatives.push(self.read_at(&format!("{key}[{at}]"), written)?);
                }
                schema.unions.push((if key == "anyOf" { Union::Any } else { Union::One }, alternatives));
            }
            "$ref" => match value {
                Value::String(reference) => {
                    if reference.starts_with('#') && DEFINITIONS.iter().any(|word| reference.starts_with(&format!("#/{word}/"))) {
                        self.references.push((self.place(""), reference.clone()));
                    }
                    schema.reference = Some(reference.clone());
                }
                _ => return self.fault(key, "must be a string"),
            },
            _ => match DEFINITIONS.iter().find(|word| **word == key) {
                Some(word) => {
                    let named = self.read_named_schemas(key, value)?;
                    schema.definitions.push((word, named));
                }
                None => drop(schema.verbatim.insert(key.to_owned(), value.clone())),
            },
        }
        Ok(())
    }

    fn read_named_schemas(&mut self, key: &str, value: &Value) -> Result<NamedSchemas, SchemaFault> {
        let Some(fields) = value.as_object() else { return self.fault(key, "must be an object of schemas") };
        self.path.push(key.to_owned());
        let mut named = Vec::new();
        for (name, written) in fields {
            named.push((name.clone(), self.read_at(name, written)?));
        }
        self.path.pop();
        Ok(named)
    }

    fn types(&self, value: &Value) -> Result<Types, SchemaFault> {
        let known = |value: &Value| TYPES.iter().find(|(_, name)| Some(*name) == value.as_str()).map(|(kind, _)| *kind);
        let several = value.as_array().filter(|types| !types.is_empty()).and_then(|types| types.iter().map(known).collect());
        match (known(value).map(Types::One), several.map(Types::Several)) {
            (Some(types), _) | (_, Some(types)) => Ok(types),
            _ => self.fault(
                "type",
                "must be `string`, `number`, `integer`, `boolean`, `object`, `array` or `null`, or a list of these",
            ),
        }
    }
}
