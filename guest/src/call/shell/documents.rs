//! Here-documents: announced on one line, read from the next.

/// A here-document whose body is still to come.
pub(super) struct Awaited {
    /// The token that will stand for the body.
    pub(super) token: usize,
    /// The line that ends it.
    pub(super) delimiter: String,
    /// Whether nothing in it is expanded, because the delimiter is quoted.
    pub(super) literal: bool,
    /// Whether tabs at the start of its lines are taken off.
    pub(super) strips_tabs: bool,
}

impl Awaited {
    /// The body that begins here, and where it ends.
    pub(super) fn body(&self, chars: &[char], start: usize) -> (String, usize) {
        let (mut body, mut at) = (String::new(), start);
        while at < chars.len() {
            let mut line = String::new();
            at = read_line(chars, at, &mut line);
            // A line that ends in a backslash goes on, and what follows it is no delimiter.
            while !self.literal && line.chars().rev().take_while(|c| *c == '\\').count() % 2 == 1 && at < chars.len() {
                line.pop();
                at = read_line(chars, at, &mut line);
            }
            let line = if self.strips_tabs { line.trim_start_matches('\t') } else { line.as_str() };
            if line == self.delimiter {
                break;
            }
            body.push_str(line);
            body.push('\n');
        }
        (body, at)
    }
}

/// Takes one line, and gives back where the next begins.
fn read_line(chars: &[char], at: usize, line: &mut String) -> usize {
    let rest = chars.get(at..).unwrap_or_default();
    let end = rest.iter().position(|c| *c == '\n');
    line.extend(rest.iter().take(end.unwrap_or(rest.len())));
    at + end.map_or(rest.len(), |end| end + 1)
}
