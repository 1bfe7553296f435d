//! Verifies that a ledger is what its writers left. See [`chain`](super::chain) for what is checked.
//!
//! It takes time proportional to the ledger's length, so it runs step by step, and the caller decides when to continue.

use std::collections::{HashSet, VecDeque};

use sha2::{Digest as _, Sha256};

use super::archive::{self, Archived};
use super::chain::{Link, WINDOW, after_torn};
use super::checkpoint::Checkpoint;
use super::{ARCHIVE, PATH, reading};
use crate::digest::Digest;
use crate::ports::{FileFault, Ports, Root};

/// Number of bytes read in one step.
const STEP: u64 = 4 << 20;

/// Maximum length of a line; a longer one is cut, and is not an entry.
const MAX_LINE_BYTES: usize = 4 << 20;

/// Maximum number of faults, and of notes, that are reported one by one.
const MAX_TOLD: usize = 1_000;

/// A remark about a line or a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The file.
    pub file: String,
    /// The line, from 1; `None` for the file as a whole.
    pub line: Option<u64>,
    /// What there is to say about it.
    pub what: String,
}

/// The result of a verification.
#[derive(Debug, Default)]
pub struct Report {
    /// Whether there are no faults.
    pub ok: bool,
    /// The files that were read.
    pub files: Vec<String>,
    /// The number of their lines.
    pub lines: u64,
    /// The number of lines that are entries.
    pub entries: u64,
    /// The lines at the end that no line names. Kept elsewhere, they prove later that nothing was cut off.
    pub heads: Vec<Digest>,
    /// What was changed afterwards.
    pub faults: Vec<Remark>,
    /// What is worth knowing.
    pub notes: Vec<Remark>,
}

/// A line that a later one may still name.
struct Recent {
    number: u64,
    start: u64,
    end: u64,
    hash: Digest,
    /// The hash of what is on it after the torn rest of another line.
    inner: Option<Digest>,
    /// The first line that names it.
    named_by: Option<u64>,
}

/// A verification under way.
pub struct Verification {
    report: Report,
    /// Files still to be read, the next one last.
    ahead: Vec<(String, Option<Archived>)>,
    expected: Option<Digest>,
    /// The lines that were the last ones when this machine last wrote to the ledger.
    kept: Vec<Digest>,
    file: Option<FileProgress>,
    /// Hashes that a line names and that its file does not have, with the remark to make unless another part has them.
    missed: Vec<(Digest, Remark)>,
    /// Every hash of each part that has been read, shortened.
    parts: Vec<(String, HashSet<[u8; 16]>)>,
}

/// One file under way.
struct FileProgress {
    path: String,
    archived: Option<Archived>,
    content: Sha256,
    hashed: u64,
    at: u64,
    line: u64,
    rest: Vec<u8>,
    /// Every hash so far, shortened.
    hashes: HashSet<[u8; 16]>,
    /// The hashes of lines that come after the torn rest of another.
    inner: Vec<Digest>,
    recent: VecDeque<Recent>,
    is_current: bool,
}

impl Verification {
    /// Starts with the current ledger. `expected` is a line that must be in it, because someone kept its hash; the lines of the
    /// checkpoint must be in it in any case.
    pub fn new(expected: Option<Digest>, checkpoint: Option<Checkpoint>) -> Self {
        Self {
            report: Report::default(),
            ahead: vec![(PATH.to_owned(), None)],
            expected,
            kept: checkpoint.map(|checkpoint| checkpoint.heads).unwrap_or_default(),
            file: None,
            missed: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// Continues for a while; returns the report once there is nothing left.
    pub fn step(&mut self, ports: &Ports) -> Option<Report> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => match self.ahead.pop() {
                Some((path, archived)) => FileProgress::new(path, archived),
                None => return Some(self.finish(ports)),
            },
        };
        match ports.workspace.read_range(Root::Project, &file.path, file.at, STEP) {
            Ok(bytes) if bytes.is_empty() => self.end(file),
            Ok(bytes) => {
                file.at += bytes.len() as u64;
                file.hash_content(&bytes);
                self.lines(&mut file, bytes);
                self.file = Some(file);
            }
            Err(FileFault::Missing) if file.is_current => self.note(&file.path, None, "there is no ledger yet"),
            Err(FileFault::Missing) => {
                let what = "this part is kept elsewhere; its digest is in the line that names it".to_owned();
                self.note(&file.path, None, &what);
            }
            Err(fault) => self.fault(&file.path, None, &format!("it cannot be read: {fault}")),
        }
        None
    }

