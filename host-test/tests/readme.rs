//! The example in the README is accurate.

use std::fs;

use tollgate::Tollgate;

#[test]
fn the_readmes_example() {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).unwrap();
    let block = |opening: &str| {
        let (_, after) = readme.split_once(opening).unwrap();
        after.split_once("\n```").unwrap().0.to_owned()
    };
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".orchestration")).unwrap();
    fs::write(folder.path().join(".orchestration/active_intents.yaml"), block("```yaml\n")).unwrap();
    let shown = block("```console\n");
    let (asked, answered): (Vec<_>, Vec<_>) =
        shown.lines().filter(|line| line.starts_with('{')).partition(|line| line.starts_with(r#"{"op""#));
    assert_eq!((asked.len(), answered.len()), (3, 3));

    let mut gate = Tollgate::builder().workspace(folder.path()).home(folder.path()).open().unwrap();
    for (line, expected) in asked.iter().zip(answered) {
        assert_eq!(String::from_utf8(gate.perform(line.as_bytes()).unwrap()).unwrap(), expected);
    }
}
