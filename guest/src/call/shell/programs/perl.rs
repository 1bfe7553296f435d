//! Perl's one-line programs: the few that can be read, and the rest.

/// Whether a program only substitutes, transliterates and prints.
pub(super) fn is_plain(code: &str) -> bool {
    let mut rest = code.trim();
    while !rest.is_empty() {
        match statement(rest) {
            Some(after) => rest = after.trim_start_matches(|c: char| c == ';' || c.is_whitespace()),
            None => return false,
        }
    }
    true
}

/// Past one statement that can be read.
fn statement(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let after = if let Some(after) =
        text.strip_prefix("print").or_else(|| text.strip_prefix("next")).or_else(|| text.strip_prefix("chomp"))
    {
        after
    } else if let Some(after) = text.strip_prefix("tr").or_else(|| text.strip_prefix('y')) {
        let (_, after) = quoted(after)?;
        flags(after, "cdsr")?
    } else {
        let after = text.strip_prefix('s')?;
        let (parts, after) = quoted(after)?;
        // `@{[…]}`, `$(…)` and code blocks in a pattern run code.
        if parts.iter().any(|part| part.contains("@{") || part.contains("${") || part.contains("(?{") || part.contains("(??{")) {
            return None;
        }
        flags(after, "gimsxornaul")?
    };
    let after = after.trim_start();
    let condition = after.strip_prefix("if").or_else(|| after.strip_prefix("unless"));
    let after = match condition {
        None => after,
        Some(condition) => {
            let condition = condition.trim_start().trim_start_matches('!');
            let (end, pattern) = delimited(condition.strip_prefix('/')?, '/', '/')?;
            if pattern.contains("(?{") || pattern.contains("(??{") || pattern.contains("@{") {
                return None;
            }
            end.trim_start_matches(|c: char| c.is_ascii_alphabetic()).trim_start()
        }
    };
    (after.is_empty() || after.starts_with(';')).then_some(after)
}

/// The two parts between delimiters, and what follows.
fn quoted(text: &str) -> Option<(Vec<String>, &str)> {
    let open = text.chars().next().filter(|c| !c.is_alphanumeric() && !c.is_whitespace() && *c != '_' && *c != '\'')?;
    let close = match open {
        '{' => '}',
        '(' => ')',
        '[' => ']',
        '<' => '>',
        same => same,
    };
    let (after, first) = delimited(text.get(open.len_utf8()..)?, open, close)?;
    let after = if open == close { after } else { after.trim_start().strip_prefix(open)? };
    let (after, second) = delimited(after, open, close)?;
    Some((vec![first, second], after))
}

/// Past the closing delimiter, and what stood before it.
fn delimited(text: &str, open: char, close: char) -> Option<(&str, String)> {
    let (mut depth, mut inside) = (0usize, String::new());
    let mut rest = text.chars();
    loop {
        let c = rest.next()?;
        match c {
            '\\' => {
                inside.push(c);
                inside.extend(rest.next());
                continue;
            }
            c if c == close && depth == 0 => return Some((rest.as_str(), inside)),
            c if c == close => depth -= 1,
            c if c == open && open != close => depth += 1,
            _ => {}
        }
        inside.push(c);
    }
}

fn flags<'t>(text: &'t str, allowed: &str) -> Option<&'t str> {
    let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (flags, after) = text.split_at_checked(end)?;
    flags.chars().all(|flag| allowed.contains(flag)).then_some(after)
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn plain_programs() {
        for code in [
            "s/a/b/",
            "s/a/b/g;",
            "s{a}{b}g",
            "s|a|b|; s#c#d#",
            "tr/a-z/A-Z/",
            "y/a/b/",
            "print if /x/",
            "print unless /x/i",
            "s/a/b/ if /c/",
            "s/(\\w+)/<$1>/g",
        ] {
            assert!(is_plain(code), "{code}");
        }
        for code in [
            "s/a/system(q(rm x))/e",
            "s/a/b/ee",
            "unlink 'x'",
            "system('x')",
            "s/a/@{[unlink 'x']}/",
            "print; unlink 'x'",
            "print STDERR 1",
            "open(F,'>x')",
            "s/a/b/ if unlink 'x'",
            "`rm x`",
        ] {
            assert!(!is_plain(code), "{code}");
        }
    }
}
