//! Brace expansion: `{a,b}` and `{1..5}`, before anything else is expanded.

use super::scan;

/// More words than this from one are refused.
const MOST_WORDS: usize = 256;

/// The words that a word stands for; none where there are too many, or where it cannot be read.
pub(super) fn expand(raw: &str) -> Option<Vec<String>> {
    if !raw.contains('{') {
        return Some(vec![raw.to_owned()]);
    }
    let chars: Vec<char> = raw.chars().collect();
    let mut done = Vec::new();
    each(&chars, String::new(), &mut done, 0)?;
    Some(done)
}

/// Expands the first brace expression and goes on with every choice.
fn each(chars: &[char], head: String, done: &mut Vec<String>, depth: usize) -> Option<()> {
    if depth > scan::MOST_DEPTH || done.len() > MOST_WORDS {
        return None;
    }
    let mut at = 0;
    while at < chars.len() {
        if chars.get(at) == Some(&'{')
            && let Some((choices, after)) = choices(chars, at)?
        {
            let head: String = head.chars().chain(chars.get(..at)?.iter().copied()).collect();
            for choice in choices {
                let rest: Vec<char> = choice.chars().chain(chars.get(after..)?.iter().copied()).collect();
                each(&rest, head.clone(), done, depth + 1)?;
            }
            return Some(());
        }
        at = scan::piece_end(chars, at, 0).ok()?;
    }
    done.push(head + &chars.iter().collect::<String>());
    (done.len() <= MOST_WORDS).then_some(())
}

/// The choices of the brace expression that opens here, and where it ends; inner none where it is plain text.
#[allow(clippy::type_complexity)]
fn choices(chars: &[char], open: usize) -> Option<Option<(Vec<String>, usize)>> {
    let (mut at, mut depth, mut start) = (open + 1, 0usize, open + 1);
    let mut parts: Vec<String> = Vec::new();
    let text = |from: usize, to: usize| -> Option<String> { Some(chars.get(from..to)?.iter().collect()) };
    while let Some(c) = chars.get(at) {
        match c {
            '{' => depth += 1,
            ',' if depth == 0 => {
                parts.push(text(start, at)?);
                start = at + 1;
            }
            '}' if depth == 0 => {
                let last = text(start, at)?;
                if parts.is_empty() {
                    return Some(sequence(&last)?.map(|words| (words, at + 1)));
                }
                parts.push(last);
                return Some(Some((parts, at + 1)));
            }
            '}' => depth -= 1,
            _ => {}
        }
        at = scan::piece_end(chars, at, 0).ok()?;
    }
    Some(None)
}

/// `1..5`, `a..e`, with a step.
fn sequence(inner: &str) -> Option<Option<Vec<String>>> {
    let parts: Vec<&str> = inner.split("..").collect();
    let (from, to, step) = match parts.as_slice() {
        [from, to] => (*from, *to, "1"),
        [from, to, step] => (*from, *to, *step),
        _ => return Some(None),
    };
    let Ok(step) = step.parse::<i64>() else { return Some(None) };
    let width = if [from, to].iter().any(|end| end.trim_start_matches('-').starts_with('0') && end.len() > 1) {
        from.len().max(to.len())
    } else {
        0
    };
    let letter = |text: &str| {
        let mut chars = text.chars();
        chars.next().filter(|c| chars.next().is_none() && c.is_ascii_alphabetic())
    };
    let (from, to, letters) = match (from.parse::<i64>(), to.parse::<i64>(), letter(from), letter(to)) {
        (Ok(from), Ok(to), ..) => (from, to, false),
        (_, _, Some(from), Some(to)) => (i64::from(u32::from(from)), i64::from(u32::from(to)), true),
        _ => return Some(None),
    };
    let step = step.checked_abs()?.max(1);
    let count = from.checked_sub(to)?.checked_abs()? / step;
    if count >= MOST_WORDS as i64 {
        return None;
    }
    let value = |nth: i64| if from <= to { from + nth * step } else { from - nth * step };
    let written = |value: i64| {
        if letters {
            u32::try_from(value).ok().and_then(char::from_u32).map(String::from).unwrap_or_default()
        } else {
            format!("{value:0width$}")
        }
    };
    Some(Some((0..=count).map(|nth| written(value(nth))).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces() {
        for (raw, words) in [
            ("a", "a"),
            ("{a,b}", "a b"),
            ("x{a,b}y", "xay xby"),
            ("{a,{b,c}}d", "ad bd cd"),
            ("{a,b}{1,2}", "a1 a2 b1 b2"),
            ("{1..3}", "1 2 3"),
            ("{3..1}", "3 2 1"),
            ("{01..03}", "01 02 03"),
            ("{a..c}", "a b c"),
            ("{1..10..5}", "1 6"),
            ("{}", "{}"),
            ("{a}", "{a}"),
            ("${a,b}", "${a,b}"),
            ("'{a,b}'", "'{a,b}'"),
            ("{a,'b,c'}", "a 'b,c'"),
            ("{,.bak}", " .bak"),
            ("{1..99999999999999999999}", "{1..99999999999999999999}"),
        ] {
            assert_eq!(expand(raw).unwrap().join(" "), words, "{raw}");
        }
        assert_eq!(expand("{1..1000}"), None);
        assert_eq!(expand("{-9223372036854775808..9223372036854775807}"), None);
        assert_eq!(expand(&"{a,b}".repeat(20)), None);
    }
}