    fn lines(&mut self, file: &mut FileProgress, bytes: Vec<u8>) {
        let mut text = std::mem::take(&mut file.rest);
        text.extend_from_slice(&bytes);
        let complete = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let mut start = file.at - text.len() as u64;
        for line in text.get(..complete).unwrap_or_default().split_inclusive(|byte| *byte == b'\n') {
            self.line(file, start, line);
            start += line.len() as u64;
        }
        file.rest = text.get(complete..).unwrap_or_default().to_vec();
        file.rest.truncate(MAX_LINE_BYTES);
    }

    fn line(&mut self, file: &mut FileProgress, start: u64, line: &[u8]) {
        file.line += 1;
        let end = start + line.len() as u64;
        let line = line.trim_ascii_end();
        if line.is_empty() {
            return;
        }
        self.report.lines += 1;
        let number = file.line;
        let mut inner = None;
        match Link::of(line) {
            Some(tie) => {
                match file.fault_of(number, &tie) {
                    None => {}
                    Some((None, bad, what)) => self.fault(&file.path, Some(bad), &what),
                    // A writer that looked just before the ledger was archived names lines of the part before.
                    Some((Some(missed), bad, what)) => {
                        self.missed.push((missed, Remark { file: file.path.clone(), line: Some(bad), what }));
                    }
                }
                if file.hashes.contains(&Digest::of(line).short()) {
                    self.fault(&file.path, Some(number), "it occurs here for the second time: a copy was inserted");
                }
                for named in tie.names() {
                    let is_named = |line: &&mut Recent| line.hash == *named || line.inner == Some(*named);
                    for line in file.recent.iter_mut().filter(is_named) {
                        line.named_by.get_or_insert(number);
                    }
                }
                match archive::archived_part(line) {
                    Some(archived) => self.also_read(archived),
                    None => self.report.entries += 1,
                }
            }
            None => {
                inner = after_torn(line).filter(|inner| Link::of(inner).is_some()).map(Digest::of);
                let begin: String = String::from_utf8_lossy(line).chars().take(40).collect();
                let what = match (&inner, reading::parse(line)) {
                    (Some(_), _) => "an incomplete line with another one after it".to_owned(),
                    (None, Some(Ok(_))) => {
                        self.report.entries += 1;
                        "an entry that is not linked to the chain; another program wrote it".to_owned()
                    }
                    _ => format!("not an entry (it is incomplete, or another program wrote it): `{begin}`"),
                };
                self.note(&file.path, Some(number), &what);
            }
        }
        file.keep(Recent { number, start, end, hash: Digest::of(line), inner, named_by: None });
    }

    fn also_read(&mut self, archived: Archived) {
        let path = format!("{ARCHIVE}/{}", archived.file);
        if !self.report.files.contains(&path) && !self.ahead.iter().any(|(known, _)| *known == path) {
            self.ahead.push((path, Some(archived)));
        }
    }

    fn end(&mut self, file: FileProgress) {
        if !file.rest.trim_ascii().is_empty() {
            self.note(
                &file.path,
                Some(file.line + 1),
                "the last line is incomplete: its writer was interrupted; the next entry starts on a new line",
            );
        }
        self.report.files.push(file.path.clone());
        let end = file.recent.back().map_or(0, |line| line.end);
        if file.is_current {
            self.report.heads = file.heads(u64::MAX, end);
        }
        if let Some(archived) = &file.archived {
            let found = Digest::from_bytes(file.content.clone().finalize().into());
            if file.hashed < archived.bytes || found != archived.sha256 {
                self.fault(&file.path, None, "it is not what was archived: the digest differs from the one in the ledger");
            }
        }
        let mut hashes = file.hashes;
        hashes.extend(file.inner.iter().map(Digest::short));
        self.parts.push((file.path, hashes));
    }

    fn finish(&mut self, ports: &Ports) -> Report {
        for (missed, remark) in std::mem::take(&mut self.missed) {
            let elsewhere =
                |(part, hashes): &(String, HashSet<[u8; 16]>)| *part != remark.file && hashes.contains(&missed.short());
            if !self.parts.iter().any(elsewhere) {
                let at = self.report.faults.partition_point(|other| (&other.file, other.line) < (&remark.file, remark.line));
                self.report.faults.insert(at, remark);
            }
        }
        let is_missing = |line: &Digest| !self.parts.iter().any(|(_, hashes)| hashes.contains(&line.short()));
        let expected = self.expected.filter(is_missing);
        let kept: Vec<Digest> = self.kept.iter().copied().filter(|line| expected != Some(*line) && is_missing(line)).collect();
        if let Some(expected) = expected {
            self.fault(PATH, None, &format!("the line {expected} is missing: the ledger was cut off or replaced"));
        }
        for line in kept {
            let what = format!(
                "the line {line}, which was the last when this machine wrote to the ledger, is missing: it was cut off, emptied or replaced"
            );
            self.fault(PATH, None, &what);
        }
        for name in archive::names(ports) {
            let path = format!("{ARCHIVE}/{name}");
            let known = |remark: &Remark| remark.file == path;
            if !self.report.files.contains(&path) && !self.report.faults.iter().any(known) {
                self.note(
                    &path,
                    None,
                    "no line of the ledger names this part; a person can link it with `tollgate trace archive`",
                );
            }
        }
        let mut report = std::mem::take(&mut self.report);
        report.ok = report.faults.is_empty();
        report
    }

