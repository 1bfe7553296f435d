//! `tollgate skills`: lists and shows named prompts.

use std::io;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use tollgate::hooks::{Hooks, Options as HookOptions};

use crate::cli::client::{Gate, ask, flag, list, number, text};
use crate::cli::output::{Cell, Output, Style, escape};
use crate::cli::workspace::WithSubcommand;
use crate::cli::{CommandError, CommandResult, Outcome};

/// The options of `tollgate skills`.
pub(crate) type Options = WithSubcommand<Command>;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List the skills with their parameters, purpose and file; exits with 1 if one is not valid
    List,
    /// Print the prompt of a skill, with the parameters filled in if any are given
    Show(Show),
}

#[derive(Args)]
pub(crate) struct Show {
    /// The skill, as `tollgate skills list` shows it
    #[arg(value_name = "NAME")]
    name: String,
    /// Parameters as NAME=VALUE
    #[arg(value_name = "NAME=VALUE")]
    parameters: Vec<String>,
}

/// Asks the gate and prints its answer.
pub(crate) fn run(options: &Options) -> ExitCode {
    let json = options.workspace.json;
    options.workspace.run(|opened, output| {
        let mut gate = Hooks::new(&mut opened.gate, HookOptions::new());
        match &options.command {
            Command::List => show_all(&mut gate, json, output),
            Command::Show(one) => show(&mut gate, one, json, output),
        }
    })
}

fn show_all(gate: &mut dyn Gate, json: bool, output: &mut Output<'_>) -> CommandResult {
    let answer = ask(gate, &json!({"op": "skills", "do": "list"}))?;
    let (skills, faults) = (list(&answer, "skills"), list(&answer, "faults"));
    let printed = if json { output.json(&answer) } else { print(skills, faults, output) };
    match printed.map_err(CommandError::from) {
        Ok(()) | Err(CommandError::OutputClosed) => Ok(if faults.is_empty() { Outcome::Done } else { Outcome::No }),
        Err(stop) => Err(stop),
    }
}

fn print(skills: &[Value], faults: &[Value], output: &mut Output<'_>) -> io::Result<()> {
    if skills.is_empty() && faults.is_empty() {
        output.note(
            "there are no skills; extensions provide them, and agent programs store them in folders such as `.claude/skills`",
        );
        return Ok(());
    }
    if !skills.is_empty() {
        let titles = ["NAME", "PARAMETERS", "ABOUT", "FILE"].map(|title| Cell::styled(title, Style::Bold));
        let rows: Vec<Vec<Cell>> = std::iter::once(titles.into_iter().collect()).chain(skills.iter().map(row)).collect();
        output.rows(&rows).iter().try_for_each(|row| output.line(row))?;
    }
    for fault in faults {
        let place = format!("{}:{}", escape(text(fault, "/file")), number(fault, "line"));
        let error = output.paint(Style::Red, "error");
        output.line(&format!("{place}: {error}: {}", escape(text(fault, "/message"))))?;
    }
    Ok(())
}

fn row(skill: &Value) -> Vec<Cell> {
    let named = |parameter: &Value| {
        let name = text(parameter, "/name");
        if flag(parameter, "required") { name.to_owned() } else { format!("[{name}]") }
    };
    let parameters: Vec<String> = list(skill, "parameters").iter().map(named).collect();
    let about: String = text(skill, "/description").chars().take(48).collect();
    vec![
        Cell::new(text(skill, "/name")),
        Cell::new(parameters.join(" ")),
        Cell::new(about),
        Cell::styled(text(skill, "/file"), Style::Dim),
    ]
}

fn show(gate: &mut dyn Gate, one: &Show, json: bool, output: &mut Output<'_>) -> CommandResult {
    let mut given = Map::new();
    for parameter in &one.parameters {
        let (name, value) = parameter
            .split_once('=')
            .ok_or_else(|| CommandError::Failed(format!("`{}` is not a parameter; write NAME=VALUE", escape(parameter))))?;
        given.insert(name.to_owned(), value.into());
    }
    // Without parameters, the prompt is shown with its placeholders.
    let question = match given.is_empty() {
        true => json!({"op": "skills", "do": "show", "id": one.name}),
        false => json!({"op": "skills", "do": "invoke", "id": one.name, "args": given}),
    };
    let answer = ask(gate, &question)?;
    if json {
        output.json(&answer)?;
    } else {
        // A prompt can have several lines, so they are escaped one by one.
        text(&answer, "/prompt").lines().try_for_each(|line| output.line(&escape(line)))?;
    }
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::capture;

    #[test]
    fn a_skill_is_shown_as_written_or_filled_in() {
        for (parameters, question) in [
            (vec![], json!({"op": "skills", "do": "show", "id": "s"})),
            (vec!["a=b=c"], json!({"op": "skills", "do": "invoke", "id": "s", "args": {"a": "b=c"}})),
        ] {
            let one = Show { name: "s".to_owned(), parameters: parameters.iter().map(|p| (*p).to_owned()).collect() };
            let mut gate = Script::new([(question, json!({"name": "s", "prompt": "Do\nit \u{1b}."}))]);
            let (came_to, out, _) = capture(|output| show(&mut gate, &one, false, output));
            gate.assert_finished();
            assert_eq!((came_to.unwrap(), out.as_str()), (Outcome::Done, "Do\nit \\u{1b}.\n"));
        }
        let one = Show { name: "s".to_owned(), parameters: vec!["a".to_owned()] };
        let (came_to, ..) = capture(|output| show(&mut Script::new([]), &one, false, output));
        assert!(matches!(came_to, Err(CommandError::Failed(why)) if why.contains("NAME=VALUE")));
    }
}
