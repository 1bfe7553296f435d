//! The operations behind `tollgate skills`.
//!
//! | op | answer |
//! | --- | --- |
//! | `skills` `{"do":"list"}` | `{"skills":[…],"faults":[…]}` |
//! | `skills` `{"do":"show",id}` | one skill, with its prompt as it is written |
//! | `skills` `{"do":"invoke",id,args?}` | `{name,description,prompt}`, with the parameters filled in |

use serde_json::{Map, Value};

use super::{OperationFault, check_fields};
use crate::extensions::manifest::{Parameter, fill_prompt};
use crate::extensions::skills::RegisteredSkill;
use crate::gate::Gate;
use crate::json::{self, object};

pub(super) fn answer(gate: &mut Gate, fields: Map<String, Value>) -> Result<Value, OperationFault> {
    check_fields("skills", &["do"], &fields)?;
    let asked = Value::Object(fields);
    let text = |key: &str| json::text(&asked, key).filter(|text| !text.is_empty());
    let what = text("do").unwrap_or_default();
    let (extensions, hooks, ports) = gate.extensions();
    let skills = extensions.skills(hooks.machine(), ports);
    if what == "list" {
        let listed: Vec<Value> = skills.all.iter().map(|skill| object(&mut row(skill))).collect();
        let faults: Vec<Value> = skills.faults.iter().map(|fault| fault.to_json()).collect();
        return Ok(object(&mut [("skills", listed.into()), ("faults", faults.into())]));
    }
    if !matches!(what, "show" | "invoke") {
        return Err(OperationFault::InvalidField { op: "skills".to_owned(), field: "do", expected: "one of list, show, invoke" });
    }
    let id = text("id")
        .ok_or_else(|| OperationFault::MissingField { whose: format!("`skills` with `\"do\":\"{what}\"`"), field: "id" })?;
    let found =
        skills.all.iter().find(|skill| skill.name == id).or_else(|| skills.all.iter().find(|skill| skill.matches_name(id)));
    let registered = found.ok_or_else(|| {
        let known: Vec<&str> = skills.all.iter().map(|skill| skill.name.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        OperationFault::UnknownName { what: "skill", asked: id.to_owned(), known }
    })?;
    if what == "show" {
        let mut fields = row(registered);
        fields.push(("prompt", registered.skill.prompt.as_str().into()));
        return Ok(object(&mut fields));
    }
    let given = match asked.get("args") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(given)) => given.clone(),
        Some(_) => {
            let expected = "an object of parameters by name";
            return Err(OperationFault::InvalidField { op: "skills".to_owned(), field: "args", expected });
        }
    };
    let prompt = fill_prompt(&registered.skill, &given).map_err(OperationFault::NotDone)?;
    let description = registered.skill.description.as_str();
    Ok(object(&mut [("name", registered.name.as_str().into()), ("description", description.into()), ("prompt", prompt.into())]))
}

fn row(registered: &RegisteredSkill) -> Vec<(&'static str, Value)> {
    let parameter = |Parameter { name, description, required, default, choices }: &Parameter| {
        let mut fields = vec![("name", Value::from(name.as_str())), ("required", (*required).into())];
        if !description.is_empty() {
            fields.push(("description", description.as_str().into()));
        }
        fields.extend(default.as_deref().map(|default| ("default", default.into())));
        fields.extend(choices.as_ref().map(|choices| ("enum", choices.clone().into())));
        object(&mut fields)
    };
    let mut fields = vec![
        ("name", Value::from(registered.name.as_str())),
        ("description", registered.skill.description.as_str().into()),
        ("source", registered.source.as_str().into()),
    ];
    fields.extend(registered.extension.as_deref().map(|extension| ("extension", extension.into())));
    fields.extend([
        ("file", Value::from(registered.file.as_str())),
        ("parameters", registered.skill.parameters.iter().map(parameter).collect()),
    ]);
    fields
}
