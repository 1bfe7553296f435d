//! Devices that programs write to and that keep nothing, and what they share memory through.

use super::grant::{Grant, GrantKind};
use super::opening::Opening;

const DEVICES: &[(&str, GrantKind, &str)] = &[
    ("/dev/null", GrantKind::File, "it stores nothing"),
    ("/dev/zero", GrantKind::File, "it stores nothing"),
    ("/dev/full", GrantKind::File, "it stores nothing"),
    ("/dev/random", GrantKind::File, "programs add entropy to it"),
    ("/dev/urandom", GrantKind::File, "programs add entropy to it"),
    ("/dev/tty", GrantKind::File, "the terminal that the command runs in"),
    ("/dev/ptmx", GrantKind::File, "terminals that the command opens"),
    ("/dev/pts", GrantKind::Tree, "terminals that the command opens"),
    ("/dev/shm", GrantKind::Tree, "processes share memory through it"),
];

/// Opens them. Hosts leave out what a system does not have.
pub(super) fn open(opening: &mut Opening<'_>) {
    for (path, kind, why) in DEVICES {
        if opening.is_free(path) {
            opening.grant(Grant::new(*path, *kind, why));
        }
    }
}
