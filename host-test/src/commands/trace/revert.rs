//! `tollgate trace revert`: reverts the change of one entry after a person has confirmed.

use std::path::Path;

use clap::Args;
use serde_json::{Value, json};
use tollgate_guest::digest::Digest;

use super::entry::short_id;
use super::list::full_id;
use super::restore::{self, FileRestoration};
use super::versions::{self, Version};
use crate::cli::client::{Gate, ask, list, text, unexpected_answer};
use crate::cli::confirm::{Confirmation, Person};
use crate::cli::output::{Output, Style, escape};
use crate::cli::workspace::OpenGate;
use crate::cli::{CommandError, CommandResult, Outcome};

/// The options of `tollgate trace revert`.
#[derive(Args)]
pub(super) struct Options {
    /// The entry's id, or the first characters of it as shown by `tollgate trace`
    #[arg(value_name = "ENTRY")]
    entry: String,
    /// Confirm in advance; a terminal is still required
    #[arg(long, short)]
    yes: bool,
    /// Revert a change that the gate itself has decided to revert; it runs this command, and no person is needed
    #[arg(long, hide = true, conflicts_with = "yes")]
    restoring: bool,
}

pub(super) fn run(opened: &mut OpenGate, options: &Options, json: bool, output: &mut Output<'_>) -> CommandResult {
    let state = opened.gate.state_folder().map(Path::to_owned).unwrap_or_default();
    if options.restoring {
        let consent = Consent { of_gate: true, ask: |_: &str| Confirmation::Yes, sign: |_: &mut Value, _: &str| {} };
        return revert(&mut opened.gate, (&opened.root, &state), &options.entry, consent, json, output);
    }
    let person = Person::require(&mut opened.gate, &opened.root, &["trace", "revert", &options.entry], options.yes)?;
    let consent = Consent {
        of_gate: false,
        ask: |question: &str| person.ask(question),
        sign: |line: &mut Value, path: &str| person.sign(line, &[path.to_owned()]),
    };
    revert(&mut opened.gate, (&opened.root, &state), &options.entry, consent, json, output)
}

/// How to ask a person for consent, and how to add their name to the entry. If the gate itself consents, it is asked together
/// with the plan.
struct Consent<A: FnOnce(&str) -> Confirmation, S: FnOnce(&mut Value, &str)> {
    of_gate: bool,
    ask: A,
    sign: S,
}

fn revert(
    gate: &mut dyn Gate,
    (root, state): (&Path, &Path),
    entry: &str,
    consent: Consent<impl FnOnce(&str) -> Confirmation, impl FnOnce(&mut Value, &str)>,
    json: bool,
    output: &mut Output<'_>,
) -> CommandResult {
    let id = full_id(gate, entry)?;
    let mut question = json!({"op": "revert", "entry": id, "step": "plan"});
    if let Some(fields) = question.as_object_mut().filter(|_| consent.of_gate) {
        fields.insert("restoring".to_owned(), true.into());
    }
    let mut plan = ask(gate, &question)?;
    let path = text(&plan, "/path").to_owned();
    let version = match text(&plan, "/action") {
        "remove" => None,
        "restore" => Some(previous_version(&plan, root, state, &path)?),
        _ => return Err(unexpected_answer(&json!({"op": "revert"}))),
    };
    let shown = lines(&plan, version.as_ref(), output);
    if json {
        shown.iter().for_each(|line| drop(writeln!(output.err, "{line}")));
    } else {
        shown.iter().try_for_each(|line| output.line(line))?;
        output.out.flush()?;
    }
    if let Some(outcome) = (consent.ask)(&question_for(&plan, &path)).refusal(output)? {
        return Ok(outcome);
    }
    let change = match &version {
        Some(version) => FileRestoration::Restore { bytes: &version.bytes, executable: version.executable },
        None => FileRestoration::Remove,
    };
    let now = plan.get("now").and_then(Value::as_str);
    restore::apply(root, &path, now, &change).map_err(CommandError::failed)?;
    let done = format!("{} {}", if version.is_some() { "restored" } else { "removed" }, escape(&path));
    let mut record = json!({"op": "revert", "entry": id, "step": "record"});
    (consent.sign)(&mut record, &path);
    let recorded = ask(gate, &record);
    let recorded =
        recorded.map_err(|stop| stop.with_context(&format!("{done}, but that could not be recorded in the ledger")))?;
    if json {
        if let (Some(plan), Some(entries)) = (plan.as_object_mut(), recorded.get("entries")) {
            plan.insert("source".to_owned(), version.map(|version| version.from).into());
            plan.insert("entries".to_owned(), entries.clone());
        }
        output.json(&plan)?;
        return Ok(Outcome::Done);
    }
    let entered: Vec<String> = list(&recorded, "entries").iter().map(|entry| short_id(text(entry, "/id"))).collect();
    output.line(&if entered.is_empty() { done } else { format!("{done}; recorded as {}", escape(&entered.join(", "))) })?;
    Ok(Outcome::Done)
}

