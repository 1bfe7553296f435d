//! Devices that programs write to and that keep nothing, and what they share memory through.

use super::grant::{Grant, Kind};
use super::opening::Opening;

const DEVICES: &[(&str, Kind, &str)] = &[
    ("/dev/null", Kind::File, "it stores nothing"),
    ("/dev/zero", Kind::File, "it stores nothing"),
    ("/dev/full", Kind::File, "it stores nothing"),
    ("/dev/random", Kind::File, "programs add entropy to it"),
    ("/dev/urandom", Kind::File, "programs add entropy to it"),
    ("/dev/tty", Kind::File, "the terminal that the command runs in"),
    ("/dev/ptmx", Kind::File, "terminals that the command opens"),
    ("/dev/pts", Kind::Tree, "terminals that the command opens"),
    ("/dev/shm", Kind::Tree, "processes share memory through it"),
];

/// Opens them. Hosts leave out what a system does not have.
pub(super) fn open(opening: &mut Opening<'_>) {
    for (path, kind, why) in DEVICES {
        if opening.is_free(path) {
            opening.grant(Grant::new(*path, *kind, why));
        }
    }
}
