//! `sed`: determines which files it edits, and recognises scripts in which every command only edits lines.

use super::derived_paths::{EntryKind, append_suffix, entry_kind};
use super::pattern::{take_pattern, take_until};
use super::{ArgumentRole, Invocation, Operands, ParsedArguments, ProgramSpec};
use crate::call::shell::reader::ShellReader;
use crate::call::shell::reader::arg::{Arg, display};
use crate::effects::Access;
use crate::ports::FileKind;

pub(super) const ROWS: &[ProgramSpec] = &[
    // Not listed: `-f`, because the script in the file is not available.
    ProgramSpec {
        flags: "nErsuz",
        long: &[
            "quiet",
            "silent",
            "regexp-extended",
            "separate",
            "unbuffered",
            "null-data",
            "posix",
            "debug",
            "sandbox",
            "version",
        ],
        valued: &[("e", ArgumentRole::Text), ("expression", ArgumentRole::Text)],
        attached: &[("i", ArgumentRole::Text), ("in-place", ArgumentRole::Text)],
        operands: Operands::Rule,
        rule: Some(edit),
        options_first: true,
        ..ProgramSpec::new(&["sed", "gsed"])
    },
];

fn edit(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let mut files = parsed.operands.as_slice();
    let mut scripts: Vec<&Arg> = parsed.values(&["e", "expression"]).collect();
    let in_place = parsed.has(&["i", "in-place"]);
    let suffix = parsed.values(&["i", "in-place"]).last().cloned();
    if scripts.is_empty() && !parsed.has(&["version"]) {
        // BSD takes the word after `-i` for the suffix: `sed -i '' SCRIPT FILE`.
        let has_bsd_suffix = in_place && suffix.is_none();
        let skipped = usize::from(has_bsd_suffix && files.first().is_some_and(|first| first.is_text("")));
        let Some((script, rest)) = files.get(skipped..).and_then(<[_]>::split_first) else {
            return reader.add_unknown(format!("`{}` has no script", call.name));
        };
        scripts.push(script);
        files = rest;
        if let (true, 0, [second, _, ..]) = (has_bsd_suffix, skipped, files)
            && second.text().is_none_or(|text| read_script(text) == Err(ScriptDoubt::Unlisted))
        {
            reader.add_unknown(format!("`{}` may take `{}` for its script", call.name, second.display()));
        }
    }
    // On BSD, `-i -e SCRIPT -e NAME` edits a file called NAME.
    let is_file = |script: &&&Arg| reader.kind(call.state, script) != Some(FileKind::Missing);
    if in_place
        && suffix.is_none()
        && let Some(name) = scripts.iter().skip(1).find(is_file)
    {
        let why = format!("`{}` may take `{}` for a file", call.name, name.display());
        reader.add_unknown(why);
    }
    let texts: Option<Vec<&str>> = scripts.iter().map(|script| script.text()).collect();
    match texts.map(|texts| texts.join("\n")) {
        None => reader.add_unknown(format!("the script of `{}` is only known when it runs", call.name)),
        Some(text) if read_script(&text).is_err() => {
            reader.add_unknown(format!("the `{}` script `{}` may write a file or run a command", call.name, display(&text)));
            // The most likely output file is named explicitly, and can be refused with a good reason.
            if let Some((_, file)) = text.rsplit_once("w ") {
                reader.touch(call.state, call.name, &Arg::known(file), Access::Write);
            }
        }
        Some(_) => {}
    }
    for file in files {
        if !in_place {
            reader.touch(call.state, call.name, file, Access::Read);
            continue;
        }
        if entry_kind(reader, call.state, file) == EntryKind::Link {
            // A link is replaced by a regular file, unless `sed` follows it.
            reader.touch(call.state, call.name, file, Access::Delete);
        }
        reader.touch(call.state, call.name, file, Access::Write);
        match suffix.as_ref().map(Arg::text) {
            None => {}
            Some(Some(suffix)) if !suffix.contains(['/', '*']) => {
                reader.touch(call.state, call.name, &append_suffix(file, suffix), Access::Write);
            }
            Some(_) => reader.add_unknown(format!(
                "where `{}` saves its backup copy of `{}` cannot be determined",
                call.name,
                file.display()
            )),
        }
    }
}

