//! The concepts that a call names as `[[WikiLinks]]`.

use serde_json::Value;

/// Every concept in every string, in order of first appearance, without repeats; none where there is no string at all.
pub(super) fn concepts(args: &Value) -> Option<Vec<String>> {
    let mut found = Found::default();
    collect(args, &mut found);
    found.any_text.then_some(found.concepts)
}

#[derive(Default)]
struct Found {
    any_text: bool,
    concepts: Vec<String>,
}

fn collect(value: &Value, found: &mut Found) {
    match value {
        Value::String(text) => {
            found.any_text = true;
            for concept in links(text) {
                if !found.concepts.iter().any(|known| known == concept) {
                    found.concepts.push(concept.to_owned());
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The targets of the links in a text: `[[A]]`, `[[A|shown]]` and `[[A#part]]` all mean `A`.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let (_, after) = rest.split_once("[[")?;
            // In `[[[A]]`, the link opens at the last two brackets.
            let after = after.trim_start_matches('[');
            let (inside, left) = after.split_once(']')?;
            rest = left;
            if let Some(beyond) = left.strip_prefix(']') {
                rest = beyond;
                let target = inside.split(['|', '#']).next().unwrap_or_default().trim();
                if !target.is_empty() && !target.contains('[') {
                    return Some(target);
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn found() {
        for (args, expected) in [
            (json!({"command": "test [[auth]]"}), &["auth"][..]),
            (json!({"prompt": "[[JWT]] and [[OAuth]], [[JWT]] again"}), &["JWT", "OAuth"]),
            (json!({"options": {"query": "[[search]]"}}), &["search"]),
            (json!({"parts": ["[[A]]", ["[[B]]"]]}), &["A", "B"]),
            (json!({"text": "[single] [[]] [[ ]] [[open"}), &[]),
            (json!({"text": "[[ A |shown]] [[B#part]] [[[C]]]"}), &["A", "B", "C"]),
            (json!({"text": "[[a]b]] [[d]]"}), &["d"]),
        ] {
            assert_eq!(concepts(&args).unwrap(), expected, "{args}");
        }
    }

    #[test]
    fn no_text_is_not_the_same_as_no_concept() {
        assert_eq!(concepts(&json!({"count": 5})), None);
        assert_eq!(concepts(&json!({})), None);
        assert_eq!(concepts(&json!({"command": "ls"})), Some(Vec::new()));
    }
}
