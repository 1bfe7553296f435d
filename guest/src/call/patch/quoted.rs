//! Parses file names in diffs: plain, or quoted as git quotes them.

/// A name at the start of a text, and the text after it.
pub(super) struct ParsedName<'a> {
    pub(super) text: String,
    pub(super) rest: &'a str,
}

/// Reads a name in double quotes with C escapes, including octal ones. `None` if it is not closed or not UTF-8.
pub(super) fn unquote(text: &str) -> Option<ParsedName<'_>> {
    let inside = text.strip_prefix('"')?;
    let mut bytes = Vec::new();
    let mut at = inside.chars();
    loop {
        match at.next()? {
            '"' => return Some(ParsedName { text: String::from_utf8(bytes).ok()?, rest: at.as_str() }),
            '\\' => bytes.push(match at.next()? {
                'a' => 7,
                'b' => 8,
                't' => b'\t',
                'n' => b'\n',
                'v' => 11,
                'f' => 12,
                'r' => b'\r',
                '"' => b'"',
                '\\' => b'\\',
                digit => {
                    let mut value = digit.to_digit(8)?;
                    for _ in 0..2 {
                        value = value * 8 + at.next()?.to_digit(8)?;
                    }
                    u8::try_from(value).ok()?
                }
            }),
            c => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// The name after `--- ` or `+++ `: quoted, or up to a tab or a date.
pub(super) fn header_name(text: &str) -> Option<String> {
    if text.starts_with('"') {
        return unquote(text).map(|name| name.text);
    }
    let name = text.split('\t').next().unwrap_or(text);
    Some(before_date(name).trim_end().to_owned())
}

/// The name without a date; some tools separate the date with a blank instead of a tab.
pub(super) fn before_date(name: &str) -> &str {
    let is_date = |word: &str| {
        let digits = |part: &str, length: usize| part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
        matches!(word.split('-').collect::<Vec<_>>()[..], [year, month, day] if digits(year, 4) && digits(month, 2) && digits(day, 2))
    };
    let mut end = 0;
    for word in name.split(' ') {
        if end > 0 && is_date(word) {
            return name.get(..end - 1).unwrap_or(name);
        }
        end += word.len() + 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (text, expected) in [
            ("a/x", Some("a/x")),
            ("a/x y\t2026-01-01 00:00:00", Some("a/x y")),
            ("a/x 2026-01-01 00:00:00.0 +0000", Some("a/x")),
            (r#""a/\303\244 \"q\".txt""#, Some("a/ä \"q\".txt")),
            (r#""a/\377""#, None),
            (r#""a/x"#, None),
            (r#""a/\9""#, None),
            (r#""a/\777""#, None),
        ] {
            assert_eq!(header_name(text).as_deref(), expected, "{text}");
        }
    }
}
