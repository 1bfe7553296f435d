//! What the model should know about the intent it works for.

use super::intent::Intent;

/// The block that goes into the prompt, cut to a number of characters.
pub fn context(intent: &Intent, limit_chars: usize) -> String {
    let mut text = format!("<active_intent>\n{}, {}\n", line(&intent.to_string()), intent.status);
    if let Some(description) = &intent.description {
        text.push_str(&format!("{}\n", line(description)));
    }
    for (heading, items) in [
        ("You may change only files that match", intent.owned_scope.patterns()),
        ("Constraints", &intent.constraints),
        ("Acceptance criteria", &intent.acceptance_criteria),
    ] {
        if !items.is_empty() {
            text.push_str(&format!("\n{heading}:\n"));
            items.iter().for_each(|item| text.push_str(&format!("- {}\n", line(item))));
        }
    }
    let end = "</active_intent>\n";
    let room = limit_chars.saturating_sub(end.len());
    text.chars().take(room).chain(end.chars()).collect()
}

/// Text from files stays on one line and cannot close the block.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('<', "‹").replace('>', "›")
}
