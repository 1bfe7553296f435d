//! The subset of JSON Schema that describes the settings of hooks: `type`, `properties`, `required`, `items`, `enum`,
//! `additionalProperties`, `minimum`, `maximum`, and texts for people, which are ignored.

use serde_json::Value;

use super::sanitize::clean;

/// Maximum depth of schemas within schemas.
const MAX_DEPTH: usize = 16;

const TYPES: &[&str] = &["object", "array", "string", "number", "integer", "boolean", "null"];
const KEYWORDS: &[&str] = &["type", "properties", "required", "items", "enum", "additionalProperties", "minimum", "maximum"];
const FOR_PEOPLE: &[&str] = &["$schema", "title", "description", "default", "examples", "$comment"];

/// Checks that a schema uses only supported keywords: others could not be enforced.
pub fn check_schema(schema: &Value) -> Result<(), String> {
    check_below(schema, 0)
}

fn check_below(schema: &Value, depth: usize) -> Result<(), String> {
    let Some(fields) = schema.as_object() else { return Err("must be a JSON Schema object".to_owned()) };
    if depth > MAX_DEPTH {
        return Err(format!("is nested more than {MAX_DEPTH} deep"));
    }
    for (key, value) in fields {
        let fits = match key.as_str() {
            "type" => value.as_str().is_some_and(|kind| TYPES.contains(&kind)),
            "properties" => match value.as_object() {
                Some(properties) => {
                    properties.values().try_for_each(|property| check_below(property, depth + 1))?;
                    true
                }
                None => false,
            },
            "items" => {
                check_below(value, depth + 1)?;
                true
            }
            "required" => value.as_array().is_some_and(|names| names.iter().all(Value::is_string)),
            "enum" => value.is_array(),
            "additionalProperties" => value.is_boolean(),
            "minimum" | "maximum" => value.is_number(),
            other if FOR_PEOPLE.contains(&other) => true,
            other => {
                return Err(format!("uses `{}`, which is not known; expected one of: {}", clean(other, 60), KEYWORDS.join(", ")));
            }
        };
        if !fits {
            return Err(format!("has a `{key}` that cannot be used"));
        }
    }
    Ok(())
}

/// Checks settings against a schema that [`check_schema`] has accepted.
pub fn check(settings: &Value, schema: &Value) -> Result<(), String> {
    check_at(settings, schema, "settings")
}

fn check_at(value: &Value, schema: &Value, place: &str) -> Result<(), String> {
    if let Some(kind) = schema.get("type").and_then(Value::as_str) {
        let fits = match kind {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "number" => value.is_number(),
            "integer" => value.is_i64() || value.is_u64(),
            "boolean" => value.is_boolean(),
            _ => value.is_null(),
        };
        if !fits {
            return Err(format!("`{place}` must be of type {kind}"));
        }
    }
    if let Some(choices) = schema.get("enum").and_then(Value::as_array)
        && !choices.contains(value)
    {
        let choices: Vec<String> = choices.iter().take(20).map(ToString::to_string).collect();
        return Err(format!("`{place}` must be one of: {}", clean(&choices.join(", "), 400)));
    }
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    if let Some(number) = value.as_f64() {
        if bound("minimum").is_some_and(|least| number < least) {
            return Err(format!("`{place}` must be at least {}", bound("minimum").unwrap_or_default()));
        }
        if bound("maximum").is_some_and(|most| number > most) {
            return Err(format!("`{place}` must be at most {}", bound("maximum").unwrap_or_default()));
        }
    }
    if let (Some(items), Some(list)) = (schema.get("items"), value.as_array()) {
        for (at, item) in list.iter().enumerate() {
            check_at(item, items, &format!("{place}[{at}]"))?;
        }
    }
    let Some(fields) = value.as_object() else { return Ok(()) };
    let properties = schema.get("properties").and_then(Value::as_object);
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            return Err(format!("`{place}.{}` is missing", clean(name, 60)));
        }
    }
    for (name, value) in fields {
        let place = format!("{place}.{}", clean(name, 60));
        match properties.and_then(|properties| properties.get(name)) {
            Some(property) => check_at(value, property, &place)?,
            None if schema.get("additionalProperties") == Some(&Value::Bool(false)) => {
                let known: Vec<&str> = properties.into_iter().flat_map(|known| known.keys().map(String::as_str)).collect();
                return Err(format!("`{place}` is not known; expected one of: {}", clean(&known.join(", "), 400)));
            }
            None => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_are_held_to_their_schema() {
        let schema = json!({
            "type": "object", "required": ["level"], "additionalProperties": false,
            "properties": {
                "level": {"enum": ["ask", "deny"]},
                "most": {"type": "integer", "minimum": 1, "maximum": 9},
                "paths": {"type": "array", "items": {"type": "string"}},
            },
        });
        assert_eq!(check_schema(&schema), Ok(()));
        for (settings, said) in [
            (json!({"level": "ask", "most": 9, "paths": ["a"]}), None),
            (json!([]), Some("`settings` must be of type object")),
            (json!({}), Some("`settings.level` is missing")),
            (json!({"level": "allow"}), Some("`settings.level` must be one of: \"ask\", \"deny\"")),
            (json!({"level": "ask", "most": 0}), Some("`settings.most` must be at least 1")),
            (json!({"level": "ask", "most": 1.5}), Some("`settings.most` must be of type integer")),
            (json!({"level": "ask", "paths": ["a", 1]}), Some("`settings.paths[1]` must be of type string")),
            (json!({"level": "ask", "x": 1}), Some("`settings.x` is not known; expected one of: level, most, paths")),
        ] {
            assert_eq!(check(&settings, &schema).err().as_deref(), said, "{settings}");
        }
    }

    #[test]
    fn a_schema_says_only_what_can_be_checked() {
        for schema in
            [json!(1), json!({"type": "set"}), json!({"pattern": "x"}), json!({"properties": {"a": 1}}), json!({"items": []})]
        {
            assert!(check_schema(&schema).is_err(), "{schema}");
        }
        let mut deep = json!({});
        for _ in 0..20 {
            deep = json!({"items": deep});
        }
        assert!(check_schema(&deep).unwrap_err().contains("16 deep"));
    }
}
