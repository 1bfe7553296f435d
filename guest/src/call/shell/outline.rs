//! Lists the programs that a script names, to compare this parser with another one.

use super::syntax;
use super::syntax::tree::{AndOrList, CommandNode, Compound, List, Pipeline};

/// The first word of every simple command outside of words, in order; an item is `None` if the word is expanded. The result is
/// `None` if some of the text is not understood.
pub fn outline(text: &str) -> Option<Vec<Option<String>>> {
    let script = syntax::read(text, false).ok().filter(|script| script.doubts.is_empty())?;
    let mut found = Vec::new();
    list(&script.list, &mut found);
    Some(found)
}

fn list(list: &List, found: &mut Vec<Option<String>>) {
    for AndOrList { first, rest, .. } in &list.0 {
        for Pipeline { commands, .. } in std::iter::once(first).chain(rest.iter().map(|(_, pipeline)| pipeline)) {
            commands.iter().for_each(|command| self::command(command, found));
        }
    }
}

fn command(command: &CommandNode, found: &mut Vec<Option<String>>) {
    let compound = match command {
        CommandNode::Simple(simple) => return found.extend(simple.words.first().map(|word| word.literal())),
        CommandNode::Compound(compound, _) => compound,
    };
    match compound {
        Compound::Group(inner) | Compound::Subshell(inner) | Compound::For { body: inner, .. } => list(inner, found),
        Compound::If { branches, otherwise } => {
            for (condition, branch) in branches {
                list(condition, found);
                list(branch, found);
            }
            otherwise.iter().for_each(|branch| list(branch, found));
        }
        Compound::Loop { condition, body, .. } => {
            list(condition, found);
            list(body, found);
        }
        Compound::Case { arms, .. } => arms.iter().for_each(|(_, body)| list(body, found)),
        Compound::Test { .. } => {}
    }
}
