//! Database clients: a file that is opened is recorded as written, and SQL or script text that may access other files is
//! *unknown*.

use super::super::reader::ShellReader;
use super::super::reader::arg::Arg;
use super::super::reader::input::StandardInput;
use super::background::read_as_it_runs;
use super::spec::{ArgumentRole, Invocation, Operands, ParsedArguments, ProgramSpec};
use crate::effects::Access;

const TREE: ArgumentRole = ArgumentRole::Path(Access::WriteTree);
const WRITE: ArgumentRole = ArgumentRole::Path(Access::Write);

pub(super) const ROWS: &[ProgramSpec] = &[
    ProgramSpec {
        operands: Operands::Rule,
        single_dash: true,
        valued: SQLITE_VALUES,
        answers: &["--version", "-version"],
        rule: Some(sqlite),
        ..ProgramSpec::opaque(&["sqlite3", "duckdb"])
    },
    ProgramSpec {
        valued: &[
            ("c", ArgumentRole::Text),
            ("command", ArgumentRole::Text),
            ("f", ArgumentRole::Script),
            ("file", ArgumentRole::Script),
            ("L", WRITE),
            ("log-file", WRITE),
            ("o", WRITE),
            ("output", WRITE),
            ("e", ArgumentRole::Text),
            ("execute", ArgumentRole::Text),
            ("tee", WRITE),
        ],
        answers: &["--version", "-V", "-l", "--list"],
        rule: Some(sql_client),
        ..ProgramSpec::opaque(&["psql", "mysql", "mariadb"])
    },
    ProgramSpec {
        valued: &[("f", WRITE), ("file", WRITE), ("r", WRITE), ("result-file", WRITE), ("o", TREE), ("out", TREE)],
        ..ProgramSpec::opaque(&["pg_dump", "pg_dumpall", "mysqldump", "mariadb-dump", "mongodump"])
    },
    ProgramSpec {
        valued: &[("eval", ArgumentRole::Code), ("f", ArgumentRole::Script), ("file", ArgumentRole::Script)],
        answers: &["--version", "--help"],
        rule: Some(mongo_shell),
        ..ProgramSpec::opaque(&["mongosh", "mongo"])
    },
    ProgramSpec {
        answers: &["--version", "-v"],
        ..ProgramSpec::opaque(&["redis-cli", "redis-server", "clickhouse-client", "pg_ctl", "createdb", "dropdb", "pg_restore"])
    },
];

const SQLITE_VALUES: &[(&str, ArgumentRole)] = &[
    ("cmd", ArgumentRole::Text),
    ("init", ArgumentRole::Script),
    ("separator", ArgumentRole::Text),
    ("nullvalue", ArgumentRole::Text),
    ("newline", ArgumentRole::Text),
    ("c", ArgumentRole::Text),
];

/// Commands of the SQLite shell that only show something.
const SQLITE_LOOKS: &[&str] = &[
    ".databases",
    ".dbinfo",
    ".dump",
    ".exit",
    ".fullschema",
    ".headers",
    ".indexes",
    ".indices",
    ".mode",
    ".quit",
    ".schema",
    ".show",
    ".tables",
    ".timeout",
    ".width",
];

/// SQL keywords and functions that access other files.
const SQL_FILES: &[&str] = &[
    "attach",
    "copy ",
    "edit(",
    "fts3_tokenizer",
    "into outfile",
    "into dumpfile",
    "load_extension",
    "vacuum into",
    "writefile",
];

fn sqlite(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let mut operands = parsed.operands.iter();
    if let Some(database) = operands.next().filter(|file| !file.is_text(":memory:"))
        && !call.args.iter().any(|arg| arg.is_text("-readonly") || arg.is_text("--readonly"))
    {
        reader.touch(call.state, call.name, database, Access::Write);
    }
    let mut texts: Vec<&Arg> = operands.copied().collect();
    texts.extend(parsed.values(&["cmd", "c"]));
    let is_told = parsed.operands.len() > 1;
    for text in texts {
        judge_sql(reader, call, text.text());
    }
    match call.input {
        StandardInput::Text(text) => judge_sql(reader, call, Some(text)),
        // With a statement among its arguments, it does not read standard input.
        StandardInput::Inherited | StandardInput::Unknown if is_told => {}
        StandardInput::Inherited | StandardInput::Unknown => read_as_it_runs(reader, call),
    }
}

fn judge_sql(reader: &mut ShellReader<'_>, call: &Invocation<'_>, text: Option<&str>) {
    let is_plain = text.is_some_and(|text| {
        let lower = text.to_ascii_lowercase();
        let looks = |line: &str| {
            !line.starts_with('.') || line.split_whitespace().next().is_some_and(|word| SQLITE_LOOKS.contains(&word))
        };
        !SQL_FILES.iter().any(|word| lower.contains(word)) && lower.lines().map(str::trim_start).all(looks)
    });
    if !is_plain {
        let shown = text.map(|text| Arg::known(text).display()).unwrap_or_else(|| "…".to_owned());
        reader.add_unknown(format!("`{}` is given `{shown}`, which may write to other files or run programs", call.name));
    }
}

/// Commands of the client itself that write files or run programs: `\o`, `\!`, `\copy`, `system`, `tee`.
fn sql_client(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    const COMMANDS: &[&str] = &[
        "\\!",
        "\\copy",
        "\\g",
        "\\i",
        "\\o",
        "\\s ",
        "\\t ",
        "\\w",
        "system ",
        "tee ",
        "to program",
        "into outfile",
        "into dumpfile",
    ];
    let is_harmful = |text: &str| COMMANDS.iter().any(|command| text.to_ascii_lowercase().contains(command));
    for text in parsed.values(&["c", "command", "e", "execute"]) {
        if text.text().is_none_or(is_harmful) {
            reader.add_unknown(format!(
                "`{}` is given `{}`, which may write to files or run programs",
                call.name,
                text.display()
            ));
        }
    }
    if parsed.has(&["c", "command", "e", "execute", "f", "file"]) {
        return;
    }
    match call.input {
        StandardInput::Text(text) if !is_harmful(text) => {}
        StandardInput::Text(text) => {
            let shown = Arg::known(text).display();
            reader.add_unknown(format!("`{}` is given `{shown}`, which may write to files or run programs", call.name));
        }
        StandardInput::Inherited | StandardInput::Unknown => read_as_it_runs(reader, call),
    }
}

/// JavaScript that can access files: from arguments, from a script, or typed.
fn mongo_shell(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let is_script = |arg: &&&Arg| arg.text().is_some_and(|text| text.ends_with(".js") || text.ends_with(".mongodb"));
    match parsed.operands.iter().find(is_script) {
        Some(file) => reader.touch(call.state, call.name, file, Access::Execute),
        None if parsed.has(&["eval", "f", "file"]) => {}
        None => read_as_it_runs(reader, call),
    }
}
