//! `tollgate trace map`: writes a page that shows which files were changed for which intent.

use serde_json::json;

use crate::cli::client::{Gate, ask_until_done, number, text};
use crate::cli::output::{Output, count, escape};
use crate::cli::{CommandResult, Outcome};

pub(super) fn run(gate: &mut dyn Gate, json: bool, output: &mut Output<'_>) -> CommandResult {
    let answer = ask_until_done(gate, &json!({"op": "map"}))?;
    if json {
        output.json(&answer)?;
    } else {
        let (intents, files) =
            (count(number(&answer, "intents"), "intent", "intents"), count(number(&answer, "files"), "file", "files"));
        output.line(&format!("wrote {}: {intents}, {files}", escape(text(&answer, "/path"))))?;
    }
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::capture;

    #[test]
    fn it_says_what_it_wrote() {
        let answer = json!({"done": true, "path": ".orchestration/intent_map.md", "intents": 1, "files": 9});
        let mut gate = Script::new([(json!({"op": "map"}), answer)]);
        let (came_to, out, _) = capture(|output| run(&mut gate, false, output));
        assert_eq!(came_to.unwrap(), Outcome::Done);
        assert_eq!(out, "wrote .orchestration/intent_map.md: 1 intent, 9 files\n");
    }
}
