//! The record of a program's tool: its names, what it does, and what each argument means.

/// One tool, or several with the same arguments.
#[derive(Debug, PartialEq, Eq)]
pub struct Tool {
    /// The names, as the program spells them.
    pub names: &'static [&'static str],
    /// What the tool does.
    pub act: Act,
    /// Its arguments, spelled exactly as in the program.
    pub args: &'static [(&'static str, ArgumentMeaning)],
}

impl Tool {
    /// What an argument means to this tool; `None` if it has no such argument.
    pub fn meaning_of(&self, argument: &str) -> Option<ArgumentMeaning> {
        self.args.iter().find(|(name, _)| *name == argument).map(|(_, kind)| *kind)
    }

    /// The arguments with a given meaning, in the record's order.
    pub fn arguments(&self, kind: ArgumentMeaning) -> impl Iterator<Item = &'static str> {
        self.args.iter().filter(move |(_, other)| *other == kind).map(|(name, _)| *name)
    }
}

/// What a tool does with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Reads the files that it names.
    Reads,
    /// Touches no file, whatever its arguments are.
    Inert,
    /// Writes the content of every file that it names.
    Writes,
    /// Deletes every file that it names.
    Deletes,
    /// Creates every folder that it names.
    MakesFolders,
    /// Applies a patch that itself names the files.
    Patches,
    /// Applies a diff to the file that the arguments name, or to those that the diff names.
    Diffs,
    /// An editor with several functions: an argument selects one.
    Edits,
    /// Runs a shell command.
    Shell,
    /// Runs a PowerShell command.
    PowerShell,
    /// Sends input to a program that is already running.
    Types,
    /// Runs something whose effects are not known.
    Executes,
    /// Forwards a call to an MCP server.
    CallsServer,
    /// Does things that its arguments do not reveal.
    Opaque,
}

impl Act {
    /// Whether a tool of this kind may change something.
    pub fn changes(self) -> bool {
        !matches!(self, Self::Reads | Self::Inert)
    }
}

/// What an argument means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentMeaning {
    /// The path to which the tool applies.
    Path,
    /// A list of such paths, or of objects that contain them.
    Paths,
    /// A path that is only read.
    ReadPath,
    /// A path that is written, whatever else the tool does.
    WrittenPath,
    /// The text of a patch or a diff.
    Patch,
    /// A command as a single string, for a shell.
    Command,
    /// A command as a list of words.
    Words,
    /// The folder in which the command runs or the patch applies.
    Folder,
    /// The shell that runs the command.
    Shell,
    /// The input that is sent to a program.
    Typed,
    /// The function that an editor is asked for.
    Function,
    /// The MCP server to call.
    Server,
    /// The tool of that server.
    ServerTool,
    /// The arguments for that tool.
    ServerArguments,
    /// Text that has no further meaning.
    Text,
    /// A number.
    Number,
    /// True or false.
    Flag,
    /// A list or an object of such values.
    List,
}

/// Which parser reads a patch of the form `*** Begin Patch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchDialect {
    /// Unknown: whatever either of the other parsers would see.
    Any,
    /// Codex's: headers may be indented, one blank precedes the path, and further blanks belong to the path.
    Codex,
    /// OpenCode's: headers begin in the first column, blanks around the path are ignored.
    OpenCode,
}