/// The previous content: from the gate's own copy, otherwise from git.
fn previous_version(plan: &Value, root: &Path, state: &Path, path: &str) -> Result<Version, CommandError> {
    let git_said = |why: Option<String>| why.map(|why| format!(" ({why})")).unwrap_or_default();
    let Some(want) = plan.get("want").and_then(Value::as_str) else {
        return versions::head_version(root, path).map_err(|why| {
            let why = git_said(why);
            CommandError::Failed(format!(
                "the previous content of `{path}` is unknown, and git's HEAD has no such file{why}; restore it manually"
            ))
        });
    };
    let image = plan.get("image").and_then(Value::as_str);
    if let Some(image) = image
        && let Some(bytes) = restore::read(state, image).filter(|bytes| Digest::of(bytes).to_string() == want)
    {
        let executable = versions::is_executable_in_head(root, path);
        return Ok(Version { bytes, executable, from: format!("the gate's own copy, {image}") });
    }
    versions::find_by_digest(root, path, want).map_err(|why| {
        let (why, copy) =
            (git_said(why), if image.is_some() { "the gate's own copy is damaged" } else { "the gate kept no copy" });
        CommandError::Failed(format!(
            "the previous content of `{path}`, {want}, is not available: {copy}, and git has it neither in HEAD nor in the index \
             nor in the file's last 50 commits{why}; restore it manually"
        ))
    })
}

/// Describes what would happen.
fn lines(plan: &Value, version: Option<&Version>, output: &Output<'_>) -> Vec<String> {
    let field = |pointer| escape(text(plan, pointer));
    let or =
        |pointer, otherwise: &str| Some(field(pointer)).filter(|text| !text.is_empty()).unwrap_or_else(|| otherwise.to_owned());
    let (id, time, session) = (short_id(&field("/entry/id")), field("/entry/timestamp"), field("/entry/session_id"));
    let (tool, intent) = (field("/entry/tool_name"), or("/entry/intent_id", "no intent"));
    let mut lines = vec![format!("entry {id}: {tool} at {time} in session {session}, for {intent}")];
    let mut line = |name: &str, value: &str| lines.push(format!("  {} {value}", output.paint(Style::Dim, &format!("{name:<7}"))));
    line("file", &output.paint(Style::Bold, &field("/path")));
    line("now", &or("/now", "no file"));
    match version {
        None => line("then", "no file"),
        Some(version) => {
            line("then", &Digest::of(&version.bytes).to_string());
            line("source", &escape(&version.from));
        }
    }
    if version.is_some() && text(plan, "/want").is_empty() {
        line("note", &output.paint(Style::Yellow, UNPROVEN));
    }
    lines
}

const UNPROVEN: &str = "this may not be the previous content";

