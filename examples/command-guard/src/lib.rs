//! A guard against destructive and exfiltrating commands: a baseline policy for workspaces that have none of their own.
//!
//! It checks the words of each program in a command, as parsed by the gate, and the paths that the call would change. Every rule
//! has a name, and the settings determine how strict it is: `{"rules": {"force_push": "off"}}`.

mod rules;

wit_bindgen::generate!({ path: "../../wit/hook", world: "checker" });

use exports::tollgate::hook::pre_tool::{Call, Failure, Guest, Objection, Severity};
use serde_json::Value;
use tollgate::hook::settings;

use rules::Finding;

struct Guard;

impl Guest for Guard {
    fn check(call: Call) -> Result<Option<Objection>, Failure> {
        let settings: Value = serde_json::from_str(&settings::get()).map_err(|why| Failure::Settings(why.to_string()))?;
        let facts: Value = serde_json::from_str(&call.facts).unwrap_or_default();
        let mut findings = Vec::new();
        for command in facts["commands"].as_array().into_iter().flatten() {
            // A word that is only known at run time may be anything.
            let words: Vec<&str> = command["words"].as_array().into_iter().flatten().map(|word| word.as_str().unwrap_or("\u{0}")).collect();
            findings.extend(rules::of_command(&words));
        }
        findings.extend(call.effects.iter().filter_map(|effect| rules::of_effect(&effect.path, effect.operation)));
        findings.extend(rules::of_text(&text(&call.args)));
        let severity = |finding: &Finding| match settings["rules"][finding.rule].as_str().unwrap_or(finding.usual) {
            "deny" => Some(Severity::Deny),
            "ask" => Some(Severity::Ask),
            _ => None,
        };
        let judged: Vec<(Severity, Finding)> =
            findings.into_iter().filter_map(|finding| Some((severity(&finding)?, finding))).collect();
        let worst = judged.iter().find(|(severity, _)| *severity == Severity::Deny).or(judged.first());
        Ok(worst.map(|(severity, finding)| Objection {
            severity: *severity,
            code: finding.rule.into(),
            reason: finding.reason.clone(),
        }))
    }
}

/// All texts of the arguments, for calls that are not shell commands that the gate can parse.
fn text(args: &str) -> String {
    fn collect(value: &Value, into: &mut String) {
        match value {
            Value::String(text) => {
                into.push_str(text);
                into.push('\n');
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
            Value::Object(fields) => {
                // Content that is written to a file is not a command.
                let is_content = |name: &str| matches!(name, "content" | "new_string" | "newString" | "old_string" | "oldString");
                fields.iter().filter(|(name, _)| !is_content(name)).for_each(|(_, value)| collect(value, into));
            }
            _ => {}
        }
    }
    let mut text = String::new();
    collect(&serde_json::from_str(args).unwrap_or_default(), &mut text);
    text
}

export!(Guard);
