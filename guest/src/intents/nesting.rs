//! How deep brackets stand in brackets, before the YAML parser looks.
//!
//! The parser takes as long as the tokens times the depth, which for a few kilobytes of `[` is minutes. This goes over the
//! text once, and may say too much but never too little: where a `[` in front of a word may open a list or be part of a text,
//! both are followed.

/// Deeper than anybody writes.
const DEEPEST: usize = 64;

/// Where the parser stands inside brackets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Plain,
    PlainBlank,
    PlainColon,
    Anchor,
    TagBegins,
    Tag,
    TagUri,
    Double,
    Escaped,
    Single,
    SingleQuote,
    Comment,
}

/// The offset of the bracket that is one too deep.
pub(super) fn too_deep(text: &str) -> Option<usize> {
    let opens = |byte: &u8| matches!(byte, b'[' | b'{');
    if text.bytes().filter(opens).count() <= DEEPEST {
        return None;
    }
    // Where the parser may stand, each state once with the greatest depth.
    let mut known: Vec<(State, usize)> = Vec::new();
    let mut next: Vec<(State, usize)> = Vec::new();
    let mut line = Line::default();
    for (offset, c) in text.char_indices() {
        let mut reach = |state: State, depth: usize| match next.iter_mut().find(|(other, _)| *other == state) {
            Some((_, known)) => *known = depth.max(*known),
            None if depth > 0 => next.push((state, depth)),
            None => {}
        };
        for (state, depth) in known.drain(..) {
            match (state.after(c), c) {
                (State::Start, '[' | '{') if depth == DEEPEST => return Some(offset),
                (State::Start, '[' | '{') => reach(State::Start, depth + 1),
                (State::Start, ']' | '}') => reach(State::Start, depth - 1),
                (after, _) => reach(after, depth),
            }
        }
        if matches!(c, '[' | '{') && line.a_value_may_begin() {
            reach(State::Start, 1);
        }
        line.goes_on(c);
        std::mem::swap(&mut known, &mut next);
    }
    None
}

/// What stands before a character, outside of brackets.
#[derive(Default)]
struct Line {
    /// The first and the last character of the last word in the line.
    word: Option<(char, char)>,
    in_word: bool,
}

impl Line {
    /// At the line's begin, behind `- `, `? ` and `: `, and behind an anchor or a tag.
    fn a_value_may_begin(&self) -> bool {
        !self.in_word && matches!(self.word, None | Some((_, '-' | '?' | ':') | ('&' | '!', _)))
    }

    fn goes_on(&mut self, c: char) {
        match c {
            // The mark that begins some files is passed over.
            ' ' | '\t' | '\u{feff}' => self.in_word = false,
            c if is_blank(c) => *self = Self::default(),
            c => {
                let first = self.word.filter(|_| self.in_word).map_or(c, |(first, _)| first);
                *self = Self { word: Some((first, c)), in_word: true };
            }
        }
    }
}

impl State {
    /// A bracket leads to the start of what follows wherever it is one, and not a part of a text.
    fn after(self, c: char) -> Self {
        match (self, c) {
            (Self::Start, c) => begin(c),
            (Self::Plain | Self::PlainBlank | Self::PlainColon, ',' | '[' | ']' | '{' | '}') => Self::Start,
            (Self::PlainBlank, '#') => Self::Comment,
            (Self::PlainColon, c) if is_blank(c) => Self::Start,
            (Self::Plain | Self::PlainBlank, c) if is_blank(c) => Self::PlainBlank,
            (Self::Plain | Self::PlainBlank | Self::PlainColon, ':') => Self::PlainColon,
            (Self::Plain | Self::PlainBlank | Self::PlainColon, _) => Self::Plain,
            (Self::Anchor, c) if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') => Self::Anchor,
            (Self::Anchor, c) => begin(c),
            (Self::TagBegins, '<') => Self::TagUri,
            (Self::TagUri, '>') => Self::Tag,
            (Self::TagBegins | Self::Tag, ',') => Self::Start,
            (Self::TagBegins | Self::Tag | Self::TagUri, c) if is_blank(c) => Self::Start,
            (Self::TagBegins | Self::Tag, _) => Self::Tag,
            (Self::TagUri, _) => Self::TagUri,
            (Self::Double, '"') => Self::Start,
            (Self::Double, '\\') => Self::Escaped,
            (Self::Double | Self::Escaped, _) => Self::Double,
            (Self::Single, '\'') => Self::SingleQuote,
            (Self::Single, _) | (Self::SingleQuote, '\'') => Self::Single,
            (Self::SingleQuote, c) => begin(c),
            (Self::Comment, c) if is_blank(c) && !matches!(c, ' ' | '\t') => Self::Start,
            (Self::Comment, _) => Self::Comment,
        }
    }
}

