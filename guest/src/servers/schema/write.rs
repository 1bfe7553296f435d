//! Writes a [`Schema`] as JSON Schema, and as the summary shown to people.

use serde_json::{Map, Value};

use super::{NamedSchemas, Schema, Types, Union};

impl Schema {
    /// The JSON Schema that it was read from.
    pub fn to_json_schema(&self) -> Value {
        if let Some(answer) = self.constant_answer {
            return Value::Bool(answer);
        }
        let mut written = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                written.insert(key.to_owned(), value);
            }
        };
        let named = |named: &NamedSchemas| {
            Value::Object(named.iter().map(|(name, schema)| (name.clone(), schema.to_json_schema())).collect())
        };
        put("$ref", self.reference.clone().map(Value::from));
        put("type", self.types.to_json());
        put("description", self.description.clone().map(Value::from));
        put("properties", self.properties.as_ref().map(named));
        put("required", self.required.clone().map(Value::from));
        put("additionalProperties", self.additional.as_ref().map(|schema| schema.to_json_schema()));
        put("items", self.items.as_ref().map(|schema| schema.to_json_schema()));
        put("enum", self.choices.clone().map(Value::from));
        put("const", self.constant.clone());
        put("default", self.default.clone());
        for (union, alternatives) in &self.unions {
            let word = if *union == Union::Any { "anyOf" } else { "oneOf" };
            put(word, Some(alternatives.iter().map(Self::to_json_schema).collect()));
        }
        for (word, definitions) in &self.definitions {
            put(word, Some(named(definitions)));
        }
        written.extend(self.verbatim.clone());
        Value::Object(written)
    }

    /// The members as shown to people: a list of `{name, type, required, …}`, with what is not understood under `verbatim`.
    pub fn parameters(&self) -> Value {
        let member = |(name, schema): &(String, Self)| {
            let mut shown = schema.summary_fields();
            shown.insert("required".to_owned(), self.requires(name).into());
            let mut member = Map::from_iter([("name".to_owned(), Value::from(name.as_str()))]);
            member.extend(shown);
            Value::Object(member)
        };
        self.properties.iter().flatten().map(member).collect()
    }

    fn summary_fields(&self) -> Map<String, Value> {
        let mut shown = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                shown.insert(key.to_owned(), value);
            }
        };
        put("type", Some(self.summary().into()));
        put("description", self.description.clone().map(Value::from));
        put("default", self.default.clone());
        put("choices", self.choices.clone().map(Value::from).or_else(|| Some(vec![self.constant.clone()?].into())));
        put("members", self.properties.as_ref().map(|_| self.parameters()));
        put("items", self.items.as_ref().map(|items| items.summary_fields().into()));
        let alternatives: Vec<Value> =
            self.unions.iter().flat_map(|(_, list)| list).map(|schema| schema.summary_fields().into()).collect();
        put("alternatives", (!alternatives.is_empty()).then(|| alternatives.into()));
        put("verbatim", (!self.verbatim.is_empty()).then(|| self.verbatim.clone().into()));
        shown
    }
}

impl Types {
    fn to_json(&self) -> Option<Value> {
        match self {
            Self::Any => None,
            Self::One(one) => Some(one.name().into()),
            Self::Several(several) => Some(several.iter().map(|kind| kind.name()).collect()),
        }
    }
}
