//! What a program that embeds the gate calls.

use std::fs;

use tollgate::{Error, Tollgate};

const INTENTS: &str = "[{id: INT-1, name: Login, status: IN_PROGRESS, owned_scope: ['src/**']}]";

#[test]
fn a_session_selects_inherits_and_clears_its_intent() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".orchestration")).unwrap();
    fs::write(folder.path().join(".orchestration/active_intents.yaml"), INTENTS).unwrap();
    let mut gate = Tollgate::builder().workspace(folder.path()).home(folder.path()).open().unwrap();
    let id = |gate: &mut Tollgate, session: &str| gate.current_intent(session).unwrap().map(|intent| intent.id);

    assert_eq!(id(&mut gate, "parent"), None);
    assert_eq!(gate.context("parent", 1_000).unwrap(), "");
    gate.select_intent("parent", "INT-1").unwrap();
    gate.inherit_intent("child", "parent").unwrap();
    assert_eq!((id(&mut gate, "parent").as_deref(), id(&mut gate, "child").as_deref()), (Some("INT-1"), Some("INT-1")));
    assert!(gate.context("child", 1_000).unwrap().contains("INT-1"));
    gate.clear_intent("parent").unwrap();
    assert_eq!((id(&mut gate, "parent"), id(&mut gate, "child")), (None, None));

    let Err(Error::Refused { code, .. }) = gate.select_intent("parent", "INT-404") else { panic!("it was selected") };
    assert_eq!(code, "unknown_intent");
}