/// What begins with a character.
fn begin(c: char) -> State {
    match c {
        '"' => State::Double,
        '\'' => State::Single,
        '#' => State::Comment,
        '&' | '*' => State::Anchor,
        '!' => State::TagBegins,
        '[' | ']' | '{' | '}' | ',' | '?' | ':' => State::Start,
        c if is_blank(c) => State::Start,
        _ => State::Plain,
    }
}

/// A blank, or what ends a line for the parser.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use serde_yaml::Value;

    use super::*;

    #[test]
    fn what_is_too_deep() {
        let deep = |unit: &str| unit.repeat(65);
        for (text, expected) in [
            (deep("["), true),
            ("[".repeat(64), false),
            (deep("{a: "), true),
            (format!("a: {}", deep("[")), true),
            (format!("- x\n  y: [{}", deep("{\"]\": ")), true),
            (deep("[ ']', "), true),
            (deep("[ ''']', "), true),
            (deep("[ \"\\\"]\", "), true),
            (deep("[ #]\u{2028} "), true),
            (deep("[ a #]\n "), true),
            (deep("[ !<]> "), true),
            (deep("[ !x,"), true),
            (deep("[ &a "), true),
            (format!("\u{feff}{}", deep("[")), true),
            (format!("--- {}", deep("[")), true),
            (format!("a: &x !y  {}", deep("[")), true),
            (format!("? - {}", deep("[")), true),
            (format!("a: b\n  \"[\nc: {}", deep("[")), true),
            (deep("[a], "), false),
            (deep("- {id: 'A]', name: \"it's {\", x: [a, {b: c}]} # it's [x]\n"), false),
            (deep("- it's a[0] - x[\n"), false),
            (deep("- 'don''t ['\n"), false),
            (deep("a["), false),
        ] {
            assert_eq!(too_deep(&text).is_some(), expected, "{}", text.chars().take(60).collect::<String>());
        }
    }

    /// What the parser really finds is never deeper than what is told here.
    #[test]
    fn never_too_little() {
        const PIECES: [&str; 24] = [
            "[", "[", "{", "{a: ", "]", "}", ",", ", ", ": ", ":", "'", "\"", "\\", " #", "#", "\n", "a", "-", "? ", "!<]> ",
            "&b ", "''", " ", "\u{2028}",
        ];
        // A map in a list needs no braces, so only lists count.
        let depth = |value: &Value| {
            let (mut deepest, mut open) = (0, vec![(value, 0)]);
            while let Some((value, depth)) = open.pop() {
                match value {
                    Value::Sequence(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
                    Value::Mapping(fields) => open.extend(fields.iter().flat_map(|(key, value)| [(key, depth), (value, depth)])),
                    _ => {}
                }
                deepest = deepest.max(depth + usize::from(value.is_sequence()));
            }
            deepest
        };
        let mut seed: u64 = 7;
        let mut below = |most: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(seed >> 33).unwrap() % most
        };
        let mut parsed = 0;
        for _ in 0..200_000 {
            let pieces: String = (0..below(14)).map(|_| PIECES[below(PIECES.len())]).collect();
            let text = format!("[{pieces}]");
            let Ok(value) = serde_yaml::from_str::<Value>(&text) else { continue };
            parsed += 1;
            // With this many around it, the text is one level too deep.
            let frame = DEEPEST + 1 - depth(&value);
            let framed = format!("{}{text}", "[".repeat(frame));
            assert!(too_deep(&framed).is_some(), "{text:?} is {} deep", depth(&value));
        }
        assert!(parsed > 5_000, "{parsed}");
    }
}
