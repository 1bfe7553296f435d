//! `tollgate trace export`: writes the ledger for other tools, one JSON record per line.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use cap_std::fs::Permissions;
use clap::{Args, ValueEnum};
use serde_json::{Map, Value};
use tollgate::temporary_file::TemporaryFile;

use super::filters::Filters;
use crate::cli::client::{Gate, ask, list, unexpected_answer};
use crate::cli::output::{Output, count};
use crate::cli::workspace::OpenGate;
use crate::cli::{CommandError, CommandResult, Outcome};

/// The options of `tollgate trace export`.
#[derive(Args)]
pub(super) struct Options {
    /// The format of the records
    #[arg(long, value_enum, default_value_t = Format::AgentTrace)]
    format: Format,
    #[command(flatten)]
    filters: Filters,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    AgentTrace,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Self::AgentTrace => "agent-trace",
        }
    }
}

pub(super) fn run(opened: &mut OpenGate, options: &Options, output: &mut Output<'_>) -> CommandResult {
    let here = std::env::current_dir().unwrap_or_else(|_| opened.root.clone());
    let mut question = options.filters.question("export", &opened.root, &here)?;
    question.insert("format".to_owned(), options.format.name().into());
    match options.output.as_deref() {
        Some(path) if path != Path::new("-") => {
            let records = write_to_file(path, |out| records(&mut opened.gate, question, out))?;
            output.note(&format!("wrote {} to `{}`", count(records, "record", "records"), path.display()));
        }
        _ => drop(records(&mut opened.gate, question, &mut output.out)?),
    }
    Ok(Outcome::Done)
}

/// Writes all records and returns their number.
fn records(gate: &mut dyn Gate, mut question: Map<String, Value>, out: &mut dyn Write) -> Result<u64, CommandError> {
    let mut written = 0;
    loop {
        let asked = Value::Object(question.clone());
        let answer = ask(gate, &asked)?;
        for record in list(&answer, "records") {
            writeln!(out, "{record}")?;
            written += 1;
        }
        let Some(cursor) = answer.get("cursor").filter(|cursor| !cursor.is_null()) else { return Ok(written) };
        // A cursor that does not advance would never end.
        if question.get("cursor") == Some(cursor) {
            return Err(unexpected_answer(&asked));
        }
        question.insert("cursor".to_owned(), cursor.clone());
    }
}

/// Writes a file that appears only when it is complete.
fn write_to_file(path: &Path, fill: impl FnOnce(&mut dyn Write) -> Result<u64, CommandError>) -> Result<u64, CommandError> {
    let fault = |why: io::Error| CommandError::Failed(format!("cannot write `{}`: {why}", path.display()));
    // A link is followed, and a device or pipe is written to rather than replaced.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let standing = fs::metadata(&target).ok();
    if standing.as_ref().is_some_and(|standing| !standing.is_file()) {
        return fill_buffered(&mut fs::File::options().write(true).open(&target).map_err(fault)?, fill, fault);
    }
    let mut temporary = TemporaryFile::create_for(&target).map_err(fault)?;
    let records = fill_buffered(temporary.file(), fill, fault)?;
    if let Some(standing) = standing {
        temporary.file().set_permissions(Permissions::from_std(standing.permissions())).map_err(fault)?;
    }
    temporary.replace(Path::new(target.file_name().unwrap_or_default())).map(|()| records).map_err(fault)
}

fn fill_buffered(
    file: &mut impl Write,
    fill: impl FnOnce(&mut dyn Write) -> Result<u64, CommandError>,
    fault: impl Fn(io::Error) -> CommandError,
) -> Result<u64, CommandError> {
    let mut out = BufWriter::new(file);
    let records = fill(&mut out)?;
    out.flush().map(|()| records).map_err(fault)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::client::tests::Script;

    fn question() -> Map<String, Value> {
        Map::from_iter([("op".to_owned(), "export".into())])
    }

    #[test]
    fn every_record_is_a_line() {
        let mut gate = Script::new([
            (json!({"op": "export"}), json!({"records": [{"b": 1, "a": 2}], "cursor": 10})),
            (json!({"op": "export", "cursor": 10}), json!({"records": [], "cursor": 20})),
            (json!({"op": "export", "cursor": 20}), json!({"records": [{"c": 3}], "cursor": null})),
        ]);
        let mut out = Vec::new();
        assert_eq!(records(&mut gate, question(), &mut out).unwrap(), 2);
        assert_eq!(String::from_utf8(out).unwrap(), "{\"b\":1,\"a\":2}\n{\"c\":3}\n");
        gate.assert_finished();
        let still = json!({"records": [], "cursor": 10});
        let mut gate = Script::new([(json!({"op": "export"}), still.clone()), (json!({"op": "export", "cursor": 10}), still)]);
        assert!(records(&mut gate, question(), &mut io::sink()).is_err());
    }

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.jsonl");
        let names = || fs::read_dir(folder.path()).unwrap().count();
        let half = |out: &mut dyn Write| {
            out.write_all(b"half")?;
            Err(CommandError::Failed("it broke".to_owned()))
        };
        assert!(write_to_file(&path, half).is_err());
        assert_eq!(names(), 0);
        let whole = |out: &mut dyn Write| {
            out.write_all(b"whole")?;
            Ok(1)
        };
        assert_eq!(write_to_file(&path, whole).unwrap(), 1);
        assert!(write_to_file(&path, half).is_err());
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names()), ("whole", 1));
        let Err(CommandError::Failed(why)) = write_to_file(&folder.path().join("no/out"), whole) else { panic!() };
        assert!(why.contains("no/out"), "{why}");
    }

    #[test]
    #[cfg(unix)]
    fn a_link_and_a_device_stay_what_they_are() {
        use std::os::unix::fs::{FileTypeExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("real"), "old").unwrap();
        symlink("real", folder.path().join("link")).unwrap();
        let whole = |out: &mut dyn Write| {
            out.write_all(b"new")?;
            Ok(1)
        };
        write_to_file(&folder.path().join("link"), whole).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("real")).unwrap(), "new");
        assert!(folder.path().join("link").is_symlink());
        write_to_file(Path::new("/dev/null"), whole).unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    }
}
