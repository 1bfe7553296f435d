//! Parses a command into a typed tree, for exactly the constructs that the reader understands.
//!
//! A command whose text contains anything else is never certain. A few constructs that contain explicit commands (functions,
//! `select`, unusual redirections) are still parsed, with a doubt, so that a change out of scope can be refused with a good
//! reason; everything else is not parsed at all. Constructs about which Bash, dash and zsh differ are not on the list.
//!
//! Supported are: simple commands with words, plain assignments and redirections of descriptors 0 to 2; `&&`, `||`, `;`, `&`,
//! `|`, `!`; `( )`, `{ }`, `if`, `while`, `until`, `for … in`, `case`, `[[ ]]`; here-documents with plain delimiters. In words:
//! quotes, `$x`, `${x}` and a few forms of it, `$(…)`, simple arithmetic, `~`, wildcards, `{a,b}` of plain text.

mod commands;
mod compound;
mod cursor;
mod document;
pub(super) mod tree;
mod word;

pub(super) use cursor::ParseFault;
use cursor::{Cursor, ReadResult};
use document::Announced;
use tree::List;

/// The longest text that is parsed.
const MAX_TEXT: usize = 128 * 1024;
/// The deepest nesting that is parsed: the parser is recursive.
const MAX_DEPTH: usize = 24;

/// A parsed command.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) list: List,
    /// Constructs in it that are not on the list. Their parts are still in the tree, for what they name explicitly; but a command
    /// with a doubt is never certain.
    pub(super) doubts: Vec<ParseFault>,
}

/// Parses a whole command. `posix` is for the text of a plain `sh`.
pub(super) fn read(text: &str, posix: bool) -> Result<Script, ParseFault> {
    if text.len() > MAX_TEXT {
        return Err(ParseFault::TooLarge);
    }
    Parser::parse_script(text, posix, 0)
}

/// Parses text into a tree, by recursive descent over its characters.
struct Parser<'t> {
    cursor: Cursor<'t>,
    depth: usize,
    posix: bool,
    doubts: Vec<ParseFault>,
    /// Here-documents that were announced on the current line.
    documents: Vec<Announced>,
    /// Whether a here-document was announced on the line around the current parentheses.
    suspended: bool,
}

impl<'t> Parser<'t> {
    fn new(chars: &'t [char], posix: bool, depth: usize) -> Self {
        Self { cursor: Cursor::new(chars), depth, posix, doubts: Vec::new(), documents: Vec::new(), suspended: false }
    }
}

impl Parser<'_> {
    fn parse_script(text: &str, posix: bool, depth: usize) -> ReadResult<Script> {
        let chars: Vec<char> = text.chars().collect();
        let mut parser = Parser::new(&chars, posix, depth);
        let list = parser.list(&[])?;
        match parser.cursor.peek() {
            None if parser.documents.is_empty() => Ok(Script { list, doubts: parser.doubts }),
            None => Err(ParseFault::Unclosed("<<")),
            Some(_) => Err(ParseFault::Expected("the beginning of a command")),
        }
    }

    /// Parses text inside the text on its own.
    fn parse_nested(&mut self, text: &str) -> ReadResult<List> {
        if self.depth >= MAX_DEPTH {
            return Err(ParseFault::TooLarge);
        }
        let script = Self::parse_script(text, self.posix, self.depth + 1)?;
        self.doubts.extend(script.doubts);
        Ok(script.list)
    }

    /// Continues after a construct that is not on the list, for the sake of what it names explicitly.
    fn add_doubt(&mut self, construct: &'static str) {
        self.doubts.push(ParseFault::Construct(construct));
    }

    /// Runs `go` one level deeper.
    fn deeper<T>(&mut self, go: impl FnOnce(&mut Self) -> ReadResult<T>) -> ReadResult<T> {
        if self.depth >= MAX_DEPTH {
            return Err(ParseFault::TooLarge);
        }
        self.depth += 1;
        let out = go(self);
        self.depth -= 1;
        out
    }
}
