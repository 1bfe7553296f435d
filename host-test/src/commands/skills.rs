//! `tollgate skills`: prompts under names.

use std::io;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use tollgate::hooks::{Hooks, Options as HookOptions};

use crate::cli::client::{Gate, ask, is, list, number, text};
use crate::cli::output::{Cell, Screen, Style, plain};
use crate::cli::workspace::Place;
use crate::cli::{Outcome, Stop};

/// The options of `tollgate skills`.
#[derive(Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    place: Place,
}

#[derive(Subcommand)]
enum Command {
    /// List the skills: their parameters, what they are for, where they stand; exits with 1 if one cannot be used
    List,
    /// Print the prompt of a skill; with parameters, filled in
    Show(Show),
}

#[derive(Args)]
struct Show {
    /// The skill, as `tollgate skills list` shows it
    #[arg(value_name = "NAME")]
    name: String,
    /// What to fill in, as NAME=VALUE
    #[arg(value_name = "NAME=VALUE")]
    parameters: Vec<String>,
}

/// Asks the gate and prints what it says.
pub(crate) fn run(options: &Options) -> ExitCode {
    let json = options.place.json;
    options.place.run(|opened, screen| {
        let mut gate = Hooks::new(&mut opened.gate, HookOptions::new());
        match &options.command {
            Command::List => show_all(&mut gate, json, screen),
            Command::Show(one) => show(&mut gate, one, json, screen),
        }
    })
}

fn show_all(gate: &mut dyn Gate, json: bool, screen: &mut Screen<'_>) -> Result<Outcome, Stop> {
    let answer = ask(gate, &json!({"op": "skills", "do": "list"}))?;
    let (skills, faults) = (list(&answer, "skills"), list(&answer, "faults"));
    let printed = if json { screen.json(&answer) } else { print(skills, faults, screen) };
    match printed.map_err(Stop::from) {
        Ok(()) | Err(Stop::Unread) => Ok(if faults.is_empty() { Outcome::Done } else { Outcome::No }),
        Err(stop) => Err(stop),
    }
}

fn print(skills: &[Value], faults: &[Value], screen: &mut Screen<'_>) -> io::Result<()> {
    if skills.is_empty() && faults.is_empty() {
        screen
            .note("there are no skills; extensions bring them, and agent programs keep them in folders such as `.claude/skills`");
        return Ok(());
    }
    if !skills.is_empty() {
        let titles = ["NAME", "PARAMETERS", "ABOUT", "FILE"].map(|title| Cell::styled(title, Style::Bold));
        let rows: Vec<Vec<Cell>> = std::iter::once(titles.into_iter().collect()).chain(skills.iter().map(row)).collect();
        screen.rows(&rows).iter().try_for_each(|row| screen.line(row))?;
    }
    for fault in faults {
        let place = format!("{}:{}", plain(text(fault, "/file")), number(fault, "line"));
        let error = screen.paint(Style::Red, "error");
        screen.line(&format!("{place}: {error}: {}", plain(text(fault, "/message"))))?;
    }
    Ok(())
}

fn row(skill: &Value) -> Vec<Cell> {
    let named = |parameter: &Value| {
        let name = text(parameter, "/name");
        if is(parameter, "required") { name.to_owned() } else { format!("[{name}]") }
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

fn show(gate: &mut dyn Gate, one: &Show, json: bool, screen: &mut Screen<'_>) -> Result<Outcome, Stop> {
    let mut given = Map::new();
    for parameter in &one.parameters {
        let (name, value) = parameter
            .split_once('=')
            .ok_or_else(|| Stop::Fault(format!("`{}` is not a parameter; write NAME=VALUE", plain(parameter))))?;
        given.insert(name.to_owned(), value.into());
    }
    // Without parameters it is shown as it is written, with its places.
    let question = match given.is_empty() {
        true => json!({"op": "skills", "do": "show", "id": one.name}),
        false => json!({"op": "skills", "do": "invoke", "id": one.name, "args": given}),
    };
    let answer = ask(gate, &question)?;
    if json {
        screen.json(&answer)?;
    } else {
        // A prompt has lines of its own.
        text(&answer, "/prompt").lines().try_for_each(|line| screen.line(&plain(line)))?;
    }
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::printed;

    #[test]
    fn a_skill_is_shown_as_written_or_filled_in() {
        for (parameters, question) in [
            (vec![], json!({"op": "skills", "do": "show", "id": "s"})),
            (vec!["a=b=c"], json!({"op": "skills", "do": "invoke", "id": "s", "args": {"a": "b=c"}})),
        ] {
            let one = Show { name: "s".to_owned(), parameters: parameters.iter().map(|p| (*p).to_owned()).collect() };
            let mut gate = Script::new([(question, json!({"name": "s", "prompt": "Do\nit \u{1b}."}))]);
            let (came_to, out, _) = printed(|screen| show(&mut gate, &one, false, screen));
            gate.end();
            assert_eq!((came_to.unwrap(), out.as_str()), (Outcome::Done, "Do\nit \\u{1b}.\n"));
        }
        let one = Show { name: "s".to_owned(), parameters: vec!["a".to_owned()] };
        let (came_to, ..) = printed(|screen| show(&mut Script::new([]), &one, false, screen));
        assert!(matches!(came_to, Err(Stop::Fault(why)) if why.contains("NAME=VALUE")));
    }
}
