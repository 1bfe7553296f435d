//! Conversions between the gate's types for files and the types that are generated from `wit/`.
//!
//! The component and the hosts each generate their own types from the contract. [`contract_conversions`](crate::contract_conversions)
//! defines the same functions for all of them.

/// Defines functions that convert between [`ports`](crate::ports) and the generated modules `workspace` and `records`.
#[macro_export]
macro_rules! contract_conversions {
    ($workspace:ident, $records:ident) => {
        fn root(root: $crate::ports::Root) -> $workspace::Root {
            match root {
                $crate::ports::Root::Project => $workspace::Root::Project,
                $crate::ports::Root::Home => $workspace::Root::Home,
                $crate::ports::Root::State => $workspace::Root::State,
            }
        }

        fn question(question: &$crate::ports::Question) -> $workspace::Question {
            $workspace::Question { root: root(question.root), path: question.path.clone(), digest: question.digest }
        }

        fn kind(kind: $workspace::Kind) -> $crate::ports::FileKind {
            match kind {
                $workspace::Kind::Missing => $crate::ports::FileKind::Missing,
                $workspace::Kind::File => $crate::ports::FileKind::File,
                $workspace::Kind::Directory => $crate::ports::FileKind::Directory,
                $workspace::Kind::Other => $crate::ports::FileKind::Other,
                $workspace::Kind::Unreadable => $crate::ports::FileKind::Unreadable,
            }
        }

        fn identity(marks: $workspace::Marks) -> u64 {
            $crate::ports::marks::identity(marks.device, marks.inode)
        }

        fn stamp(marks: $workspace::Marks, size: u64) -> u64 {
            $crate::ports::marks::stamp(marks.device, marks.inode, marks.changed_ns, marks.modified_ns, size)
        }

        fn facts(facts: $workspace::Facts) -> $crate::ports::Facts {
            $crate::ports::Facts {
                kind: kind(facts.kind),
                real_path: facts.real_path,
                entry_path: facts.entry_path,
                link: facts.link,
                hard_links: facts.hard_links,
                identity: identity(facts.marks),
                stamp: stamp(facts.marks, facts.size),
                changed_ms: $crate::ports::marks::changed_ms(facts.marks.changed_ns, facts.marks.modified_ns),
                size: facts.size,
                digest: facts.digest.and_then(|digest| digest.parse().ok()),
            }
        }

        fn tail(tail: $workspace::Tail) -> $crate::ports::Tail {
            $crate::ports::Tail { offset: tail.offset, bytes: tail.bytes }
        }

        fn reach(limits: &$crate::ports::ListingLimits) -> $workspace::Reach {
            $workspace::Reach { depth: limits.depth, limit: limits.limit, skip: limits.skip.clone() }
        }

        fn listing(listing: $workspace::Listing) -> $crate::ports::Listing {
            let entry = |entry: $workspace::Entry| $crate::ports::DirEntry {
                path: entry.path,
                kind: kind(entry.kind),
                link: entry.link,
                hard_links: entry.hard_links,
                identity: identity(entry.marks),
                stamp: stamp(entry.marks, entry.size),
                changed_ms: $crate::ports::marks::changed_ms(entry.marks.changed_ns, entry.marks.modified_ns),
                size: entry.size,
            };
            $crate::ports::Listing {
                entries: listing.entries.into_iter().map(entry).collect(),
                truncated: listing.truncated,
                unseen: listing.unseen,
            }
        }

        fn expectation(expected: $crate::ports::Expectation) -> $records::Expectation {
            match expected {
                $crate::ports::Expectation::Anything => $records::Expectation::Anything,
                $crate::ports::Expectation::Absent => $records::Expectation::Absent,
                $crate::ports::Expectation::Digest(digest) => $records::Expectation::Digest(digest.to_string()),
            }
        }

        fn fault(fault: $workspace::Fault) -> $crate::ports::FileFault {
            match fault {
                $workspace::Fault::Denied => $crate::ports::FileFault::Denied,
                $workspace::Fault::Missing => $crate::ports::FileFault::Missing,
                $workspace::Fault::Exists => $crate::ports::FileFault::Exists,
                $workspace::Fault::Changed => $crate::ports::FileFault::Changed,
                $workspace::Fault::TooLarge => $crate::ports::FileFault::TooLarge,
                $workspace::Fault::Busy => $crate::ports::FileFault::Busy,
                $workspace::Fault::Full => $crate::ports::FileFault::Full,
                $workspace::Fault::Other => $crate::ports::FileFault::Other,
            }
        }
    };
}
