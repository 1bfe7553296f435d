//! Validates a value against a [`Schema`]; reports only certain mismatches.

use std::cell::Cell;

use serde_json::Value;

use super::{JsonType, Schema};

/// Maximum depth to which parts and references are followed.
const MAX_STEPS: usize = 64;

/// Maximum number of pairs of a value and a schema that are compared: schemas that refer to themselves could make it any number.
const MAX_LOOKS: u32 = 100_000;

/// The context of a comparison: the whole schema, for its references, and how many comparisons are left.
struct FitContext<'s> {
    whole: &'s Schema,
    looks: Cell<u32>,
}

impl Schema {
    /// What is wrong with a value; `None` if it fits, or if that cannot be determined.
    pub fn misfit(&self, value: &Value) -> Option<String> {
        self.misfit_at(value, &FitContext { whole: self, looks: Cell::new(MAX_LOOKS) }, "", 0)
    }

    fn misfit_at(&self, value: &Value, comparison: &FitContext<'_>, path: &str, steps: usize) -> Option<String> {
        let here = || if path.is_empty() { "it".to_owned() } else { format!("`{path}`") };
        if steps > MAX_STEPS || comparison.looks.get() == 0 {
            return None;
        }
        comparison.looks.set(comparison.looks.get() - 1);
        if self.constant_answer == Some(false) {
            return Some(format!("{} is not expected", here()));
        }
        let types = self.types.all();
        if !types.is_empty() && !types.iter().any(|kind| kind.is_of(value)) {
            let expected: Vec<&str> = types.iter().map(|kind| kind.name()).collect();
            return Some(format!("{} must be {}, not {}", here(), expected.join(" or "), JsonType::of(value).name()));
        }
        let is_listed = |choices: &[Value]| choices.iter().any(|choice| equal(choice, value));
        if self.choices.as_deref().or(self.constant.as_ref().map(std::slice::from_ref)).is_some_and(|choices| !is_listed(choices))
        {
            return Some(format!("{} must be {}", here(), self.summary()));
        }
        if let Some(fields) = value.as_object() {
            let member = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            if let Some(missing) = self.required.iter().flatten().find(|name| !fields.contains_key(*name)) {
                return Some(format!("`{}` is missing", member(missing)));
            }
            for (name, value) in fields {
                let listed = self.properties.iter().flatten().find(|(other, _)| other == name);
                // Names may also be allowed by a pattern.
                let others = self.additional.as_deref().filter(|_| !self.verbatim.contains_key("patternProperties"));
                let schema = listed.map(|(_, schema)| schema).or(others);
                if let Some(misfit) = schema.and_then(|schema| schema.misfit_at(value, comparison, &member(name), steps + 1)) {
                    return Some(misfit);
                }
            }
        }
        if let (Some(items), Some(schema)) = (value.as_array(), &self.items) {
            // In the latest drafts, `items` is about the items after `prefixItems`.
            let skipped = self.verbatim.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
            for (at, item) in items.iter().enumerate().skip(skipped) {
                if let Some(misfit) = schema.misfit_at(item, comparison, &format!("{path}[{at}]"), steps + 1) {
                    return Some(misfit);
                }
            }
        }
        for (_, alternatives) in &self.unions {
            let misfits = alternatives.iter().map(|schema| schema.misfit_at(value, comparison, path, steps + 1));
            let misfits: Option<Vec<String>> = misfits.collect();
            if let Some(misfits) = misfits {
                return misfits.into_iter().next();
            }
        }
        let referred = self.reference.as_ref().and_then(|reference| comparison.whole.resolve_reference(reference));
        referred.and_then(|schema| schema.misfit_at(value, comparison, path, steps + 1))
    }
}

impl JsonType {
    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(number) if number.is_f64() => Self::Number,
            Value::Number(_) => Self::Integer,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }

    fn is_of(self, value: &Value) -> bool {
        let found = Self::of(value);
        match self {
            Self::Number => found == Self::Number || found == Self::Integer,
            // 1.0 is a whole number too.
            Self::Integer => found == Self::Integer || value.as_f64().is_some_and(|number| number.fract() == 0.0),
            other => found == other,
        }
    }
}

/// Numbers are equal by value: 1 and 1.0.
fn equal(one: &Value, other: &Value) -> bool {
    one == other || one.as_f64().zip(other.as_f64()).is_some_and(|(one, other)| (one - other).abs() < f64::EPSILON)
}
