//! A skill: a named prompt with placeholders.

use serde_json::{Map, Value};

use super::setting::as_text;
use crate::hooks::declaration::FieldReader;
use crate::json::position::PathStep;

/// Maximum size of a prompt; a longer one is a mistake.
pub const MAX_PROMPT: usize = 256 << 10;

/// Maximum number of parameters; more are a mistake.
const MAX_PARAMETERS: usize = 32;

/// A skill.
#[derive(Debug, Clone, PartialEq)]
pub struct Skill {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The text for the model; `{{NAME}}` stands for a parameter.
    pub prompt: String,
    /// The parameters that can be filled in.
    pub parameters: Vec<Parameter>,
}

/// A parameter that is filled in when a skill is invoked.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Whether it must be given.
    pub required: bool,
    /// The default if it is not given.
    pub default: Option<String>,
    /// The values to choose from, if it is limited to a list.
    pub choices: Option<Vec<String>>,
}

pub(super) fn read(reader: &mut FieldReader, fields: &Map<String, Value>) -> Option<Skill> {
    reader.check_keys(fields, &["name", "description", "prompt", "parameters"]);
    let name = reader.name_of(fields, "name");
    let description = reader.line(fields, "description", true);
    let prompt = match fields.get("prompt") {
        None => {
            reader.fault("has no `prompt`");
            None
        }
        Some(prompt) => {
            let prompt = prompt.as_str().filter(|prompt| !prompt.trim().is_empty() && prompt.len() <= MAX_PROMPT);
            if prompt.is_none() {
                reader.fault_at("prompt", &format!("must be a string of at most {} KiB", MAX_PROMPT >> 10));
            }
            prompt
        }
    };
    let parameters = parameters(reader, fields);
    for place in prompt.into_iter().flat_map(placeholders) {
        if !parameters.iter().any(|parameter| parameter.name == place) {
            reader.fault_at("prompt", &format!("has the placeholder `{place}`, which is not in `parameters`"));
        }
    }
    Some(Skill { name: name?.to_owned(), description: description?.to_owned(), prompt: prompt?.to_owned(), parameters })
}

fn parameters(reader: &mut FieldReader, fields: &Map<String, Value>) -> Vec<Parameter> {
    let mut parameters: Vec<Parameter> = Vec::new();
    let written = match fields.get("parameters") {
        None => return parameters,
        Some(Value::Array(written)) if written.len() <= MAX_PARAMETERS => written,
        Some(_) => {
            reader.fault_at("parameters", &format!("must be a list of at most {MAX_PARAMETERS} objects"));
            return parameters;
        }
    };
    for (at, written) in written.iter().enumerate() {
        reader.path.extend([PathStep::Key("parameters".to_owned()), PathStep::At(at)]);
        if let Some(parameter) = parameter(reader, written) {
            if parameters.iter().any(|other| other.name == parameter.name) {
                reader.fault_at("name", &format!("`{}` appears twice; give each a unique name", parameter.name));
            }
            parameters.push(parameter);
        }
        reader.path.truncate(reader.path.len().saturating_sub(2));
    }
    parameters
}

fn parameter(reader: &mut FieldReader, written: &Value) -> Option<Parameter> {
    let Some(fields) = written.as_object() else {
        reader.fault("must be an object with `name`");
        return None;
    };
    reader.check_keys(fields, &["name", "description", "required", "default", "enum"]);
    let name = reader.name_of(fields, "name")?;
    let choices = match fields.get("enum") {
        None => None,
        Some(Value::Array(choices)) if !choices.is_empty() && choices.iter().all(Value::is_string) => {
            Some(choices.iter().map(as_text).collect::<Vec<_>>())
        }
        Some(_) => {
            reader.fault_at("enum", "must be a list of strings");
            None
        }
    };
    let default = reader.text(fields, "default").map(str::to_owned);
    let is_choice = |default: &String| choices.as_ref().is_none_or(|choices| choices.contains(default));
    if !default.iter().all(is_choice) {
        reader.fault_at("default", "must be one of `enum`");
    }
    Some(Parameter {
        name: name.to_owned(),
        description: reader.line(fields, "description", false).unwrap_or_default().to_owned(),
        required: reader.flag(fields, "required", false),
        default,
        choices,
    })
}

/// The names between `{{` and `}}` in a prompt, if they are valid names.
pub(crate) fn placeholders(prompt: &str) -> impl Iterator<Item = &str> {
    let mut rest = prompt;
    std::iter::from_fn(move || {
        loop {
            let (_, after) = rest.split_once("{{")?;
            let Some((name, behind)) = after.split_once("}}").filter(|(name, _)| crate::extensions::path::is_name(name.trim()))
            else {
                rest = after;
                continue;
            };
            rest = behind;
            return Some(name.trim());
        }
    })
}

/// Fills in the parameters of a skill's prompt, or says what is wrong with what was given. Text that was filled in is not
/// searched for placeholders.
pub fn fill_prompt(skill: &Skill, given: &Map<String, Value>) -> Result<String, String> {
    let names = || skill.parameters.iter().map(|parameter| parameter.name.as_str()).collect::<Vec<_>>().join(", ");
    for name in given.keys() {
        if !skill.parameters.iter().any(|parameter| parameter.name == *name) {
            let known = if skill.parameters.is_empty() { "it has none".to_owned() } else { format!("use one of: {}", names()) };
            return Err(format!("`{}` has no parameter `{name}`; {known}", skill.name));
        }
    }
    let mut values: Vec<(&str, String)> = Vec::new();
    for Parameter { name, required, default, choices, .. } in &skill.parameters {
        let value = match given.get(name) {
            Some(value @ (Value::String(_) | Value::Number(_) | Value::Bool(_))) => Some(as_text(value)),
            Some(Value::Null) | None => default.clone(),
            Some(_) => return Err(format!("the parameter `{name}` of `{}` must be a string", skill.name)),
        };
        let value = match value {
            Some(value) => value,
            None if *required => return Err(format!("`{}` needs the parameter `{name}`", skill.name)),
            None => String::new(),
        };
        if let Some(choices) = choices.as_ref().filter(|choices| !value.is_empty() && !choices.contains(&value)) {
            return Err(format!("the parameter `{name}` of `{}` must be one of {}", skill.name, choices.join(", ")));
        }
        values.push((name, value));
    }
    let (mut filled, mut rest) = (String::new(), skill.prompt.as_str());
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        let place = after
            .split_once("}}")
            .and_then(|(name, behind)| values.iter().find(|(known, _)| *known == name.trim()).map(|(_, value)| (value, behind)));
        match place {
            Some((value, behind)) => {
                filled.push_str(value);
                rest = behind;
            }
            None => {
                filled.push_str("{{");
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    Ok(filled)
}
