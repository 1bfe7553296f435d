//! SHA-256 content hashes.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

/// The SHA-256 digest of some content; prints as `sha256:` and 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Hashes content that is already in memory. Files are hashed by the host, which is five times as fast.
    pub fn of(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }

    /// A digest that was made elsewhere.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first half of the bytes: enough to recognize the digest among many.
    pub fn short(&self) -> [u8; 16] {
        let mut short = [0; 16];
        short.iter_mut().zip(self.0).for_each(|(to, from)| *to = from);
        short
    }

    /// The hex digits alone.
    pub fn hex(&self) -> String {
        hex_digits(&self.0)
    }

    /// The first twelve hex digits: enough for a person to tell two versions of a file apart.
    pub fn brief(&self) -> String {
        hex_digits(self.0.first_chunk::<6>().map_or(&[], |bytes| bytes.as_slice()))
    }

    /// The first half of the hex digits: enough for a file name without deliberate collisions.
    pub fn short_hex(&self) -> String {
        hex_digits(&self.short())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = [0; 64];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&hex_pair(byte));
        }
        out.write_str("sha256:")?;
        out.write_str(std::str::from_utf8(&digits).unwrap_or_default())
    }
}

/// Two hex digits for each byte. Formatting them one by one takes ten times as long, and a snapshot prints thousands of digests.
fn hex_digits(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    digits.extend(bytes.iter().flat_map(|byte| hex_pair(*byte)).map(char::from));
    digits
}

fn hex_pair(byte: u8) -> [u8; 2] {
    [byte >> 4, byte & 15].map(|value| if value < 10 { b'0' + value } else { b'a' + (value - 10) })
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// A text that is not a digest.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a digest: expected `sha256:` and 64 lower-case hex digits")]
pub struct InvalidDigest(String);

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let parse = || {
            let hex = text.strip_prefix("sha256:")?.as_bytes();
            let mut bytes = [0u8; 32];
            if hex.len() != 64 {
                return None;
            }
            for (byte, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
                for digit in pair {
                    let value = match digit {
                        b'0'..=b'9' => digit - b'0',
                        b'a'..=b'f' => digit - b'a' + 10,
                        _ => return None,
                    };
                    *byte = *byte << 4 | value;
                }
            }
            Some(Self(bytes))
        };
        parse().ok_or_else(|| InvalidDigest(text.to_owned()))
    }
}

impl serde::Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_has_a_digest_of_its_own() {
        let text = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").to_string(), text);
        assert_eq!(text.parse::<Digest>().unwrap(), Digest::of(b""));
    }

    #[test]
    fn invalid_digests_are_named() {
        for text in ["", "sha256:", "e3b0", "sha256:E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855"] {
            let fault = text.parse::<Digest>().unwrap_err().to_string();
            assert!(fault.contains(&format!("`{text}`")), "{fault}");
        }
    }

    #[test]
    fn digits_of_every_byte() {
        for byte in 0..=255_u8 {
            let (digest, pair) = (Digest([byte; 32]), format!("{byte:02x}"));
            assert_eq!(digest.to_string(), format!("sha256:{}", pair.repeat(32)));
            assert_eq!((digest.hex(), digest.short_hex(), digest.brief()), (pair.repeat(32), pair.repeat(16), pair.repeat(6)));
            assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
        }
    }
}
