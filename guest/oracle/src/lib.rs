//! The programs that a shell command names, as brush-parser reads it.

use std::panic::catch_unwind;

use brush_parser::ast::{AndOr, Command, CompoundCommand, CompoundList, ElseClause, Pipeline};
use brush_parser::{Parser, ParserOptions};

/// The first word of every simple command outside of words, in order, as it is written. An error where the text is not understood,
/// or where the parser panics, which it does at times.
pub fn outline(text: &str) -> Result<Vec<String>, String> {
    let text = text.to_owned();
    let parsed = catch_unwind(move || {
        let options = ParserOptions::default();
        Parser::new(text.as_bytes(), &options).parse_program().map_err(|fault| fault.to_string())
    });
    let program = parsed.map_err(|_| "it panics".to_owned())??;
    let mut found = Vec::new();
    program.complete_commands.iter().for_each(|list| walk(list, &mut found));
    Ok(found)
}

fn walk(list: &CompoundList, found: &mut Vec<String>) {
    for item in &list.0 {
        pipeline(&item.0.first, found);
        for AndOr::And(next) | AndOr::Or(next) in &item.0.additional {
            pipeline(next, found);
        }
    }
}

fn pipeline(pipeline: &Pipeline, found: &mut Vec<String>) {
    for command in &pipeline.seq {
        match command {
            Command::Simple(simple) => found.extend(simple.word_or_name.iter().map(|word| word.value.clone())),
            Command::Compound(inner, _) => compound(inner, found),
            Command::Function(function) => compound(&function.body.0, found),
            Command::ExtendedTest(..) => {}
        }
    }
}

fn compound(command: &CompoundCommand, found: &mut Vec<String>) {
    match command {
        CompoundCommand::Arithmetic(_) => {}
        CompoundCommand::ArithmeticForClause(inner) => walk(&inner.body.list, found),
        CompoundCommand::BraceGroup(inner) => walk(&inner.list, found),
        CompoundCommand::Subshell(inner) => walk(&inner.list, found),
        CompoundCommand::ForClause(inner) => walk(&inner.body.list, found),
        CompoundCommand::CaseClause(inner) => {
            inner.cases.iter().filter_map(|case| case.cmd.as_ref()).for_each(|body| walk(body, found));
        }
        CompoundCommand::IfClause(inner) => {
            walk(&inner.condition, found);
            walk(&inner.then, found);
            for ElseClause { condition, body } in inner.elses.iter().flatten() {
                condition.iter().for_each(|condition| walk(condition, found));
                walk(body, found);
            }
        }
        CompoundCommand::WhileClause(inner) | CompoundCommand::UntilClause(inner) => {
            walk(&inner.0, found);
            walk(&inner.1.list, found);
        }
        CompoundCommand::Coprocess(inner) => {
            pipeline(&Pipeline { timed: None, bang: false, seq: vec![(*inner.body).clone()] }, found);
        }
    }
}
