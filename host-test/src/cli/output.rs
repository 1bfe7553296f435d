//! What a person sees: columns, colours, notes.

use std::io::{self, Write};

use serde_json::Value;

/// Wider than this, a cell sticks out instead of pushing every row apart.
const WIDEST: usize = 48;

/// Where a command prints.
pub(crate) struct Screen<'a> {
    pub(crate) out: &'a mut dyn Write,
    pub(crate) err: &'a mut dyn Write,
    pub(crate) colour: bool,
}

impl Screen<'_> {
    /// One line of what was asked for.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{text}")
    }

    /// The gate's answer, for programs.
    pub(crate) fn json(&mut self, answer: &Value) -> io::Result<()> {
        writeln!(self.out, "{answer}")
    }

    /// Something beside what was asked for. Where standard error is closed, there is nobody to tell.
    pub(crate) fn note(&mut self, text: &str) {
        let _ = writeln!(self.err, "tollgate: {}", lines(text));
    }

    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        match style.code() {
            Some(code) if self.colour && !text.is_empty() => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            _ => text.to_owned(),
        }
    }

    /// Rows with their columns below each other.
    pub(crate) fn rows(&self, rows: &[Vec<Cell>]) -> Vec<String> {
        let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
        let width =
            |column| rows.iter().filter_map(|row| row.get(column)).map(Cell::width).filter(|width| *width <= WIDEST).max();
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or_default()).collect();
        rows.iter().map(|row| self.row(row, &widths)).collect()
    }

    fn row(&self, row: &[Cell], widths: &[usize]) -> String {
        let last = row.iter().rposition(|cell| !cell.text.is_empty()).map_or(0, |last| last + 1);
        let mut text = String::new();
        for (at, (cell, width)) in row.iter().zip(widths).take(last).enumerate() {
            text.push_str(&self.paint(cell.style, &cell.text));
            // A column that is empty everywhere takes no room, and nothing follows the last cell.
            if at + 1 < last && *width > 0 {
                text.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width()) + 2));
            }
        }
        text
    }
}

/// A piece of text in a row.
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(crate) fn new(text: impl AsRef<str>) -> Self {
        Self::styled(text, Style::Plain)
    }

    pub(crate) fn styled(text: impl AsRef<str>, style: Style) -> Self {
        Self { text: plain(text.as_ref()), style }
    }

    /// Makes it wider.
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

/// Whether standard output shows colours: <https://no-color.org>.
pub(crate) fn colour(terminal: bool) -> bool {
    let empty = |name| std::env::var_os(name).is_none_or(|value| value.is_empty());
    terminal && empty("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Text of an agent, in one line and without anything that moves the cursor or turns the writing around.
pub(crate) fn plain(text: &str) -> String {
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

/// The same for a message, which may have several lines.
pub(crate) fn lines(text: &str) -> String {
    text.lines().map(plain).collect::<Vec<_>>().join("\n")
}

/// `1 file`, `2 files`.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// What a command came to, and what it printed: on standard output and on standard error.
    pub(crate) fn printed<T>(command: impl FnOnce(&mut Screen<'_>) -> T) -> (T, String, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let came_to = command(&mut Screen { out: &mut out, err: &mut err, colour: false });
        (came_to, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    fn screen(colour: bool, rows: &[Vec<Cell>]) -> Vec<String> {
        Screen { out: &mut io::sink(), err: &mut io::sink(), colour }.rows(rows)
    }

    #[test]
    fn columns_stand_below_each_other() {
        let long = "x".repeat(WIDEST + 1);
        let cells = |texts: [&str; 4]| texts.map(Cell::new).into_iter().collect::<Vec<_>>();
        let rows = [cells(["a", "", "é", "end"]), cells(["bbb", "", &long, ""]), cells(["", "", "", ""])];
        assert_eq!(screen(false, &rows), ["a    é  end".to_owned(), format!("bbb  {long}"), String::new()]);
    }

    #[test]
    fn colours_take_no_room() {
        let rows = [vec![Cell::styled("a", Style::Red), Cell::new("b")], vec![Cell::new("ccc"), Cell::new("d")]];
        assert_eq!(screen(true, &rows), ["\u{1b}[31ma\u{1b}[0m    b", "ccc  d"]);
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
            assert_eq!(plain(text), shown);
        }
        assert_eq!(lines("a\u{7}\r\nb"), "a\\u{7}\nb");
    }
}
