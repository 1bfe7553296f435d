//! Output for people: columns, colours, notes.

use std::io::{self, Write};

use serde_json::Value;

/// A wider cell overflows its column instead of widening it for every row.
const MAX_CELL_WIDTH: usize = 48;

/// Where a command prints to.
pub(crate) struct Output<'a> {
    pub(crate) out: &'a mut dyn Write,
    pub(crate) err: &'a mut dyn Write,
    pub(crate) colour: bool,
}

impl Output<'_> {
    /// Prints one line of the result.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{text}")
    }

    /// Prints the gate's answer for programs.
    pub(crate) fn json(&mut self, answer: &Value) -> io::Result<()> {
        writeln!(self.out, "{answer}")
    }

    /// Prints a note that is not part of the result on standard error. If that is closed, the note is dropped.
    pub(crate) fn note(&mut self, text: &str) {
        let _ = writeln!(self.err, "tollgate: {}", escape_lines(text));
    }

    /// Prints what a person is about to be asked about: on standard error if the result is JSON for a program.
    pub(crate) fn preview(&mut self, lines: &[String], json: bool) -> io::Result<()> {
        if json {
            lines.iter().for_each(|line| drop(writeln!(self.err, "{line}")));
            return Ok(());
        }
        lines.iter().try_for_each(|line| self.line(line))?;
        self.out.flush()
    }

    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        match style.code() {
            Some(code) if self.colour && !text.is_empty() => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            _ => text.to_owned(),
        }
    }

    /// Formats rows as aligned columns.
    pub(crate) fn rows(&self, rows: &[Vec<Cell>]) -> Vec<String> {
        let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column| {
            rows.iter().filter_map(|row| row.get(column)).map(Cell::width).filter(|width| *width <= MAX_CELL_WIDTH).max()
        };
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or_default()).collect();
        rows.iter().map(|row| self.row(row, &widths)).collect()
    }

    fn row(&self, row: &[Cell], widths: &[usize]) -> String {
        let last = row.iter().rposition(|cell| !cell.text.is_empty()).map_or(0, |last| last + 1);
        let mut text = String::new();
        for (at, (cell, width)) in row.iter().zip(widths).take(last).enumerate() {
            text.push_str(&self.paint(cell.style, &cell.text));
            // A column that is empty in every row takes no space, and the last cell is not padded.
            if at + 1 < last && *width > 0 {
                text.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width()) + 2));
            }
        }
        text
    }
}

/// One cell of a row.
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(crate) fn new(text: impl AsRef<str>) -> Self {
        Self::styled(text, Style::Plain)
    }

    pub(crate) fn styled(text: impl AsRef<str>, style: Style) -> Self {
        Self { text: escape(text.as_ref()), style }
    }

    /// Adds trailing spaces.
    pub(crate) fn pad(&mut self, by: usize) {
        self.text.extend(std::iter::repeat_n(' ', by));
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
}

impl Style {
    fn code(self) -> Option<u8> {
        match self {
            Self::Plain => None,
            Self::Bold => Some(1),
            Self::Dim => Some(2),
            Self::Red => Some(31),
            Self::Green => Some(32),
            Self::Yellow => Some(33),
        }
    }
}

/// Whether to use colours on standard output; see <https://no-color.org>.
pub(crate) fn colour(terminal: bool) -> bool {
    let empty = |name| std::env::var_os(name).is_none_or(|value| value.is_empty());
    terminal && empty("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Escapes untrusted text for one line: nothing in it can move the cursor or change the writing direction.
pub(crate) fn escape(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\r' | '\t' => shown.extend(character.escape_default()),
            '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                shown.extend(character.escape_unicode())
            }
            _ if character.is_control() => shown.extend(character.escape_unicode()),
            _ => shown.push(character),
        }
    }
    shown
}

/// Like [`escape`], for a message of several lines.
pub(crate) fn escape_lines(text: &str) -> String {
    text.lines().map(escape).collect::<Vec<_>>().join("\n")
}

/// `1 file`, `2 files`.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Runs a command and captures its result, standard output and standard error.
    pub(crate) fn capture<T>(command: impl FnOnce(&mut Output<'_>) -> T) -> (T, String, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let came_to = command(&mut Output { out: &mut out, err: &mut err, colour: false });
        (came_to, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    fn output(colour: bool, rows: &[Vec<Cell>]) -> Vec<String> {
        Output { out: &mut io::sink(), err: &mut io::sink(), colour }.rows(rows)
    }

    #[test]
    fn columns_stand_below_each_other() {
        let long = "x".repeat(MAX_CELL_WIDTH + 1);
        let cells = |texts: [&str; 4]| texts.map(Cell::new).into_iter().collect::<Vec<_>>();
        let rows = [cells(["a", "", "é", "end"]), cells(["bbb", "", &long, ""]), cells(["", "", "", ""])];
        assert_eq!(output(false, &rows), ["a    é  end".to_owned(), format!("bbb  {long}"), String::new()]);
    }

    #[test]
    fn colours_take_no_room() {
        let rows = [vec![Cell::styled("a", Style::Red), Cell::new("b")], vec![Cell::new("ccc"), Cell::new("d")]];
        assert_eq!(output(true, &rows), ["\u{1b}[31ma\u{1b}[0m    b", "ccc  d"]);
    }

    #[test]
    fn nothing_of_an_agent_reaches_the_terminal_as_a_command() {
        for (text, shown) in [
            ("a\u{1b}[2Jb", "a\\u{1b}[2Jb"),
            ("a\nb\tc", "a\\nb\\tc"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("gpj.\u{202e}exe", "gpj.\\u{202e}exe"),
            ("schön 日本", "schön 日本"),
        ] {
            assert_eq!(escape(text), shown);
        }
        assert_eq!(escape_lines("a\u{7}\r\nb"), "a\\u{7}\nb");
    }
}