/// Why a script is not known to only edit lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScriptDoubt {
    /// No BSD `sed` accepts it.
    Invalid,
    /// It contains a command or a form that is not listed.
    Unlisted,
}

/// Parses a script, command by command.
fn read_script(text: &str) -> Result<(), ScriptDoubt> {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ';', '\n', '}']);
        if rest.is_empty() {
            return Ok(());
        }
        read_addresses(&mut rest)?;
        rest = rest.trim_start_matches([' ', '\t', '!']);
        read_command(&mut rest)?;
    }
}

fn take_char(rest: &mut &str) -> Option<char> {
    let mut chars = rest.chars();
    let first = chars.next()?;
    *rest = chars.as_str();
    Some(first)
}

fn skip_digits(rest: &mut &str) {
    *rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
}

/// Parses a number, `$` or `/…/`, and after a comma a second one of these, `+N` or `~N`.
fn read_addresses(rest: &mut &str) -> Result<(), ScriptDoubt> {
    let mut is_second = false;
    loop {
        match rest.chars().next() {
            Some('0'..='9') => {
                skip_digits(rest);
                if let Some(step) = rest.strip_prefix('~') {
                    *rest = step;
                    skip_digits(rest);
                }
            }
            Some('+' | '~') if is_second => {
                take_char(rest);
                skip_digits(rest);
            }
            Some('$') => drop(take_char(rest)),
            Some('/') => {
                take_char(rest);
                let before = *rest;
                match take_pattern(rest, '/') {
                    Some(pattern) => check_escapes(pattern)?,
                    None if take_until(&mut { before }, '/').is_none() => return Err(ScriptDoubt::Invalid),
                    None => return Err(ScriptDoubt::Unlisted),
                }
                *rest = rest.trim_start_matches(['I', 'M']);
            }
            Some('\\') => return Err(ScriptDoubt::Unlisted),
            _ if is_second => return Err(ScriptDoubt::Invalid),
            _ => return Ok(()),
        }
        let behind = rest.trim_start_matches([' ', '\t']);
        match behind.strip_prefix(',') {
            Some(second) if !is_second => {
                *rest = second.trim_start_matches([' ', '\t']);
                is_second = true;
            }
            _ => return Ok(()),
        }
    }
}

fn read_command(rest: &mut &str) -> Result<(), ScriptDoubt> {
    match take_char(rest).ok_or(ScriptDoubt::Invalid)? {
        // Another command follows a brace.
        '{' => return Ok(()),
        'p' | 'P' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'x' | 'n' | 'N' | '=' | 'z' | 'F' => {}
        'q' | 'Q' | 'l' => {
            *rest = rest.trim_start_matches(' ');
            skip_digits(rest);
        }
        '#' => {
            take_line(rest, false)?;
            return Ok(());
        }
        'r' => {
            take_line(rest, false)?;
            return Ok(());
        }
        'a' | 'i' | 'c' => {
            take_line(rest, true)?;
            return Ok(());
        }
        ':' | 'b' | 't' | 'T' => {
            *rest = rest.trim_start_matches(' ').trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        }
        's' => read_substitution(rest)?,
        'y' => {
            let delimiter = take_char(rest).ok_or(ScriptDoubt::Invalid)?;
            let from = take_until(rest, delimiter).ok_or(ScriptDoubt::Invalid)?;
            let to = take_until(rest, delimiter).ok_or(ScriptDoubt::Invalid)?;
            if !is_delimiter(delimiter) || from.contains('\n') || to.contains('\n') {
                return Err(ScriptDoubt::Unlisted);
            }
        }
        'w' => return Err(ScriptDoubt::Unlisted),
        _ => return Err(ScriptDoubt::Invalid),
    }
    // Only the next command may follow.
    *rest = rest.trim_start_matches([' ', '\t']);
    match rest.chars().next() {
        None | Some(';' | '\n' | '}' | '#') => Ok(()),
        Some(_) => Err(ScriptDoubt::Invalid),
    }
}

