//! The built-in source: notes are found by every name they have, the index follows the files, and nothing in a folder does any
//! harm.

use std::time::Instant;

use crate::counting_host::CountingHost;
use serde_json::{Value, json};
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::{Memory, STATE};
use tollgate_guest::ports::{FileFault, ListingLimits, Root, Workspace};

const FOLDER: &str = ".tollgate/concepts";

impl CountingHost {
    fn note(&self, name: &str, text: &str) {
        self.world.write(&format!("{FOLDER}/{name}"), text);
    }
}

fn ask(gate: &mut Gate, line: &Value) -> Value {
    serde_json::from_str(&perform(gate, line.to_string().as_bytes())).unwrap()
}

/// What is told about a text, without the beginning and the end that every answer has.
fn augmentation(gate: &mut Gate, text: &str) -> String {
    let answer = ask(gate, &json!({"op": "augment", "session": "s", "tool": "write", "args": {"content": text}}));
    let context = answer["additional_context"].as_str().unwrap_or_default();
    context.lines().skip(1).filter(|line| !line.starts_with("<!--")).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_note_is_found_by_every_name() {
    let host = CountingHost::new();
    host.note("Rate Limits.md", "---\ntitle: Throttling\naliases: [429, \"too: many\"]\n---\n# How much is too much\n\nTen.\n");
    host.note("deep/er/Überblick.MD", "All of it.");
    let mut gate = Gate::new(host.ports());
    for name in ["rate limits", "RATE LIMITS", "throttling", "429", "Too: Many", "how much is too much", "Rate Limits.md"] {
        assert_eq!(augmentation(&mut gate, &format!("[[{name}]]")), format!("## [[{name}]]\n\n# How much is too much\n\nTen."));
    }
    for name in ["ÜBERBLICK", "er/Überblick", "deep/er/überblick"] {
        assert_eq!(augmentation(&mut gate, &format!("[[{name}]]")), format!("## [[{name}]]\n\nAll of it."));
    }
    for name in ["er", "deep", "rate", "other/Überblick", "../concepts/Überblick", "/Überblick"] {
        assert_eq!(augmentation(&mut gate, &format!("[[{name}]]")), "", "{name}");
    }
    let twice = augmentation(&mut gate, "[[429]] [[throttling]]");
    assert!(twice.ends_with("---\n\n## [[throttling]]\n\nThe same as [[429]]."), "{twice}");
}

#[test]
fn links_lead_one_step_and_no_further() {
    let host = CountingHost::new();
    host.note("hub.md", "---\naliases: [centre]\n---\nSee [[one]], [[ONE|again]], [[hub]], [[missing]] and [two](sub/two.md).\n");
    host.note("one.md", "# One\n\nFirst of all [[far]].\n");
    host.note("sub/two.md", "Second.\n");
    host.note("far.md", "Too far.\n");
    for number in 3..9 {
        host.note(&format!("n{number}.md"), &format!("{}\n[[Centre]] [[hub]]", "x".repeat(500)));
    }
    let mut gate = Gate::new(host.ports());
    let x = "x".repeat(160);
    assert_eq!(
        augmentation(&mut gate, "[[hub]]"),
        format!(
            "## [[hub]]\n\nSee [[one]], [[ONE|again]], [[hub]], [[missing]] and [two](sub/two.md).\n\nRelated:\n- [[one]]: First of all [[far]].\n\
             - [[two]]: Second.\n- [[n3]] (links here): {x}\n- [[n4]] (links here): {x}\n- [[n5]] (links here): {x}"
        )
    );
    assert_eq!(
        augmentation(&mut gate, "[[far]]"),
        "## [[far]]\n\nToo far.\n\nRelated:\n- [[one]] (links here): First of all [[far]]."
    );
}

#[test]
fn the_index_follows_the_files() {
    let host = CountingHost::new();
    host.note("a.md", "# Alpha\n\nOne.");
    let mut gate = Gate::new(host.ports());
    assert_eq!(augmentation(&mut gate, "[[alpha]]"), "## [[alpha]]\n\n# Alpha\n\nOne.");
    // The text is always the file's own, whatever the index says.
    host.note("a.md", "# Alpha\n\nTwo.");
    assert_eq!(augmentation(&mut gate, "[[alpha]]"), "## [[alpha]]\n\n# Alpha\n\nTwo.");
    // A name that a note no longer has is noticed at once, a new name after a while.
    host.note("a.md", "# Beta\n\nThree.");
    assert_eq!(augmentation(&mut gate, "[[alpha]]"), "");
    assert_eq!(augmentation(&mut gate, "[[beta]]"), "## [[beta]]\n\n# Beta\n\nThree.");
    host.note("b.md", "New.");
    assert_eq!(augmentation(&mut gate, "[[b]]"), "");
    host.wait(2_000);
    assert_eq!(augmentation(&mut gate, "[[b]]"), "## [[b]]\n\nNew.");
    host.world.delete(&format!("{FOLDER}/b.md"));
    assert_eq!(augmentation(&mut gate, "[[b]]"), "");
    host.world.delete(FOLDER);
    let gone = ask(&mut gate, &json!({"op": "augment", "session": "s", "tool": "x", "args": {"a": "[[a]]"}}));
    assert_eq!(gone["skipped"], "source_unavailable");
    host.note("a.md", "Back.");
    assert_eq!(augmentation(&mut gate, "[[a]]"), "## [[a]]\n\nBack.");
}

#[test]
fn any_folder_and_several() {
    let host = CountingHost::new();
    let config = json!({"augment": {"sources": [{"name": "vault", "notes": "docs"}, "notes"]}});
    host.world.write(".tollgate/config.json", config.to_string());
    host.world.write("docs/a.md", "From the vault.");
    host.world.write("docs/.obsidian/b.md", "Hidden.");
    host.world.write("docs/.trash/b.md", "Thrown away.");
    host.note("a.md", "From the notes.");
    host.note("b.md", "Also from the notes.");
    let mut gate = Gate::new(host.ports());
    assert_eq!(augmentation(&mut gate, "[[a]] [[b]]"), "## [[a]]\n\nFrom the vault.\n\n---\n\n## [[b]]\n\nAlso from the notes.");
    let listed = ask(&mut gate, &json!({"op": "concepts"}));
    assert_eq!(
        listed,
        json!({"concepts": [
            {"concept": "a", "source": "vault", "path": "docs/a.md"},
            {"concept": "a", "source": "notes", "path": ".tollgate/concepts/a.md"},
            {"concept": "b", "source": "notes", "path": ".tollgate/concepts/b.md"},
        ], "total": 3, "done": true})
    );
    let searched = ask(&mut gate, &json!({"op": "concepts", "query": "B", "limit": 0}));
    assert_eq!(searched, json!({"concepts": [], "total": 1, "done": true}));
}

#[test]
fn nothing_in_a_folder_does_harm() {
    let host = CountingHost::new();
    host.note("self.md", "I link to [[self]] and [[SELF|me]].");
    host.note("a.md", "To [[b]].");
    host.note("b.md", "To [[a]].");
    host.note("large.md", &format!("Begins.\n{}", "é text\n".repeat(6 << 20)));
    host.note("binary.md", "PNG\0\u{1}");
    host.world.write(&format!("{FOLDER}/latin.md"), b"caf\xe9");
    host.note("empty.md", "");
    host.note("picture.png", "no note");
    host.world.symlink("../../secret.md", &format!("{FOLDER}/link.md"));
    host.world.symlink(".", &format!("{FOLDER}/circle"));
    host.world.write("secret.md", "not for you");
    let mut gate = Gate::new(host.ports());
    assert_eq!(augmentation(&mut gate, "[[self]]"), "## [[self]]\n\nI link to [[self]] and [[SELF|me]].");
    assert_eq!(augmentation(&mut gate, "[[a]]"), "## [[a]]\n\nTo [[b]].\n\nRelated:\n- [[b]]: To [[a]].");
    let large = augmentation(&mut gate, "[[large]]");
    assert!(large.starts_with("## [[large]]\n\nBegins.\né text") && large.ends_with('…') && large.chars().count() <= 8_000);
    assert_eq!(augmentation(&mut gate, "[[latin]]"), "## [[latin]]\n\ncaf\u{fffd}");
    for name in
        ["binary", "empty", "picture", "picture.png", "link", "circle/a", "../../secret", "secret", "..", ".", "/etc/passwd"]
    {
        assert_eq!(augmentation(&mut gate, &format!("[[{name}]]")), "", "{name}");
    }
    let logged = host.world.logged();
    assert!(!logged.iter().any(|(_, line)| line.contains("cannot")), "{logged:?}");
}

#[test]
fn many_notes_are_read_once_and_kept() {
    let host = CountingHost::new();
    for number in 0..3_000 {
        let text = format!("---\naliases: [number {number}]\n---\nNext is [[note {}]].", number + 1);
        host.note(&format!("f{}/note {number}.md", number % 7), &text);
    }
    let mut gate = Gate::new(host.ports());
    let expected = "## [[number 1234]]\n\nNext is [[note 1235]].\n\nRelated:\n- [[note 1235]]: Next is [[note 1236]].\n- [[note 1233]] (links here): Next is [[note 1234]].";
    assert_eq!(augmentation(&mut gate, "[[number 1234]]"), expected);
    let [read] = host.counts(["read_range"]);
    assert!(read >= 3_000, "{read}");

    assert_eq!(augmentation(&mut gate, "[[number 1234]]"), expected);
    assert_eq!(host.names(), ["inspect", "inspect", "read_range", "read_range", "read_range"], "settings, folders, notes");

    // Another process finds the index where the first has left it.
    let mut other = Gate::new(host.ports());
    assert_eq!(augmentation(&mut other, "[[number 1234]]"), expected);
    assert_eq!(host.counts(["list", "read", "read_range"]), [0, 2, 3], "the index, and when it was seen; three notes");

    // Only what has changed is read again.
    host.note("f1/note 1.md", "Another text, to [[number 1234]].");
    host.note("f9/new.md", "Also to [[number 1234]].");
    host.world.delete(&format!("{FOLDER}/f2/note 2.md"));
    host.wait(10_000);
    host.take();
    let now = augmentation(&mut other, "[[number 1234]]");
    assert_eq!(host.counts(["list", "read_range"]), [1, 2 + 1 + 4]);
    assert!(now.contains("[[note 1]] (links here)") && now.contains("[[new]] (links here)"), "{now}");
    assert_eq!(augmentation(&mut other, "[[number 2]] [[number 1]]"), "");

    // Without a place to store the index, it is kept in memory.
    host.world.refuse_writes(Some(FileFault::Full));
    host.note("f9/newer.md", "Newest.");
    host.wait(10_000);
    assert_eq!(augmentation(&mut other, "[[newer]]"), "## [[newer]]\n\nNewest.");
    assert!(host.world.logged().iter().any(|(_, line)| line.contains("cannot be saved: the disk is full")));
}

/// A clock that moves with every look: no call reads on and on, and notes that wait are known by their file names.
#[test]
fn a_large_folder_is_read_in_slices() {
    let world = Memory::new();
    for number in 0..200 {
        world.write(&format!("{FOLDER}/note {number:03}.md"), format!("# Title {number}\n\nText."));
    }
    let mut gate = Gate::new(world.ports());
    assert_eq!(augmentation(&mut gate, "[[title 150]]"), "");
    assert_eq!(augmentation(&mut gate, "[[note 199]]"), "## [[note 199]]\n\n# Title 199\n\nText.");
    assert_eq!(augmentation(&mut gate, "[[title 150]]"), "## [[title 150]]\n\n# Title 150\n\nText.");
    // Another process continues where this one is.
    assert_eq!(augmentation(&mut Gate::new(world.ports()), "[[title 199]]"), "## [[title 199]]\n\n# Title 199\n\nText.");
}

#[test]
fn an_index_that_was_tampered_with_shows_no_other_file() {
    let host = CountingHost::new();
    for number in 0..200 {
        host.note(&format!("note {number:03}.md"), "Text.");
    }
    host.world.write("secret.md", "not for you");
    augmentation(&mut Gate::new(host.ports()), "[[note 001]]");
    let listing = host.world.list(Root::State, "notes", &ListingLimits { depth: 1, limit: 9, skip: Vec::new() }).unwrap();
    let place = format!("{STATE}/notes/{}", listing.entries[0].path);
    assert!(place.ends_with(".index"), "{place}");
    let text = String::from_utf8(host.world.content(&place).unwrap()).unwrap();
    for (from, to) in
        [("note 001.md", "../../secret.md"), ("note 001.md", ".../secret.md"), ("note 00", "\u{fffd}\n\t\u{0}"), ("0", "f")]
    {
        host.world.write(&place, text.replace(from, to));
        let mut gate = Gate::new(host.ports());
        for name in ["note 001", "secret", "note 150"] {
            assert!(!augmentation(&mut gate, &format!("[[{name}]]")).contains("not for you"), "{from} {to} {name}");
        }
    }
}

/// Far from the 5 ms that the component is measured against, but enough to notice a lookup that goes through all notes.
#[test]
fn a_lookup_does_not_go_through_all_notes() {
    let host = CountingHost::new();
    for number in 0..20_000 {
        host.note(&format!("{number}.md"), &format!("[[{}]] [[{}]]", number + 1, number * 7));
    }
    let mut gate = Gate::new(host.ports());
    augmentation(&mut gate, "[[0]]");
    // The fastest of ten rounds counts: other load on the machine slows down single rounds, going through all notes every one.
    let round = |first: usize| {
        let begun = Instant::now();
        for number in first..first + 20 {
            assert!(augmentation(&mut gate, &format!("[[{}]] [[nobody {number}]]", number * 99)).starts_with("## [["));
        }
        begun.elapsed()
    };
    let fastest = (0..200).step_by(20).map(round).min().unwrap();
    assert!(fastest.as_millis() < 200, "{fastest:?}");
}
