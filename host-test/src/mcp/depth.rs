//! Limits the nesting depth of messages to what the client can read.

use std::borrow::Cow;

/// Values that are nested deeper are replaced. The client reads 128 levels, the first of which belong to the message itself.
const MAX_DEPTH: usize = 100;

/// Stands in for such a value, so that the error is about the value and not about a message that never arrived.
const REPLACEMENT: &[u8] = b"\"(nested too deeply)\"";

/// Replaces objects and arrays of a JSON text that are nested too deeply with a string. The rest stays as it is.
pub(super) fn limit_depth(text: &[u8]) -> Cow<'_, [u8]> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut limited: Option<Vec<u8>> = None;
    for (at, byte) in text.iter().copied().enumerate() {
        let before = depth;
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if before == MAX_DEPTH && depth > MAX_DEPTH {
            limited.get_or_insert_with(|| text.get(..at).unwrap_or_default().to_vec()).extend_from_slice(REPLACEMENT);
        } else if before <= MAX_DEPTH
            && let Some(limited) = &mut limited
        {
            limited.push(byte);
        }
    }
    limited.map_or(Cow::Borrowed(text), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_too_deep_is_replaced() {
        for text in ["", "{}", r#"{"a":[1,"[[[{\"",{}]}"#, "[[", "]]", &"[".repeat(MAX_DEPTH)] {
            assert_eq!(limit_depth(text.as_bytes()), text.as_bytes(), "{text}");
        }
        let nested = |inner: &str, levels: usize| format!("{}{inner}{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
        let deep = format!(r#"[{},"beside"]"#, nested(r#"[1,"]",{"b":2}]"#, MAX_DEPTH - 1));
        let limited = format!(r#"[{},"beside"]"#, nested(r#""(nested too deeply)""#, MAX_DEPTH - 1));
        assert_eq!(String::from_utf8(limit_depth(deep.as_bytes()).into_owned()).unwrap(), limited);
        let endless = nested("1", 100_000);
        assert!(serde_json::from_slice::<serde_json::Value>(&limit_depth(endless.as_bytes())).is_ok());
    }
}
