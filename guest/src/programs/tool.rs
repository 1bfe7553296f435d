//! The record of a program's tool: its names, what it does, and what each argument means.

/// One tool, or several that take the same arguments.
#[derive(Debug, PartialEq, Eq)]
pub struct Tool {
    /// As the program spells them.
    pub names: &'static [&'static str],
    /// What the tool does.
    pub act: Act,
    /// Its arguments, spelled exactly as the program does.
    pub args: &'static [(&'static str, ArgumentMeaning)],
}

impl Tool {
    /// What an argument means to this tool; nothing where it has no such argument.
    pub fn kind(&self, argument: &str) -> Option<ArgumentMeaning> {
        self.args.iter().find(|(name, _)| *name == argument).map(|(_, kind)| *kind)
    }

    /// The arguments of one kind, in the record's order.
    pub fn arguments(&self, kind: ArgumentMeaning) -> impl Iterator<Item = &'static str> {
        self.args.iter().filter(move |(_, other)| *other == kind).map(|(name, _)| *name)
    }
}

/// What a tool does with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Looks at the files it names.
    Reads,
    /// Touches no file, whatever its arguments say.
    Inert,
    /// Gives content to every file it names.
    Writes,
    /// Removes every file it names.
    Deletes,
    /// Makes every folder it names.
    MakesFolders,
    /// Applies a patch that names its files itself.
    Patches,
    /// Applies a diff to the file it names, or to those that the diff names.
    Diffs,
    /// An editor in one tool: an argument says what it does.
    Edits,
    /// Runs a shell command.
    Shell,
    /// Runs a PowerShell command.
    PowerShell,
    /// Writes into a program that runs already.
    Types,
    /// Runs something whose effects cannot be seen.
    Executes,
    /// Passes a call on to an MCP server.
    CallsServer,
    /// Does things that no argument tells.
    Opaque,
}

impl Act {
    /// Whether a tool that does this may change something.
    pub fn changes(self) -> bool {
        !matches!(self, Self::Reads | Self::Inert)
    }
}

/// What an argument means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentMeaning {
    /// A path, to which the tool does what it does.
    Path,
    /// A list of such paths, or of objects that hold them.
    Paths,
    /// A path that is only looked at.
    ReadPath,
    /// A path that is written, whatever else the tool does.
    WrittenPath,
    /// The text of a patch or a diff.
    Patch,
    /// A command as one text, for a shell.
    Command,
    /// A command as a list of words.
    Words,
    /// The folder in which the command runs or the patch applies.
    Folder,
    /// The shell that runs the command.
    Shell,
    /// What is typed into a program.
    Typed,
    /// Which of its functions an editor is asked for.
    Function,
    /// The MCP server to call.
    Server,
    /// The tool of that server.
    ServerTool,
    /// The arguments for that tool.
    ServerArguments,
    /// Text that is only text to the tool.
    Text,
    /// A number.
    Number,
    /// True or false.
    Flag,
    /// A list or an object of such values.
    List,
}

/// Whose parser reads a patch of the form `*** Begin Patch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchDialect {
    /// Anybody's: what either of the others would see.
    Any,
    /// Codex's: headers may be indented, one blank precedes the path, and any further ones belong to it.
    Codex,
    /// OpenCode's: headers begin in the first column, blanks around the path do not count.
    OpenCode,
}
