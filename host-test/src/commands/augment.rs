//! `tollgate augment`: shows what would be added to a call, and from which source.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use tollgate::{Answer, Finding, Lookup, Lookups, McpTool, Plan, Program, Request, Tollgate};

use crate::cli::client::{ask, list, number, text, texts};
use crate::cli::output::{Output, Style, escape, escape_lines};
use crate::cli::workspace::{OpenGate, WorkspaceArgs};
use crate::cli::{CommandError, CommandResult, Outcome};

/// The options of `tollgate augment`.
#[derive(Args)]
pub(crate) struct Options {
    /// The tool, as its agent program spells it
    #[arg(long, value_name = "NAME")]
    tool: String,
    /// Its arguments: one JSON object
    #[arg(long, value_name = "JSON")]
    args: String,
    /// The agent program that the tool belongs to, such as opencode or claude-code
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

/// Shows what would be added to a call.
pub(crate) fn run(options: &Options) -> ExitCode {
    options.workspace.run(|opened, output| {
        let OpenGate { gate, root } = opened;
        augment(gate, &Lookups::new(root.as_path()), options, output)
    })
}

fn augment(gate: &mut Tollgate, lookups: &Lookups, options: &Options, output: &mut Output<'_>) -> CommandResult {
    let args: Value = match serde_json::from_str(&options.args) {
        Ok(args @ Value::Object(_)) => args,
        Ok(_) => {
            return Err(CommandError::failed(format!(
                "`{}` is not a JSON object; write --args '{{\"command\":\"…\"}}'",
                options.args
            )));
        }
        Err(why) => {
            return Err(CommandError::failed(format!(
                "`{}` is not valid JSON: {why}; write --args '{{\"command\":\"…\"}}'",
                options.args
            )));
        }
    };
    let mut call = json!({"op": "plan-lookups", "session": "tollgate", "call": "augment", "tool": options.tool, "args": args});
    if let (Some(host), Some(call)) = (&options.host, call.as_object_mut()) {
        call.insert("host".to_owned(), host.as_str().into());
    }
    let plan = parse_plan(&ask(gate, &call)?);
    let findings = gate.look_up(&plan, lookups);
    if let Some(call) = call.as_object_mut() {
        call.insert("op".to_owned(), "augment".into());
        call.insert("findings".to_owned(), findings.iter().map(finding).collect());
    }
    let answer = ask(gate, &call)?;
    if options.workspace.json {
        output.json(&answer)?;
        return Ok(Outcome::Done);
    }
    show(&plan, &findings, &args, &answer, output)?;
    Ok(Outcome::Done)
}

fn show(plan: &Plan, findings: &[Finding], before: &Value, answer: &Value, output: &mut Output<'_>) -> Result<(), CommandError> {
    for found in findings {
        let said = match &found.answer {
            Answer::Text(_) => continue,
            Answer::Unknown => "does not know it".to_owned(),
            Answer::Unavailable => "is unavailable".to_owned(),
            Answer::Late => "took too long".to_owned(),
            Answer::Failed(why) => format!("failed: {why}"),
        };
        output.note(&format!("[[{}]]: {} {said}", found.concept, found.source));
    }
    let skipped = text(answer, "/skipped");
    if !skipped.is_empty() {
        let named = if plan.concepts.is_empty() { String::new() } else { format!(" about {}", plan.concepts.join(", ")) };
        output.note(&format!("nothing is added{named}: {skipped}"));
        return Ok(());
    }
    for (concept, source) in texts(answer, "concepts").iter().zip(texts(answer, "sources")) {
        let concept = output.paint(Style::Bold, &escape(concept));
        output.line(&format!("{concept} from {}", escape(source)))?;
    }
    let told = text(answer, "/additional_context");
    if !told.is_empty() {
        output.line("the arguments are unchanged; the model is told:")?;
        output.line(&escape_lines(told))?;
    }
    for (field, value) in answer.get("args").and_then(Value::as_object).into_iter().flatten() {
        if before.get(field) != Some(value) {
            output.line(&format!("`{}` becomes:", escape(field)))?;
            output.line(&escape_lines(value.as_str().unwrap_or_default()))?;
        }
    }
    Ok(())
}

fn parse_plan(answer: &Value) -> Plan {
    let lookup = |lookup: &Value| Lookup {
        concept: text(lookup, "/concept").to_owned(),
        source: text(lookup, "/source").to_owned(),
        request: parse_request(lookup.get("request").unwrap_or(&Value::Null)),
        timeout_ms: u32::try_from(number(lookup, "timeout_ms")).unwrap_or(u32::MAX),
    };
    Plan {
        concepts: texts(answer, "concepts").into_iter().map(str::to_owned).collect(),
        lookups: list(answer, "lookups").iter().map(lookup).collect(),
        total_ms: u32::try_from(number(answer, "total_ms")).unwrap_or(u32::MAX),
        skipped: None,
    }
}

fn parse_request(written: &Value) -> Request {
    let program = |written: &Value| Program {
        argv: texts(written, "argv").into_iter().map(str::to_owned).collect(),
        stdin: String::new(),
        inherit: texts(written, "inherit").into_iter().map(str::to_owned).collect(),
        set: string_pairs(written.get("env").unwrap_or(&Value::Null)),
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

fn string_pairs(fields: &Value) -> Vec<(String, String)> {
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
