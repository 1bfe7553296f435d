use proptest::prelude::*;

use super::*;
use crate::ports::Root;
use crate::ports::memory::{Memory, STATE};

fn lease(session: &str, now: u64) -> Lease {
    Lease::new("src/a", session, "c", "write", Timestamp(now))
}

#[test]
fn the_second_waits_until_the_first_is_done_or_dead() {
    let ports = Memory::new().ports();
    let take = |session: &str, now: u64| lease(session, now).take(Timestamp(now), &ports);
    assert!(take("one", 1_000).is_ok());
    assert!(take("one", 2_000).is_ok(), "a session does not hold itself up");
    assert!(matches!(take("two", 3_000), Err(LeaseDenial::Held(held)) if held.session == "one"));
    assert!(matches!(take("two", 62_000), Err(LeaseDenial::Held(_))));
    assert!(take("two", 62_001).is_ok(), "a minute after the last write it has died");
    assert!(matches!(take("one", 62_002), Err(LeaseDenial::Held(_))));
    release("src/a", "one", "c", &ports);
    assert!(matches!(take("one", 62_003), Err(LeaseDenial::Held(_))), "nobody gives back what is not theirs");
    release("src/a", "two", "c", &ports);
    assert!(take("one", 62_004).is_ok());
    assert!(take("two", 1).is_ok(), "a clock that was set back does not lock anybody out");
}

#[test]
fn a_line_that_was_cut_off_counts_for_nothing() {
    let world = Memory::new();
    let ports = world.ports();
    let taken = lease("one", 1_000).line();
    for end in 1..taken.len() {
        ports.records.append(Root::State, &journal_path("src/a"), &taken.as_bytes()[..end]).unwrap();
        assert!(!is_held_by("src/a", "one", Timestamp(1_000), &ports));
        assert!(lease("two", 1_000).take(Timestamp(1_000), &ports).is_ok(), "{end}");
        release("src/a", "two", "c", &ports);
    }
}

#[test]
fn a_long_journal_is_cut_down_and_says_the_same() {
    let world = Memory::new();
    let ports = world.ports();
    let mut longest = 0;
    for now in 1_000..1_100 {
        lease("one", now).take(Timestamp(now), &ports).unwrap();
        assert!(matches!(lease("two", now).take(Timestamp(now), &ports), Err(LeaseDenial::Held(held)) if held.session == "one"));
        longest = longest.max(world.content(&format!("{STATE}/{}", journal_path("src/a"))).unwrap().len());
    }
    assert!(longest < LONG_BYTES + 500, "{longest}");
    assert!(is_held_by("src/a", "one", Timestamp(1_100), &ports));
}

#[test]
fn a_process_whose_clock_is_a_little_behind_is_refused_all_the_same() {
    let ports = Memory::new().ports();
    assert!(lease("one", 1_003).take(Timestamp(1_003), &ports).is_ok());
    assert!(lease("two", 1_000).take(Timestamp(1_000), &ports).is_err());
}

#[test]
fn calls_of_one_session_do_not_hold_each_other_up() {
    let world = Memory::new();
    let ports = world.ports();
    let other = Lease::new("src/a", "one", "d", "write", Timestamp(1_000));
    // The other lease is appended between our line and our read.
    world.after_append(&journal_path("src/a"), format!("\n{}\n", other.line()).as_bytes());
    assert!(lease("one", 1_000).take(Timestamp(1_000), &ports).is_ok());
    assert!(is_held_by_another_call("src/a", "one", "c", Timestamp(1_000), &ports));
    let journal = Journal::read(&journal_path("src/a"), state::MAX_BYTES, &ports).unwrap();
    assert_eq!(journal.lines().count(), 2);
}

/// Of two calls under way of one session, one ends or is refused: the session still writes with the other.
#[test]
fn a_session_holds_a_lease_until_all_of_its_calls_have_released_it() {
    let world = Memory::new();
    let ports = world.ports();
    let now = Timestamp(1_000);
    let call = |call: &str| Lease::new("src/a", "one", call, "write", now);
    for (first, second) in [("c", "d"), ("d", "c")] {
        call("c").take(now, &ports).unwrap();
        call("d").take(now, &ports).unwrap();
        // A call that is reported twice holds it once.
        call("c").take(now, &ports).unwrap();
        release("src/a", "one", first, &ports);
        assert!(matches!(lease("two", 1_000).take(now, &ports), Err(LeaseDenial::Held(held)) if held.call == second));
        assert!(is_held_by("src/a", "one", now, &ports) && is_held_by_another_call("src/a", "one", first, now, &ports));
        assert!(!is_held_by_another_call("src/a", "one", second, now, &ports));
        release("src/a", "one", second, &ports);
        assert!(!is_held_by("src/a", "one", now, &ports));
        assert!(lease("two", 1_000).take(now, &ports).is_ok());
        release("src/a", "two", "c", &ports);
    }
}

