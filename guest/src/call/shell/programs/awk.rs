//! What an `awk` program does besides printing: it can write files and run commands.

/// What a program does.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Program {
    /// Files that `print > "file"` writes.
    pub(super) writes: Vec<String>,
    /// Commands that it runs, where they are literal.
    pub(super) commands: Vec<String>,
    /// Whether it runs other commands, or writes where its text does not say.
    pub(super) runs: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Text(String),
    Name(String),
    Mark(char),
}

/// Reads a program.
pub(super) fn program(text: &str) -> Program {
    let tokens = tokens(text);
    let mut program = Program::default();
    let (mut printing, mut parens) = (false, 0usize);
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1);
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        match token {
            Token::Name(name) if matches!(name.as_str(), "print" | "printf") => (printing, parens) = (true, 0),
            Token::Name(name) if name == "system" => match (next, tokens.get(at + 2), tokens.get(at + 3)) {
                (Some(Token::Mark('(')), Some(Token::Text(command)), Some(Token::Mark(')'))) => {
                    program.commands.push(command.clone())
                }
                _ => program.runs = true,
            },
            Token::Mark('@') => program.runs = true,
            Token::Mark(';' | '}' | '\n') => printing = false,
            Token::Mark('(') => parens += 1,
            Token::Mark(')') => parens = parens.saturating_sub(1),
            Token::Mark('|') if next != Some(&Token::Mark('|')) && before != Some(&Token::Mark('|')) => {
                let ends = |token: Option<&Token>| matches!(token, None | Some(Token::Mark(';' | '{' | '}' | '\n' | '(')));
                let getline = matches!(next, Some(Token::Name(name)) if name == "getline");
                match (before, next) {
                    (Some(Token::Text(command)), _) if getline && ends(at.checked_sub(2).and_then(|first| tokens.get(first))) => {
                        program.commands.push(command.clone());
                    }
                    (_, Some(Token::Text(command))) if printing && ends(tokens.get(at + 2)) => {
                        program.commands.push(command.clone())
                    }
                    _ => program.runs = true,
                }
            }
            Token::Mark('>') if printing && parens == 0 => {
                let skip = if next == Some(&Token::Mark('>')) { 2 } else { 1 };
                if before == Some(&Token::Mark('>')) {
                    continue;
                }
                let ends = matches!(tokens.get(at + skip + 1), None | Some(Token::Mark(';' | '}' | '\n')));
                match tokens.get(at + skip) {
                    Some(Token::Text(file)) if ends => program.writes.push(file.clone()),
                    _ => program.runs = true,
                }
            }
            _ => {}
        }
    }
    program
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' => tokens.push(Token::Text(quoted(&mut rest, '"'))),
            '#' => while rest.next_if(|c| *c != '\n').is_some() {},
            // A slash where no value stands before it opens a pattern.
            '/' if !matches!(tokens.last(), Some(Token::Name(_) | Token::Text(_) | Token::Mark(')' | ']' | '$'))) => {
                quoted(&mut rest, '/');
                tokens.push(Token::Text(String::new()));
            }
            c if c.is_alphanumeric() || c == '_' => {
                let mut name = String::from(c);
                while let Some(c) = rest.next_if(|c| c.is_alphanumeric() || *c == '_') {
                    name.push(c);
                }
                tokens.push(Token::Name(name));
            }
            ' ' | '\t' | '\r' => {}
            c => tokens.push(Token::Mark(c)),
        }
    }
    tokens
}

fn quoted(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, close: char) -> String {
    let mut out = String::new();
    while let Some(c) = rest.next() {
        match c {
            '\\' => out.extend(rest.next()),
            c if c == close => break,
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs() {
        for (text, writes, runs) in [
            ("{print $1}", "", false),
            ("$1 > 5 {print $2}", "", false),
            ("{ if ($1 > 5) print $2 }", "", false),
            ("{print $1 > \"out\"}", "out", false),
            ("{print $1 >> \"out\"}", "out", false),
            ("{print ($1 > 5)}", "", false),
            ("{print > $1}", "", true),
            ("{print > \"a\" $1}", "", true),
            ("{print | $1}", "", true),
            ("{print | \"sort \" $1}", "", true),
            ("BEGIN{system(\"rm \" $1)}", "", true),
            ("BEGIN{x \"date\" | getline d}", "", true),
            ("BEGIN{\"date\" | getline d}", "", false),
            ("{print | \"sort\"}", "", false),
            ("BEGIN{system(\"ls\")}", "", false),
            ("/a|b/ {print}", "", false),
            ("$0 ~ /x > y/ {print \"a > b | c\"}", "", false),
            ("a || b {print}", "", false),
            ("NR % 2 / 3 > 1", "", false),
            ("{print \"x\" > \"/dev/stderr\"}", "/dev/stderr", false),
            ("{ print $1; if (a > b) x = 1 }", "", false),
            ("# print > \"x\"\n{print}", "", false),
        ] {
            let program = program(text);
            assert_eq!((program.writes.join(" ").as_str(), program.runs), (writes, runs), "{text}");
        }
    }
}
