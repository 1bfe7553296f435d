//! Identifies files and their versions by what the operating system reports about them.
//!
//! The values are mixed only here, so that two hosts on one workspace agree about what has changed.

/// The same for all names of one file, and for no other file; 0 if the system does not report it.
pub fn identity(device: u64, inode: u64) -> u64 {
    if inode == 0 { 0 } else { mix(&[device, inode]) }
}

/// Changes whenever the content may have changed; 0 if nothing is there. The change time is part of it because it cannot be set
/// back, and the inode because a file can be put in another's place within one tick of a coarse clock.
pub fn stamp(device: u64, inode: u64, changed_ns: i64, modified_ns: i64, size: u64) -> u64 {
    if (inode, changed_ns, modified_ns) == (0, 0, 0) {
        return 0;
    }
    mix(&[device, inode, changed_ns.cast_unsigned(), modified_ns.cast_unsigned(), size])
}

/// When a file last changed in any way, in milliseconds since 1970; 0 if the system does not report it. A modification time alone
/// does not count, because programs set it.
pub fn changed_ms(changed_ns: i64, modified_ns: i64) -> u64 {
    if changed_ns <= 0 { 0 } else { changed_ns.max(modified_ns).cast_unsigned() / 1_000_000 }
}

/// Mixes values into a number that changes with any of them, and is never 0.
fn mix(values: &[u64]) -> u64 {
    let mixed = values.iter().fold(0xcbf2_9ce4_8422_2325_u64, |mixed, value| {
        let turned = (mixed ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        turned ^ (turned >> 29)
    });
    mixed.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_counts() {
        let one = stamp(1, 2, 3, 4, 5);
        for other in
            [stamp(9, 2, 3, 4, 5), stamp(1, 9, 3, 4, 5), stamp(1, 2, 9, 4, 5), stamp(1, 2, 3, 9, 5), stamp(1, 2, 3, 4, 9)]
        {
            assert_ne!(one, other);
        }
        assert_eq!(stamp(0, 0, 0, 0, 0), 0, "nothing stands there");
        for (changed_ns, modified_ns, changed) in
            [(5_000_000, 1, 5), (5_000_000, 7_999_999, 7), (0, 7_000_000, 0), (-1, 7_000_000, 0), (1, i64::MIN, 0)]
        {
            assert_eq!(changed_ms(changed_ns, modified_ns), changed);
        }
        assert_ne!(identity(1, 2), identity(2, 1));
        assert_eq!(identity(1, 0), 0);
    }
}
