//! What a tool of an MCP server takes and returns: its JSON Schema, read into a form of our own and written back without loss.
//!
//! Types, properties, which of them are required, choices, defaults, nested objects and lists, `$ref` and unions have a place in
//! [`Schema`]. Every other keyword is kept as it is in [`Schema::verbatim`]: it is shown, passed on, and not understood, so
//! nothing is ever refused because of it.

mod fit;
mod read;
mod write;

use serde_json::{Map, Value};

pub use read::SchemaFault;

/// A type of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonType {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// A text.
    String,
    /// A list.
    Array,
    /// An object.
    Object,
}

/// The types with the names that JSON Schema has for them.
const TYPES: [(JsonType, &str); 7] = [
    (JsonType::Null, "null"),
    (JsonType::Boolean, "boolean"),
    (JsonType::Integer, "integer"),
    (JsonType::Number, "number"),
    (JsonType::String, "string"),
    (JsonType::Array, "array"),
    (JsonType::Object, "object"),
];

impl JsonType {
    /// Its name in JSON Schema.
    pub fn name(self) -> &'static str {
        TYPES.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

/// The types that a value may have.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Types {
    /// The schema does not say.
    #[default]
    Any,
    /// This one.
    One(JsonType),
    /// One of these.
    Several(Vec<JsonType>),
}

impl Types {
    fn all(&self) -> &[JsonType] {
        match self {
            Self::Any => &[],
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
        }
    }
}

/// The keyword of a list of alternatives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Union {
    /// `anyOf`
    Any,
    /// `oneOf`
    One,
}

/// Schemas by name, in their order.
pub type NamedSchemas = Vec<(String, Schema)>;

/// One schema, of a whole tool or of a part of what it takes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Schema {
    /// Set if the schema is `true` (anything) or `false` (nothing) instead of an object.
    pub constant_answer: Option<bool>,
    /// The types that fit.
    pub types: Types,
    /// What it is for.
    pub description: Option<String>,
    /// The value that is assumed if none is given.
    pub default: Option<Value>,
    /// The only values that fit.
    pub choices: Option<Vec<Value>>,
    /// The only value that fits.
    pub constant: Option<Value>,
    /// The members of an object.
    pub properties: Option<NamedSchemas>,
    /// The members that are required.
    pub required: Option<Vec<String>>,
    /// The schema of members that are not listed.
    pub additional: Option<Box<Schema>>,
    /// The schema of a list's items.
    pub items: Option<Box<Schema>>,
    /// The alternatives of which one must fit.
    pub unions: Vec<(Union, Vec<Schema>)>,
    /// Where the rest of the schema is, such as `#/$defs/point`.
    pub reference: Option<String>,
    /// Schemas that are referred to, under the keyword that holds them.
    pub definitions: Vec<(&'static str, NamedSchemas)>,
    /// Keywords without a field here, verbatim.
    pub verbatim: Map<String, Value>,
}

impl Schema {
    /// Whether a member is required.
    pub fn requires(&self, name: &str) -> bool {
        self.required.iter().flatten().any(|required| required == name)
    }

    /// A short description of what fits, for people: `string`, `integer or null`, `"a" | "b"`, `string[]`.
    pub fn summary(&self) -> String {
        self.summary_at(0)
    }