    fn fault(&mut self, file: &str, line: Option<u64>, what: &str) {
        if self.report.faults.len() < MAX_TOLD {
            self.report.faults.push(Remark { file: file.to_owned(), line, what: what.to_owned() });
        }
    }

    fn note(&mut self, file: &str, line: Option<u64>, what: &str) {
        if self.report.notes.len() < MAX_TOLD {
            self.report.notes.push(Remark { file: file.to_owned(), line, what: what.to_owned() });
        }
    }
}

impl FileProgress {
    fn new(path: String, archived: Option<Archived>) -> Self {
        Self {
            is_current: archived.is_none(),
            path,
            archived,
            content: Sha256::new(),
            hashed: 0,
            at: 0,
            line: 0,
            rest: Vec::new(),
            hashes: HashSet::new(),
            inner: Vec::new(),
            recent: VecDeque::new(),
        }
    }

    /// Hashes what was in the part when it was archived; what was appended later is checked by the chain alone.
    fn hash_content(&mut self, bytes: &[u8]) {
        if let Some(archived) = &self.archived {
            let left = usize::try_from(archived.bytes.saturating_sub(self.hashed)).unwrap_or(usize::MAX);
            let part = bytes.get(..left.min(bytes.len())).unwrap_or_default();
            self.content.update(part);
            self.hashed += part.len() as u64;
        }
    }

    fn keep(&mut self, line: Recent) {
        self.hashes.insert(line.hash.short());
        self.inner.extend(line.inner);
        let horizon = line.end.saturating_sub(4 * WINDOW);
        while self.recent.front().is_some_and(|old| old.end < horizon) {
            self.recent.pop_front();
        }
        self.recent.push_back(line);
    }

    /// The heads as of a line: the lines up to it that no line up to it names, within the window that ends with it.
    fn heads(&self, number: u64, end: u64) -> Vec<Digest> {
        let is_head = |line: &&Recent| {
            line.number <= number && line.start >= end.saturating_sub(WINDOW) && line.named_by.is_none_or(|by| by > number)
        };
        self.recent.iter().filter(is_head).map(|line| line.hash).collect()
    }

    /// What is wrong with a link, given the lines before it: the hash that is missing, which line is bad, and why. It is reported
    /// once; lines that were found out count as named from then on.
    fn fault_of(&mut self, number: u64, tie: &Link) -> Option<(Option<Digest>, u64, String)> {
        if let Link::Follows(follows) = tie {
            let before = self.recent.back();
            let fits = before.is_some_and(|line| line.hash == *follows || line.inner == Some(*follows));
            let what =
                format!("it was changed, or the line after it was removed: line {number} was written directly after another");
            return (!fits).then(|| (None, before.map_or(number, |line| line.number), what));
        }
        let saw = tie.names();
        let missed = saw.iter().find(|hash| !self.hashes.contains(&hash.short()) && !self.inner.contains(hash));
        // The writer saw the ledger up to the last line that it names; if that line is gone, up to the line before.
        let last =
            if missed.is_some() { self.recent.back() } else { self.recent.iter().rev().find(|line| saw.contains(&line.hash)) };
        let (last, end) = last.map_or((0, 0), |line| (line.number, line.end));
        let strangers: Vec<Digest> = self.heads(last, end).into_iter().filter(|head| !saw.contains(head)).collect();
        // The nearest line takes the place of one that is missing.
        let stranger = if missed.is_some() { strangers.last() } else { strangers.first() };
        let stranger = stranger.and_then(|hash| self.recent.iter().find(|line| line.hash == *hash)).map(|line| line.number);
        for line in self.recent.iter_mut().filter(|line| strangers.contains(&line.hash)) {
            line.named_by.get_or_insert(number);
        }
        match (missed, stranger) {
            (None, None) => None,
            (Some(missed), None) => Some((
                Some(*missed),
                number,
                format!("a line before it was removed: it names {missed}, which is not in the ledger"),
            )),
            (missed, Some(stranger)) => {
                let what = match missed {
                    Some(missed) => format!(
                        "it was changed, or the line after it was removed: line {number} names {missed}, which is not in the ledger"
                    ),
                    None => format!("it was inserted or moved here later: the writer of line {number} saw the ledger without it"),
                };
                Some((missed.copied(), stranger, what))
            }
        }
    }
}
