//! What a `sed` script does besides editing lines: it can write files and run commands.

use super::super::value::UNKNOWN;

/// What a script does.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Script {
    /// Files that `w` and `s///w` write.
    pub(super) writes: Vec<String>,
    /// Whether it runs commands, or cannot be read.
    pub(super) runs: bool,
}

/// Reads a script.
pub(super) fn script(text: &str) -> Script {
    let mut script = Script::default();
    let mut rest = text.chars().peekable();
    while rest.peek().is_some() {
        if command(&mut rest, &mut script).is_none() {
            script.runs = true;
            break;
        }
    }
    script
}

type Rest<'t> = std::iter::Peekable<std::str::Chars<'t>>;

/// One command with its addresses; none where it cannot be read.
fn command(rest: &mut Rest<'_>, script: &mut Script) -> Option<()> {
    while rest.next_if(|c| c.is_whitespace() || *c == ';').is_some() {}
    if rest.peek().is_none() {
        return Some(());
    }
    address(rest)?;
    while rest.next_if(|c| c.is_whitespace() || *c == '!').is_some() {}
    let name = rest.next()?;
    match name {
        '{' | '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => {}
        '#' => line(rest, false).truncate(0),
        'q' | 'Q' | 'l' | 'L' => while rest.next_if(|c| c.is_ascii_digit() || *c == ' ').is_some() {},
        'b' | 't' | 'T' | ':' | 'v' => while rest.next_if(|c| !matches!(c, ';' | '\n' | '}')).is_some() {},
        'a' | 'i' | 'c' => line(rest, true).truncate(0),
        'r' | 'R' => line(rest, false).truncate(0),
        'w' | 'W' => script.writes.push(line(rest, false).trim().to_owned()),
        'e' => script.runs = true,
        'y' => {
            let delimiter = rest.next()?;
            until(rest, delimiter)?;
            until(rest, delimiter)?;
        }
        's' => {
            let delimiter = rest.next()?;
            until(rest, delimiter)?;
            until(rest, delimiter)?;
            while let Some(flag) = rest.next_if(|c| c.is_ascii_alphanumeric()) {
                match flag {
                    'e' => script.runs = true,
                    'w' => script.writes.push(line(rest, false).trim().to_owned()),
                    _ => {}
                }
            }
        }
        _ => return None,
    }
    Some(())
}

/// Numbers, `$`, `/…/`, `\c…c`, in pairs. Text that is not known counts as a number.
fn address(rest: &mut Rest<'_>) -> Option<()> {
    loop {
        match rest.peek()? {
            '/' => {
                rest.next();
                until(rest, '/')?;
                while rest.next_if(|c| matches!(c, 'I' | 'M')).is_some() {}
            }
            '\\' => {
                rest.next();
                let delimiter = rest.next()?;
                until(rest, delimiter)?;
                while rest.next_if(|c| matches!(c, 'I' | 'M')).is_some() {}
            }
            c if c.is_ascii_digit() || matches!(*c, '$' | ',' | '~' | '+' | ' ' | UNKNOWN) => drop(rest.next()),
            _ => return Some(()),
        }
    }
}

/// Past an unescaped delimiter; a bracket expression may hold it.
fn until(rest: &mut Rest<'_>, delimiter: char) -> Option<()> {
    loop {
        match rest.next()? {
            '\\' => drop(rest.next()),
            c if c == delimiter => return Some(()),
            _ => {}
        }
    }
}

/// The rest of the line; with `continues`, further lines after a backslash.
fn line(rest: &mut Rest<'_>, continues: bool) -> String {
    let mut out = String::new();
    while let Some(c) = rest.next() {
        match c {
            '\n' => break,
            '\\' if continues => {
                rest.next();
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts() {
        for (text, writes, runs) in [
            ("s/a/b/", "", false),
            ("s/a/b/g;s|x|y|", "", false),
            ("1,5p", "", false),
            ("/a/,/b/d", "", false),
            ("s/a/we/", "", false),
            ("s/w/e/g", "", false),
            ("/foo/w out.txt", "out.txt", false),
            ("s/a/b/w out.txt", "out.txt", false),
            ("s/a/b/gw out.txt", "out.txt", false),
            ("s/a/rm -rf x/e", "", true),
            ("1e rm x", "", true),
            ("1!G;h;$!d", "", false),
            (":a;N;$!ba;s/\\n/ /g", "", false),
            ("/x/{s/a/b/;p}", "", false),
            ("$a\\\nlast line", "", false),
            ("i hello w world", "", false),
            ("y/abc/xyz/", "", false),
            ("\\,x,w f", "f", false),
            ("5q", "", false),
            ("s/[/]/x/", "", true),
            ("w a\nw b", "a b", false),
        ] {
            let script = script(text);
            assert_eq!((script.writes.join(" ").as_str(), script.runs), (writes, runs), "{text}");
        }
    }
}
