//! Implements `workspace`: reads and lists files.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};

use sha2::{Digest as _, Sha256};

use crate::Helper;
use crate::exports::tollgate::hooks::workspace::{Entry, Facts, Fault, Guest, Kind, Listing, Question, Reach, Root, Tail};
use crate::folders::{self, Names};
use crate::walk::{LookupResult, NO_MARKS, look_up, walk};

/// The only parts of the home folder whose content may be read. Its other folders contain files that an agent could be after.
const HOME: &[&[&str]] = &[
    &[".tollgate"],
    &[".ollm"],
    &[".claude", "settings.json"],
    &[".gemini", "settings.json"],
    &[".codex", "config.toml"],
    &[".claude", "skills"],
    &[".codex", "skills"],
    &[".gemini", "skills"],
    &[".agents", "skills"],
];

impl Guest for Helper {
    fn inspect(questions: Vec<Question>) -> Vec<Facts> {
        questions.iter().map(facts).collect()
    }

    fn read(root: Root, path: String, limit_bytes: u64) -> Result<Vec<u8>, Fault> {
        let (mut file, size) = open(root, &path)?;
        if size > limit_bytes {
            return Err(Fault::TooLarge);
        }
        read_up_to(&mut file, limit_bytes.saturating_add(1))
            .and_then(|bytes| if bytes.len() as u64 > limit_bytes { Err(Fault::TooLarge) } else { Ok(bytes) })
    }

    fn read_range(root: Root, path: String, offset: u64, limit_bytes: u64) -> Result<Vec<u8>, Fault> {
        let (mut file, _) = open(root, &path)?;
        file.seek(SeekFrom::Start(offset)).map_err(fault)?;
        read_up_to(&mut file, limit_bytes)
    }

    fn read_tail(root: Root, path: String, limit_bytes: u64) -> Result<Tail, Fault> {
        let (mut file, size) = open(root, &path)?;
        let offset = size.saturating_sub(limit_bytes);
        file.seek(SeekFrom::Start(offset)).map_err(fault)?;
        Ok(Tail { offset, bytes: read_up_to(&mut file, size - offset)? })
    }

    fn list(root: Root, directory: String, reach: Reach) -> Result<Listing, Fault> {
        let folder = resolve_readable(root, &directory, true)?;
        let mut listing = Listing { entries: Vec::new(), truncated: false, unseen: None };
        collect(&folder, "", reach.depth, &reach, &mut listing);
        listing.entries.sort_by(|one, other| one.path.cmp(&other.path));
        if listing.entries.len() > reach.limit as usize {
            listing.entries.truncate(reach.limit as usize);
            listing.truncated = true;
        }
        Ok(listing)
    }
}

fn facts(Question { root, path, digest }: &Question) -> Facts {
    let walked = walk(*root, path);
    let reported = |names: &Option<Names>| names.as_deref().map(folders::reported_path);
    let (real_path, entry_path) = (reported(&walked.real), reported(&walked.entry));
    let (kind, hard_links, marks, size) = match walked.found {
        LookupResult::Missing => (Kind::Missing, 0, NO_MARKS, 0),
        LookupResult::Denied => (Kind::Unreadable, 0, NO_MARKS, 0),
        LookupResult::Found(stat) => (stat.kind, stat.hard_links, stat.marks, stat.size),
    };
    let in_project = walked.real.zip(folders::root_path(Root::Project)).filter(|(real, project)| real.starts_with(project));
    let hashed = in_project.filter(|_| *digest && kind == Kind::File);
    let digest = hashed.and_then(|(real, _)| sha256(&folders::absolute_path(&real)));
    Facts { kind, real_path, entry_path, link: walked.link, hard_links, marks, size, digest }
}

fn sha256(path: &str) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let (mut hash, mut chunk) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        let length = file.read(&mut chunk).ok()?;
        if length == 0 {
            return Some(hash.finalize().iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}")));
        }
        hash.update(chunk.get(..length)?);
    }
}

/// Resolves the path of a file or folder that may be read.
fn resolve_readable(root: Root, path: &str, is_folder: bool) -> Result<Names, Fault> {
    let walked = walk(root, path);
    let real = walked.real.ok_or(Fault::Missing)?;
    let below = folders::root_path(root).and_then(|folder| real.strip_prefix(folder.as_slice())).ok_or(Fault::Denied)?;
    if root == Root::Home
        && !HOME.iter().any(|lent| lent.len() <= below.len() && lent.iter().zip(below).all(|(lent, name)| lent == name))
    {
        return Err(Fault::Denied);
    }
    match walked.found {
        LookupResult::Missing => Err(Fault::Missing),
        LookupResult::Found(stat) if (stat.kind == Kind::Directory) == is_folder && stat.kind != Kind::Other => Ok(real),
        LookupResult::Found(_) => Err(Fault::Other),
        LookupResult::Denied => Err(Fault::Denied),
    }
}

fn open(root: Root, path: &str) -> Result<(File, u64), Fault> {
    let file = File::open(folders::absolute_path(&resolve_readable(root, path, false)?)).map_err(fault)?;
    let size = file.metadata().map_err(fault)?.len();
    Ok((file, size))
}

fn read_up_to(file: &mut File, limit: u64) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).map_err(fault)?;
    Ok(bytes)
}

fn collect(folder: &Names, before: &str, depth: u32, reach: &Reach, listing: &mut Listing) {
    let Ok(names) = fs::read_dir(folders::absolute_path(folder)) else {
        listing.unseen.get_or_insert(before.to_owned());
        return;
    };
    for name in names.flatten() {
        // One entry beyond the limit shows that there are more.
        if listing.entries.len() > reach.limit as usize {
            return;
        }
        let name = match name.file_name().into_string() {
            Ok(name) => name,
            Err(name) => {
                listing.unseen.get_or_insert(format!("{before}{}", name.to_string_lossy()));
                continue;
            }
        };
        let at = [folder.as_slice(), &[name.clone()]].concat();
        let LookupResult::Found(stat) = look_up(&at) else { continue };
        let path = format!("{before}{name}");
        let link = if stat.is_link {
            fs::read_link(folders::absolute_path(&at)).ok().and_then(|link| link.into_os_string().into_string().ok())
        } else {
            None
        };
        let enters = stat.kind == Kind::Directory && depth > 1 && !reach.skip.contains(&name);
        listing.entries.push(Entry {
            path: path.clone(),
            kind: stat.kind,
            link,
            hard_links: stat.hard_links,
            marks: stat.marks,
            size: stat.size,
        });
        if enters {
            collect(&at, &format!("{path}/"), depth - 1, reach, listing);
        }
    }
}

/// Maps an error of the operating system to a fault of the contract.
pub fn fault(error: std::io::Error) -> Fault {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::NotFound => Fault::Missing,
        ErrorKind::PermissionDenied => Fault::Denied,
        ErrorKind::AlreadyExists => Fault::Exists,
        ErrorKind::StorageFull => Fault::Full,
        _ => Fault::Other,
    }
}
