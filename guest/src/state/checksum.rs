//! Checksums of files in the state folder.

/// A checksum. It detects accidents, not attacks: whoever can write here can also write a checksum.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(FACTOR).rotate_left(29);
    let mut words = bytes.chunks_exact(8);
    let mut sum = words.by_ref().fold(bytes.len() as u64 ^ FACTOR, |sum, word| {
        mix(sum, u64::from_le_bytes(<[u8; 8]>::try_from(word).unwrap_or_default()))
    });
    sum = words.remainder().iter().fold(sum, |sum, byte| mix(sum, u64::from(*byte)));
    (sum ^ (sum >> 32)).wrapping_mul(FACTOR)
}