#[test]
fn a_journal_that_is_cut_down_keeps_the_leases_of_all_calls() {
    let world = Memory::new();
    let ports = world.ports();
    Lease::new("src/a", "one", "first", "write", Timestamp(1_000)).take(Timestamp(1_000), &ports).unwrap();
    for now in 1_000..1_100 {
        Lease::new("src/a", "one", "second", "write", Timestamp(now)).take(Timestamp(now), &ports).unwrap();
    }
    assert!(length(&world) < LONG_BYTES + 500);
    release("src/a", "one", "second", &ports);
    assert!(is_held_by("src/a", "one", Timestamp(1_100), &ports));
}

fn length(world: &Memory) -> usize {
    world.content(&format!("{STATE}/{}", journal_path("src/a"))).unwrap().len()
}

/// The holder does not look at the journal while its call runs, however often others ask.
#[test]
fn a_session_that_is_refused_again_and_again_does_not_make_the_journal_too_long_to_read() {
    let world = Memory::new();
    let ports = world.ports();
    lease("one", 1_000).take(Timestamp(1_000), &ports).unwrap();
    let mut longest = 0;
    for now in 1_000..3_000 {
        assert!(matches!(lease("two", now).take(Timestamp(now), &ports), Err(LeaseDenial::Held(held)) if held.session == "one"));
        longest = longest.max(length(&world));
    }
    assert!(longest > LONG_BYTES && longest < TOO_LONG_BYTES + 500, "{longest}");
    release("src/a", "one", "c", &ports);
    assert!(lease("two", 3_000).take(Timestamp(3_000), &ports).is_ok());
}

/// It may have grown before there was a limit.
#[test]
fn a_journal_that_is_too_long_to_read_still_says_who_holds_the_lease() {
    let limit = usize::try_from(state::MAX_BYTES).unwrap();
    let world = Memory::new();
    let ports = world.ports();
    let append = |text: &str| ports.records.append(Root::State, &journal_path("src/a"), text.as_bytes()).unwrap();
    append(&"x\n".repeat(limit / 2));
    append(&format!("\n{}\n", lease("one", 1_000).line()));
    append(&"x\n".repeat(limit / 2 - 200));
    assert!(length(&world) > limit && is_held_by("src/a", "one", Timestamp(1_000), &ports));
    assert!(matches!(lease("two", 1_000).take(Timestamp(1_000), &ports), Err(LeaseDenial::Held(held)) if held.session == "one"));
    assert!(length(&world) < 500, "it is cut down");
    assert!(lease("one", 1_001).take(Timestamp(1_001), &ports).is_ok());
    assert!(matches!(lease("two", 1_001).take(Timestamp(1_001), &ports), Err(LeaseDenial::Held(_))));
}

#[test]
fn journals_that_nobody_uses_are_removed() {
    let world = Memory::new();
    let ports = world.ports();
    let take = |name: String| Lease::new(&name, "one", "c", "write", ports.clock.now()).take(ports.clock.now(), &ports).unwrap();
    (0..MANY).for_each(|number| take(format!("src/{number}")));
    sweep(ports.clock.now(), &ports);
    assert_eq!(world.count(&format!("{STATE}/{FOLDER}")), MANY);
    world.pass(UNUSED_MS + 1);
    take("src/0".to_owned());
    sweep(ports.clock.now(), &ports);
    assert_eq!(world.count(&format!("{STATE}/{FOLDER}")), 1);
}

proptest! {
    /// A sequence of takes and returns by three sessions gives the lease to those that a lock with a time limit would.
    #[test]
    fn it_is_a_lock_with_a_time_limit(steps in prop::collection::vec((0..3usize, 0..2u8, 0..40_000u64), 1..60)) {
        let ports = Memory::new().ports();
        let names = ["one", "two", "three"];
        let (mut now, mut held): (u64, Option<(usize, u64)>) = (1_000_000, None);
        for (who, what, later) in steps {
            now += later;
            let is_free = held.is_none_or(|(holder, until)| holder == who || until < now);
            if what == 0 {
                prop_assert_eq!(lease(names[who], now).take(Timestamp(now), &ports).is_ok(), is_free);
                if is_free {
                    held = Some((who, now + MAX_MS));
                }
            } else {
                release("src/a", names[who], "c", &ports);
                held = held.filter(|(holder, _)| *holder != who);
            }
        }
    }
}