    fn summary_at(&self, depth: usize) -> String {
        const MAX_CHOICES: usize = 6;
        let one = self.constant.as_ref().map(std::slice::from_ref);
        if let Some(choices) = self.choices.as_deref().or(one) {
            let mut shown: Vec<String> = choices.iter().take(MAX_CHOICES).map(Value::to_string).collect();
            shown.extend((choices.len() > MAX_CHOICES).then(|| "…".to_owned()));
            return shown.join(" | ");
        }
        if let Some((_, alternatives)) = self.unions.first().filter(|_| depth < 2) {
            let shown: Vec<String> = alternatives.iter().take(MAX_CHOICES).map(|schema| schema.summary_at(depth + 1)).collect();
            return shown.join(" or ");
        }
        if let Some(reference) = &self.reference {
            return reference.rsplit('/').next().unwrap_or(reference).to_owned();
        }
        let named = |kind: &JsonType| match (kind, &self.items) {
            (JsonType::Array, Some(items)) if depth < 2 => format!("{}[]", items.summary_at(depth + 1)),
            _ => kind.name().to_owned(),
        };
        let named: Vec<String> = self.types.all().iter().map(named).collect();
        if named.is_empty() { "any".to_owned() } else { named.join(" or ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn whole(properties: Value) -> Value {
        json!({"type": "object", "properties": properties})
    }

    #[test]
    fn what_is_read_is_written_back() {
        for written in [
            json!({"type": "object"}),
            json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false, "$schema": "x", "title": "T"}),
            whole(json!({"a": {"type": "string", "enum": ["x", "y"], "default": "x", "description": "d", "minLength": 1}})),
            whole(json!({"a": {"type": ["string", "null"]}, "b": {"anyOf": [{"type": "integer"}, {"type": "null"}]}})),
            whole(
                json!({"a": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}}}),
            ),
            whole(json!({"a": {"oneOf": [{"const": 1}, {"const": null}], "anyOf": [true]}, "b": true, "c": false})),
            whole(
                json!({"a": {"items": [{"type": "string"}]}, "b": {"allOf": [{"minimum": 1}], "not": {"type": "null"}, "x-own": [1]}}),
            ),
            json!({"type": "object", "properties": {"p": {"$ref": "#/$defs/point", "description": "where"}},
                   "$defs": {"point": {"type": "object", "properties": {"next": {"$ref": "#/$defs/point"}}}}, "definitions": {}}),
            whole(json!({"a": {"additionalProperties": {"type": "string"}, "patternProperties": {"^x": {}}, "default": null}})),
        ] {
            assert_eq!(Schema::read(&written).unwrap().to_json_schema(), written, "{written}");
        }
    }

    #[test]
    fn faults_say_where() {
        let mut deep = json!({"type": "string"});
        for _ in 0..70 {
            deep = whole(json!({ "a": deep }));
        }
        for (written, said) in [
            (json!([]), "must be an object"),
            (json!(true), "`type` must be `object`"),
            (json!({}), "`type` must be `object`"),
            (json!({"type": "string"}), "`type` must be `object`"),
            (whole(json!([])), "`properties` must be an object of schemas"),
            (whole(json!({"a": 1})), "`properties.a` must be an object"),
            (whole(json!({"a": {"type": "text"}})), "`properties.a.type` must be"),
            (whole(json!({"a": {"type": []}})), "`properties.a.type` must be"),
            (whole(json!({"a": {"enum": []}})), "`properties.a.enum` must be a list"),
            (whole(json!({"a": {"anyOf": [3]}})), "`properties.a.anyOf[0]` must be"),
            (whole(json!({"a": {"required": true}})), "`properties.a.required` must be a list of names"),
            (whole(json!({"a": {"$ref": "#/$defs/none"}})), "`properties.a` refers to `#/$defs/none`"),
            (whole(json!({"a\u{1b}": {"type": 1}})), "`properties.a.type`"),
            (deep, "is nested too deeply"),
        ] {
            let fault = Schema::read(&written).unwrap_err().to_string();
            assert!(fault.contains(said), "{fault}");
        }
    }

    #[test]
    fn only_what_is_certain_does_not_fit() {
        let schema = Schema::read(&json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"}, "depth": {"type": "integer"}, "mode": {"enum": ["a", 1]},
                "items": {"type": "array", "items": {"type": ["number", "null"]}},
                "either": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["x"]}]},
                "node": {"$ref": "#/$defs/node"}, "remote": {"$ref": "https://elsewhere/x"}, "odd": {"not": {"type": "string"}},
            },
            "required": ["path"], "additionalProperties": false,
            "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
        }));
        let schema = schema.unwrap();
        for (value, expected) in [
            (json!({"path": "x"}), None),
            (json!({"path": "x", "depth": 2.0, "mode": 1.0, "items": [1, null, 2.5], "either": {"x": 1}}), None),
            (json!({"path": "x", "node": {"next": {"next": {}}}, "remote": 3, "odd": "text"}), None),
            (json!({}), Some("`path` is missing")),
            (json!([]), Some("it must be object, not array")),
            (json!({"path": 1}), Some("`path` must be string, not integer")),
            (json!({"path": "x", "depth": 1.5}), Some("`depth` must be integer, not number")),
            (json!({"path": "x", "mode": "b"}), Some("`mode` must be \"a\" | 1")),
            (json!({"path": "x", "items": [1, "x"]}), Some("`items[1]` must be number or null, not string")),
            (json!({"path": "x", "either": 1}), Some("`either` must be string, not integer")),
            (json!({"path": "x", "node": {"next": {"next": 1}}}), Some("`node.next.next` must be object, not integer")),
            (json!({"path": "x", "more": 1}), Some("`more` is not expected")),
        ] {
            assert_eq!(schema.misfit(&value).as_deref(), expected, "{value}");
        }
    }

    /// It refers to itself twice, which would mean 2^64 comparisons.
    #[test]
    fn a_schema_cannot_make_the_comparison_endless() {
        let twice = json!({"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]});
        let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": twice}});
        assert_eq!(Schema::read(&schema).unwrap().misfit(&json!({"a": 1})), None);
    }

    #[test]
    fn what_is_shown() {
        let schema = Schema::read(&json!({"type": "object", "required": ["a"], "properties": {
            "a": {"type": "array", "items": {"type": "string"}, "minItems": 1}, "b": {"type": "string", "enum": ["x", "y"], "default": "x"},
            "c": {"type": "object", "properties": {"d": {"type": ["integer", "null"]}}}}}));
        assert_eq!(
            schema.unwrap().parameters(),
            json!([
                {"name": "a", "type": "string[]", "items": {"type": "string"}, "verbatim": {"minItems": 1}, "required": true},
                {"name": "b", "type": "\"x\" | \"y\"", "default": "x", "choices": ["x", "y"], "required": false},
                {"name": "c", "type": "object", "members": [{"name": "d", "type": "integer or null", "required": false}], "required": false},
            ])
        );
    }
}
