//! `tollgate augment`: what would be added to a call, and from where.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use tollgate::{Answer, Finding, Lookup, Lookups, McpTool, Plan, Program, Request};

use crate::cli::client::{Gate, ask, list, number, text, texts};
use crate::cli::output::{Screen, Style, lines, plain};
use crate::cli::workspace::{Opened, Place};
use crate::cli::{Outcome, Stop};

/// The options of `tollgate augment`.
#[derive(Args)]
pub(crate) struct Options {
    /// The tool, as its host spells it
    #[arg(long, value_name = "NAME")]
    tool: String,
    /// Its arguments: one JSON object
    #[arg(long, value_name = "JSON")]
    args: String,
    /// The host whose tool is meant, such as opencode or claude-code
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    #[command(flatten)]
    place: Place,
}

/// Shows what a call would be given.
pub(crate) fn run(options: &Options) -> ExitCode {
    options.place.run(|opened, screen| {
        let Opened { gate, root } = opened;
        augment(gate, &Lookups::new(root.as_path()), options, screen)
    })
}

fn augment(gate: &mut dyn Gate, lookups: &Lookups, options: &Options, screen: &mut Screen<'_>) -> Result<Outcome, Stop> {
    let args: Value = match serde_json::from_str(&options.args) {
        Ok(args @ Value::Object(_)) => args,
        Ok(_) => return Err(Stop::fault(format!("`{}` is no JSON object; write --args '{{\"command\":\"…\"}}'", options.args))),
        Err(why) => {
            return Err(Stop::fault(format!("`{}` is no JSON: {why}; write --args '{{\"command\":\"…\"}}'", options.args)));
        }
    };
    let mut call = json!({"op": "plan-lookups", "session": "tollgate", "call": "augment", "tool": options.tool, "args": args});
    if let (Some(host), Some(call)) = (&options.host, call.as_object_mut()) {
        call.insert("host".to_owned(), host.as_str().into());
    }
    let plan = planned(&ask(gate, &call)?);
    let findings = lookups.carry_out(&plan);
    for line in lookups.server_tools() {
        ask(gate, &line)?;
    }
    if let Some(call) = call.as_object_mut() {
        call.insert("op".to_owned(), "augment".into());
        call.insert("findings".to_owned(), findings.iter().map(finding).collect());
    }
    let answer = ask(gate, &call)?;
    if options.place.json {
        screen.json(&answer)?;
        return Ok(Outcome::Done);
    }
    show(&plan, &findings, &args, &answer, screen)?;
    Ok(Outcome::Done)
}

fn show(plan: &Plan, findings: &[Finding], before: &Value, answer: &Value, screen: &mut Screen<'_>) -> Result<(), Stop> {
    for found in findings {
        let said = match &found.answer {
            Answer::Text(_) => continue,
            Answer::Unknown => "does not know it".to_owned(),
            Answer::Unavailable => "is not there".to_owned(),
            Answer::Late => "was too late".to_owned(),
            Answer::Failed(why) => format!("failed: {why}"),
        };
        screen.note(&format!("[[{}]]: {} {said}", found.concept, found.source));
    }
    let skipped = text(answer, "/skipped");
    if !skipped.is_empty() {
        let named = if plan.concepts.is_empty() { String::new() } else { format!(" about {}", plan.concepts.join(", ")) };
        screen.note(&format!("nothing is added{named}: {skipped}"));
        return Ok(());
    }
    for (concept, source) in texts(answer, "concepts").iter().zip(texts(answer, "sources")) {
        let concept = screen.paint(Style::Bold, &plain(concept));
        screen.line(&format!("{concept} from {}", plain(source)))?;
    }
    let told = text(answer, "/additional_context");
    if !told.is_empty() {
        screen.line("the arguments stay as they are; the model is told:")?;
        screen.line(&lines(told))?;
    }
    for (field, value) in answer.get("args").and_then(Value::as_object).into_iter().flatten() {
        if before.get(field) != Some(value) {
            screen.line(&format!("`{}` becomes:", plain(field)))?;
            screen.line(&lines(value.as_str().unwrap_or_default()))?;
        }
    }
    Ok(())
}

fn planned(answer: &Value) -> Plan {
    let lookup = |lookup: &Value| Lookup {
        concept: text(lookup, "/concept").to_owned(),
        source: text(lookup, "/source").to_owned(),
        request: request(lookup.get("request").unwrap_or(&Value::Null)),
        timeout_ms: u32::try_from(number(lookup, "timeout_ms")).unwrap_or(u32::MAX),
    };
    Plan {
        concepts: texts(answer, "concepts").into_iter().map(str::to_owned).collect(),
        lookups: list(answer, "lookups").iter().map(lookup).collect(),
        total_ms: u32::try_from(number(answer, "total_ms")).unwrap_or(u32::MAX),
        skipped: None,
    }
}

fn request(written: &Value) -> Request {
    let program = |written: &Value| Program {
        argv: texts(written, "argv").into_iter().map(str::to_owned).collect(),
        stdin: String::new(),
        inherit: texts(written, "inherit").into_iter().map(str::to_owned).collect(),
        set: pairs(written.get("env").unwrap_or(&Value::Null)),
    };
    match (written.get("run"), written.get("mcp")) {
        (Some(run), _) => Request::Run(program(run)),
        (None, Some(mcp)) => Request::Mcp(McpTool {
            server: text(mcp, "/server").to_owned(),
            tool: text(mcp, "/tool").to_owned(),
            arguments: mcp.get("arguments").unwrap_or(&Value::Null).to_string().into_bytes(),
            start: mcp.get("start").filter(|start| !start.is_null()).map(program),
        }),
        (None, None) => Request::Function,
    }
}

fn pairs(fields: &Value) -> Vec<(String, String)> {
    let fields = fields.as_object().into_iter().flatten();
    fields.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

fn finding(found: &Finding) -> Value {
    let answer = match &found.answer {
        Answer::Text(text) => json!({"text": text}),
        Answer::Failed(why) => json!({"failed": why}),
        Answer::Unknown => "unknown".into(),
        Answer::Unavailable => "unavailable".into(),
        Answer::Late => "late".into(),
    };
    json!({"concept": found.concept, "source": found.source, "answer": answer})
}