fn question_for(plan: &Value, path: &str) -> String {
    let path = escape(path);
    match text(plan, "/action") {
        "remove" => format!("remove {path}?"),
        _ if text(plan, "/want").is_empty() => format!("{UNPROVEN}; restore {path} to HEAD's version?"),
        _ => format!("restore {path}?"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::entry::tests::entry;
    use super::super::versions::tests::run_git;
    use super::*;
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::capture;

    const ID: &str = "11111111-1111-4111-8111-111111111111";
    const IMAGE: &str = "images/x";

    /// A repository with `a` committed as "committed", then changed to "agent's", and the gate's copy of "copied".
    fn workspace() -> tempfile::TempDir {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        run_git(root, &["init", "-q"]);
        fs::write(root.join("a"), "committed").unwrap();
        run_git(root, &["add", "a"]);
        run_git(root, &["commit", "-qm", "x"]);
        fs::write(root.join("a"), "agent's").unwrap();
        fs::create_dir_all(root.join("state/images")).unwrap();
        fs::write(root.join("state").join(IMAGE), "copied").unwrap();
        temp
    }

    /// A person who is not recorded by name.
    fn anonymous_consent<A: FnOnce(&str) -> Confirmation>(ask: A) -> Consent<A, fn(&mut Value, &str)> {
        Consent { of_gate: false, ask, sign: |_, _| {} }
    }

    fn plan(action: &str, now: Option<&str>, want: Option<&str>, image: Option<&str>) -> Value {
        let hash = |content: Option<&str>| content.map(|content| Digest::of(content.as_bytes()).to_string());
        json!({"path": "a", "action": action, "now": hash(now), "want": hash(want), "image": image, "entry": entry(ID, "a")})
    }

    fn plan_exchange(plan: &Value) -> (Value, Value) {
        (json!({"op": "revert", "entry": ID, "step": "plan"}), plan.clone())
    }

    fn record_exchange() -> (Value, Value) {
        (json!({"op": "revert", "entry": ID, "step": "record"}), json!({"entries": [entry("99999999-9", "a")]}))
    }

    #[test]
    fn content_comes_from_the_copy_or_from_git() {
        for (plan, left, source, asked) in [
            (plan("restore", Some("agent's"), Some("copied"), Some(IMAGE)), Some("copied"), "the gate's own copy", "restore a?"),
            // A copy with the wrong digest is not used.
            (plan("restore", Some("agent's"), Some("committed"), Some(IMAGE)), Some("committed"), "git HEAD", "restore a?"),
            (plan("restore", Some("agent's"), Some("committed"), None), Some("committed"), "git HEAD", "restore a?"),
            (
                plan("restore", Some("agent's"), None, None),
                Some("committed"),
                "may not be the previous content",
                "may not be the previous content",
            ),
            (plan("remove", Some("agent's"), None, None), None, "no file", "remove a?"),
        ] {
            let temp = workspace();
            let mut gate = Script::new([plan_exchange(&plan), record_exchange()]);
            let mut question = String::new();
            let yes = |text: &str| {
                question = text.to_owned();
                Confirmation::Yes
            };
            let (came_to, out, err) = capture(|output| {
                revert(&mut gate, (temp.path(), &temp.path().join("state")), ID, anonymous_consent(yes), false, output)
            });
            assert_eq!(came_to.unwrap(), Outcome::Done);
            gate.assert_finished();
            assert_eq!(fs::read_to_string(temp.path().join("a")).ok().as_deref(), left);
            assert!(out.contains(source) && out.ends_with("d a; recorded as 99999999\n"), "{out}");
            assert!(question.contains(asked), "{question}");
            assert_eq!(err, "");
        }
    }

    #[test]
    fn the_plan_is_shown_before_it_is_done() {
        let temp = workspace();
        let mut gate = Script::new([plan_exchange(&plan("restore", Some("agent's"), Some("copied"), Some(IMAGE)))]);
        let (came_to, out, err) = capture(|output| {
            revert(
                &mut gate,
                (temp.path(), &temp.path().join("state")),
                ID,
                anonymous_consent(|_| Confirmation::No),
                false,
                output,
            )
        });
        assert_eq!(came_to.unwrap(), Outcome::No);
        let expected = format!(
            "entry 11111111: write at 2026-11-16T09:30:00.000Z in session s1, for INT-1\n  file    a\n  now     {}\n  then    {}\n  \
             source  the gate's own copy, {IMAGE}\n",
            Digest::of(b"agent's"),
            Digest::of(b"copied")
        );
        assert_eq!((out, err.as_str()), (expected, "tollgate: nothing was changed\n"));
        assert_eq!(fs::read_to_string(temp.path().join("a")).unwrap(), "agent's");
    }

    #[test]
    fn nothing_is_changed_without_somebodys_word_or_on_other_content() {
        for (plan, word, said) in [
            (plan("restore", Some("agent's"), Some("copied"), Some(IMAGE)), Confirmation::NoTerminal, "--yes"),
            (plan("restore", Some("earlier"), Some("copied"), Some(IMAGE)), Confirmation::Yes, "has changed in the meantime"),
            (plan("restore", Some("agent's"), Some("lost"), None), Confirmation::Yes, "the gate kept no copy"),
            (plan("restore", Some("agent's"), Some("lost"), Some(IMAGE)), Confirmation::Yes, "copy is damaged"),
            (plan("dance", Some("agent's"), None, None), Confirmation::Yes, "cannot be understood"),
        ] {
            let temp = workspace();
            let mut gate = Script::new([plan_exchange(&plan)]);
            let (came_to, _, _) = capture(|output| {
                revert(&mut gate, (temp.path(), &temp.path().join("state")), ID, anonymous_consent(|_| word), false, output)
            });
            let Err(CommandError::Failed(why)) = came_to else { panic!("{said}: {came_to:?}") };
            assert!(why.contains(said), "{why}");
            assert_eq!(fs::read_to_string(temp.path().join("a")).unwrap(), "agent's");
        }
    }

    #[test]
    fn programs_get_one_object() {
        let temp = workspace();
        let plan = plan("restore", Some("agent's"), Some("committed"), None);
        let mut gate = Script::new([plan_exchange(&plan), record_exchange()]);
        let (came_to, out, err) = capture(|output| {
            revert(
                &mut gate,
                (temp.path(), &temp.path().join("state")),
                ID,
                anonymous_consent(|_| Confirmation::Yes),
                true,
                output,
            )
        });
        assert_eq!(came_to.unwrap(), Outcome::Done);
        let mut expected = plan;
        expected["source"] = "git HEAD".into();
        expected["entries"] = json!([entry("99999999-9", "a")]);
        assert_eq!(out, format!("{expected}\n"));
        assert!(err.starts_with("entry 11111111"), "{err}");
    }

    #[test]
    fn a_revert_that_could_not_be_recorded_is_reported() {
        let temp = workspace();
        let refused = json!({"error": {"code": "workspace_fault", "message": "the disk is full"}});
        let question = json!({"op": "revert", "entry": ID, "step": "record"});
        let mut gate = Script::new([plan_exchange(&plan("remove", Some("agent's"), None, None)), (question, refused)]);
        let (came_to, _, _) = capture(|output| {
            revert(
                &mut gate,
                (temp.path(), &temp.path().join("state")),
                ID,
                anonymous_consent(|_| Confirmation::Yes),
                false,
                output,
            )
        });
        let Err(CommandError::Refused { message, .. }) = came_to else { panic!() };
        assert_eq!(message, "removed a, but that could not be recorded in the ledger: the disk is full");
    }
}