fn read_substitution(rest: &mut &str) -> Result<(), ScriptDoubt> {
    let delimiter = take_char(rest).ok_or(ScriptDoubt::Invalid)?;
    let mut plain = *rest;
    if take_until(&mut plain, delimiter).and_then(|_| take_until(&mut plain, delimiter)).is_none() {
        return Err(ScriptDoubt::Invalid);
    }
    if !is_delimiter(delimiter) {
        return Err(ScriptDoubt::Unlisted);
    }
    check_escapes(take_pattern(rest, delimiter).ok_or(ScriptDoubt::Unlisted)?)?;
    let replacement = take_until(rest, delimiter).ok_or(ScriptDoubt::Invalid)?;
    if replacement.replace("\\\n", "").contains('\n') {
        return Err(ScriptDoubt::Unlisted);
    }
    check_escapes(replacement)?;
    *rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'i' | 'I' | 'm' | 'M'));
    if rest.starts_with('w') { Err(ScriptDoubt::Unlisted) } else { Ok(()) }
}

/// Delimiters that end a pattern in every version.
fn is_delimiter(c: char) -> bool {
    matches!(c, '/' | '|' | ',' | '#' | '@' | ':' | '!' | '%' | '+' | '~' | '=' | '_')
}

/// Escapes such as `\x2f` stand for characters that may count literally, or not.
fn check_escapes(text: &str) -> Result<(), ScriptDoubt> {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\\' && chars.next().is_none_or(|escaped| matches!(escaped, 'c' | 'o' | 'x' | 'd')) {
            return Err(ScriptDoubt::Unlisted);
        }
    }
    Ok(())
}

/// Takes the rest of a line; for text, also the lines after a backslash.
fn take_line(rest: &mut &str, continues: bool) -> Result<(), ScriptDoubt> {
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if continues => escaped = true,
            '\n' => {
                *rest = rest.get(at..).unwrap_or_default();
                return Ok(());
            }
            _ => {}
        }
    }
    *rest = "";
    if escaped { Err(ScriptDoubt::Unlisted) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_only_edit() {
        for text in [
            "s/a/b/",
            "s/a/b/g;s|x|y|",
            "1,5p",
            "10,$p",
            "/a/,/b/d",
            "/a/I,+3d",
            "0~4d",
            "2~3p",
            "s/a/we/",
            "s/w/e/g",
            "1!G;h;$!d",
            ":a;N;$!ba;s/\\n/ /g",
            "/x/{s/a/b/;p}",
            "/x/{s/a/b/;p;};5q",
            "$a\\\nlast line",
            "i hello w world",
            "/x/a\\\n  one\\\n  two\ns/a/b/",
            "y/abc/xyz/",
            "5q",
            "$=",
            "s/[a-z]*\\/x/y/2g",
            "s#/usr#/opt#",
            "s/a/b\\\nc/",
            "# w out\np",
            "r other",
            "",
            "/^$/d",
            "s/\\(a\\)\\(b\\)/\\2\\1/",
            "n;d",
        ] {
            assert_eq!(read_script(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn scripts_that_may_do_more() {
        for text in [
            "w out",
            "/foo/w out.txt",
            "s/a/b/w out.txt",
            "s/a/b/gw out.txt",
            "s/a/rm -rf x/e",
            "1e rm x",
            "e",
            "s/[/]x/y/w P",
            "s/[/]/x/",
            ":a w P",
            "ba w P",
            "v 4.2 w P",
            "\\,x,w f",
            "w a\nw b",
            "p w out",
            "a\\",
            "a text\nw out",
            "a\\\ntext\nw out",
            "r f\nw out",
            "# x\nw out",
            "s/a/\\x2fw out/",
            "sxaxbxw out",
            "{w out\n}",
            "/x/!{w out\n}",
            "y/a/b/w out",
            "1,5{p;w out\n}",
            "s/a/b/;w out",
            "s/a\nb/c/w out",
        ] {
            assert!(read_script(text).is_err(), "{text}");
        }
        for text in ["w out", "s/a/b/w out", "src/auth/r/rw P", "1,5{p;w out\n}"] {
            assert_eq!(read_script(text), Err(ScriptDoubt::Unlisted), "{text}");
        }
    }

    #[test]
    fn paths_are_not_scripts() {
        for text in ["src/auth/a.ts", "README.md", "docs/auth.md", "package.json", "src/view.ts"] {
            assert_ne!(read_script(text), Err(ScriptDoubt::Unlisted), "{text}");
        }
    }
}
