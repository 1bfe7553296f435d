use super::call_journal::{CLAIM_MS, refused_line};
use super::*;
use crate::json;
use crate::ports::Root;
use crate::ports::memory::{Memory, STATE};

/// When the world begins.
const NOW: Timestamp = Timestamp(1_767_225_600_000);
const SINCE: u64 = NOW.0 - 4_000;

fn pending() -> Pending {
    let caller = CallOrigin { session: "s".to_owned(), call: "c".to_owned(), ..CallOrigin::default() };
    Pending {
        caller,
        intent: IntentId::try_from("INT-1".to_owned()).unwrap(),
        since: SINCE,
        changes: Vec::new(),
        certain: true,
        persistence: Persistence::Ends,
        is_presumed_refused: false,
        open_ended: None,
        confined: false,
        leased: false,
        ledger: None,
        unentered: None,
        has_own_id: false,
    }
}

fn later(ms: u64) -> Timestamp {
    Timestamp(NOW.0 + ms)
}

#[test]
fn one_of_two_settles_a_call() {
    let world = Memory::new();
    let (ports, key) = (world.ports(), key("s", "c"));
    keep(&key, &pending(), &ports).unwrap();
    assert_eq!(claim(&key, &pending(), NOW, &ports), Some(1));
    assert_eq!(claim(&key, &pending(), NOW, &ports), None);
    assert_eq!(claim(&key, &pending(), later(CLAIM_MS - 1), &ports), None);
    assert_eq!(claim(&key, &pending(), later(CLAIM_MS), &ports), Some(2), "the first was killed");
    assert_eq!(claim(&key, &pending(), later(CLAIM_MS), &ports), None);
    release(&key, &ports);
    assert_eq!(claim(&key, &pending(), later(CLAIM_MS + 1), &ports), Some(1), "it was left to the next one");
    forget(&key, &ports);
    assert_eq!(claim(&key, &pending(), later(CLAIM_MS + 2), &ports), None, "it is settled");
}

#[test]
fn a_claim_that_cannot_be_written_counts_unless_someone_else_is_at_it() {
    let world = Memory::new();
    let (ports, key) = (world.ports(), key("s", "c"));
    keep(&key, &pending(), &ports).unwrap();
    world.refuse_writes(Some(FileFault::Full));
    assert_eq!(claim(&key, &pending(), NOW, &ports), Some(1));
    world.refuse_writes(None);
    assert_eq!(claim(&key, &pending(), NOW, &ports), Some(1));
    world.refuse_writes(Some(FileFault::Full));
    assert_eq!(claim(&key, &pending(), NOW, &ports), None);
    assert_eq!(claim(&key, &pending(), later(CLAIM_MS), &ports), Some(1));
}

#[test]
fn an_earlier_call_with_the_same_id_counts_for_nothing() {
    let world = Memory::new();
    let (ports, key) = (world.ports(), key("s", "c"));
    // Someone found the call just before it was settled.
    assert_eq!(claim(&key, &pending(), NOW, &ports), None);
    let second = Pending { since: SINCE + 1_000, ..pending() };
    keep(&key, &second, &ports).unwrap();
    assert_eq!(recall(&key, &ports), Some(second.clone()));
    assert_eq!(claim(&key, &pending(), NOW, &ports), None);
    assert_eq!(claim(&key, &second, NOW, &ports), Some(1));
}

#[test]
fn a_call_is_left_behind_when_its_settler_was_killed() {
    let world = Memory::new();
    let (ports, key) = (world.ports(), key("s", "c"));
    keep(&key, &pending(), &ports).unwrap();
    let left = |now: Timestamp| left_behind(Ended::Nothing, now, &ports).len();
    assert_eq!(left(later(CLAIM_MS)), 0, "it is under way");
    claim(&key, &pending(), NOW, &ports).unwrap();
    assert_eq!(left(later(CLAIM_MS - 1)), 0, "it is being settled");
    assert_eq!(left(later(CLAIM_MS)), 1);
}

#[test]
fn a_record_that_is_being_written_is_left_alone() {
    let world = Memory::new();
    let ports = world.ports();
    let text = json::line(&pending());
    let claims = format!("\nclaim {SINCE} {} 7\n", NOW.0);
    let cases = [("empty", ""), ("half", text.get(..text.len() / 2).unwrap()), ("claims", &*claims)];
    for (name, content) in cases {
        world.write(&format!("{STATE}/{}", key("s", name)), content);
    }
    assert_eq!(left_behind(Ended::Session("s"), NOW, &ports), []);
    assert_eq!(world.count(&format!("{STATE}/{FOLDER}")), 3);
    assert_eq!(left_behind(Ended::Nothing, later(86_400_001), &ports), []);
    assert_eq!(world.count(&format!("{STATE}/{FOLDER}")), 0);
    assert_eq!(world.logged(), []);
}

/// Wherever a line was cut off, because the disk was full: the lines before and after it count.
#[test]
fn a_line_that_was_cut_off_counts_for_nothing() {
    let presumed = json::line(&Pending { is_presumed_refused: true, ..pending() });
    let torn = [presumed, format!("claim {SINCE} {}", NOW.0), refused_line(SINCE)];
    for line in torn.iter().flat_map(|line| (1..line.len()).filter_map(|end| line.get(..end))) {
        let world = Memory::new();
        let (ports, key) = (world.ports(), key("s", "c"));
        keep(&key, &pending(), &ports).unwrap();
        ports.records.append(Root::State, &key, format!("\n{line}").as_bytes()).unwrap();
        assert_eq!(recall(&key, &ports), Some(pending()), "{line}");
        assert_eq!(claim(&key, &pending(), NOW, &ports), Some(1), "{line}");
        assert_eq!(recall(&key, &ports), Some(pending()), "{line}");
        assert_eq!(claim(&key, &pending(), NOW, &ports), None, "{line}");
        let second = Pending { since: SINCE + 1_000, ..pending() };
        keep(&key, &second, &ports).unwrap();
        assert_eq!(recall(&key, &ports), Some(second), "{line}");
    }
}

/// Another process settles the call at the same time: the presumption neither brings the call back nor overrules its end.
#[test]
fn a_call_that_is_being_settled_is_not_presumed_refused() {
    let world = Memory::new();
    let (ports, key) = (world.ports(), key("s", "c"));
    let is_presumed = || recall(&key, &ports).map(|record| record.is_presumed_refused);
    keep(&key, &pending(), &ports).unwrap();
    presume_refused(&key, SINCE, &ports).unwrap();
    assert_eq!(is_presumed(), Some(true));
    claim(&key, &pending(), NOW, &ports).unwrap();
    assert_eq!(is_presumed(), Some(false));
    forget(&key, &ports);
    presume_refused(&key, SINCE, &ports).unwrap();
    assert_eq!((is_presumed(), left_behind(Ended::Session("s"), NOW, &ports)), (None, Vec::new()));
    // The next call with this id is another one.
    keep(&key, &Pending { since: SINCE + 1_000, ..pending() }, &ports).unwrap();
    assert_eq!(is_presumed(), Some(false));
    assert_eq!(world.logged(), []);
}

/// A record of the previous version says in the record itself that the call is presumed refused.
#[test]
fn records_of_the_previous_version_count() {
    let world = Memory::new();
    let (ports, key) = (world.ports(), key("s", "c"));
    keep(&key, &Pending { is_presumed_refused: true, ..pending() }, &ports).unwrap();
    assert_eq!(recall(&key, &ports).map(|record| (record.is_presumed_refused, record.unentered)), Some((true, None)));
}
