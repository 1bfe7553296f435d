//! Opens devices that store nothing, terminals, and the folder through which processes share memory.

use super::grant::{Grant, GrantKind};
use super::opening::GrantCollector;

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

/// Opens the devices. Hosts leave out those that a system does not have.
pub(super) fn open(opening: &mut GrantCollector<'_>) {
    for (path, kind, why) in DEVICES {
        if opening.is_free(path) {
            opening.grant(Grant::new(*path, *kind, why));
        }
    }
}
