//! A setting of an extension.

use serde_json::{Map, Value};

use crate::extensions::path;
use crate::hooks::declaration::FieldReader;

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingType {
    /// A text.
    String,
    /// A number.
    Number,
    /// True or false.
    Boolean,
}

impl SettingType {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}

/// A setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The type of its value.
    pub kind: SettingType,
    /// The values to choose from, if it is limited to a list.
    pub choices: Option<Vec<Value>>,
    /// Whether the extension needs it.
    pub required: bool,
    /// The default value.
    pub default: Option<Value>,
    /// The variable that it is read from, and in which the extension's programs get it.
    pub env_var: Option<String>,
    /// Whether its value must never be shown.
    pub sensitive: bool,
    /// Whether a workspace may set it for a user's extension.
    pub by_workspace: bool,
}

/// Minimum length of a secret: a shorter one cannot be kept out of what is said and written down.
const MIN_SECRET: usize = 4;

/// Maximum length of a value; longer values are a mistake.
const MAX_VALUE: usize = 16 << 10;

const KEYS: &[&str] = &["name", "description", "type", "enum", "required", "default", "envVar", "sensitive", "workspace"];

pub(super) fn read(reader: &mut FieldReader, fields: &Map<String, Value>) -> Option<Setting> {
    reader.check_keys(fields, KEYS);
    let name = reader.name_of(fields, "name");
    let description = reader.line(fields, "description", true);
    let kind = match reader.text(fields, "type") {
        None | Some("string") => SettingType::String,
        Some("number") => SettingType::Number,
        Some("boolean") => SettingType::Boolean,
        Some(_) => {
            reader.fault_at("type", "must be `string`, `number` or `boolean`");
            SettingType::String
        }
    };
    let env_var = reader.text(fields, "envVar");
    if env_var.is_some_and(|name| !path::is_variable(name)) {
        reader.fault_at("envVar", "must be the name of a variable: letters, digits and `_`, not beginning with a digit");
    }
    let mut setting = Setting {
        name: name.unwrap_or_default().to_owned(),
        description: description.unwrap_or_default().to_owned(),
        kind,
        choices: None,
        required: reader.flag(fields, "required", false),
        default: None,
        env_var: env_var.map(str::to_owned),
        sensitive: reader.flag(fields, "sensitive", false),
        by_workspace: reader.flag(fields, "workspace", false),
    };
    match fields.get("enum") {
        None => {}
        Some(Value::Array(choices)) if !choices.is_empty() && choices.iter().all(|choice| setting.check(choice).is_ok()) => {
            setting.choices = Some(choices.clone());
        }
        Some(_) => reader.fault_at("enum", &format!("must be a list of values of the type `{}`", kind.as_str())),
    }
    if let Some(default) = fields.get("default") {
        if setting.sensitive {
            reader.fault_at("default", "is not allowed for a sensitive setting: a manifest must not contain secrets");
        } else if let Err(why) = setting.check(default) {
            reader.fault_at("default", &why);
        }
        setting.default = Some(default.clone());
    }
    if setting.sensitive && kind != SettingType::String {
        reader.fault_at("type", "must be `string` for a sensitive setting");
    }
    if setting.sensitive && setting.by_workspace {
        reader.fault_at("workspace", "cannot be true for a sensitive setting: a repository must not contain secrets");
    }
    name.and(description).is_some().then_some(setting)
}

impl Setting {
    /// Checks that the setting can have a value; the error says why not, but nothing of the value itself, which may be a secret.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let fits = match (self.kind, value) {
            (SettingType::String, Value::String(text)) => text.len() <= MAX_VALUE && !text.contains(['\0', '\r', '\n']),
            (SettingType::Number, Value::Number(_)) | (SettingType::Boolean, Value::Bool(_)) => true,
            _ => false,
        };
        if !fits {
            return Err(match self.kind {
                SettingType::String => "must be a string of one line".to_owned(),
                SettingType::Number => "must be a number".to_owned(),
                SettingType::Boolean => "must be true or false".to_owned(),
            });
        }
        if self.sensitive && value.as_str().is_some_and(|text| text.len() < MIN_SECRET) {
            return Err(format!("must have at least {MIN_SECRET} characters, or it cannot be kept out of logs"));
        }
        match &self.choices {
            Some(choices) if !choices.contains(value) => {
                let choices: Vec<String> = choices.iter().map(ToString::to_string).collect();
                Err(format!("must be one of {}", choices.join(", ")))
            }
            _ => Ok(()),
        }
    }

    /// Parses a value given as text, as by a variable.
    pub fn of_text(&self, text: &str) -> Result<Value, String> {
        let value = match self.kind {
            SettingType::String => Value::from(text),
            SettingType::Number => serde_json::from_slice::<Value>(text.trim().as_bytes()).unwrap_or_else(|_| text.into()),
            SettingType::Boolean => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => true.into(),
                "false" | "0" | "no" | "off" => false.into(),
                _ => text.into(),
            },
        };
        self.check(&value).map(|()| value)
    }
}

/// A value as text, as a variable holds it.
pub fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
