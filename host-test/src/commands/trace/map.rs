//! `tollgate trace map`: which files were changed for which intent, as a page to read.

use serde_json::json;

use crate::cli::client::{Gate, ask_until_done, number, text};
use crate::cli::output::{Screen, count, plain};
use crate::cli::{Outcome, Stop};

pub(super) fn run(gate: &mut dyn Gate, json: bool, screen: &mut Screen<'_>) -> Result<Outcome, Stop> {
    let answer = ask_until_done(gate, &json!({"op": "map"}))?;
    if json {
        screen.json(&answer)?;
    } else {
        let (intents, files) =
            (count(number(&answer, "intents"), "intent", "intents"), count(number(&answer, "files"), "file", "files"));
        screen.line(&format!("wrote {}: {intents}, {files}", plain(text(&answer, "/path"))))?;
    }
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::printed;

    #[test]
    fn it_says_what_it_wrote() {
        let answer = json!({"done": true, "path": ".orchestration/intent_map.md", "intents": 1, "files": 9});
        let mut gate = Script::new([(json!({"op": "map"}), answer)]);
        let (came_to, out, _) = printed(|screen| run(&mut gate, false, screen));
        assert_eq!(came_to.unwrap(), Outcome::Done);
        assert_eq!(out, "wrote .orchestration/intent_map.md: 1 intent, 9 files\n");
    }
}
