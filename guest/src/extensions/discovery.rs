//! Finds extensions: the folders in which they are looked for, and what is there.

use std::rc::Rc;

use super::fault::ExtensionFault;
use super::manifest::{self, HookDeclarations, Manifest};
use super::path;
use crate::effects::path::Location;
use crate::hooks::registry::Source;
use crate::ports::{Facts, FileKind, ListingLimits, Ports, Question, Root};

/// Maximum number of extensions in one folder; more are a mistake.
pub const MAX_EXTENSIONS: u32 = 500;

/// The folders of extensions, in order of precedence.
pub const PLACES: [(Root, &str, &str); 4] = [
    (Root::Home, ".tollgate/extensions", "~/.tollgate/extensions"),
    (Root::Home, ".ollm/extensions", "~/.ollm/extensions"),
    (Root::Project, ".tollgate/extensions", ".tollgate/extensions"),
    (Root::Project, ".ollm/extensions", ".ollm/extensions"),
];

/// A folder with a manifest.
#[derive(Debug)]
pub struct ExtensionFolder {
    /// Whose extension it is.
    pub source: Source,
    /// Where it is read from.
    pub root: Root,
    /// The folder, below the root.
    pub path: String,
    /// The folder's path as shown to people.
    pub shown: String,
    /// Where it really is: relative to the workspace if it is inside it, otherwise absolute.
    pub real: String,
    /// Its manifest, or what is wrong with it.
    pub manifest: Result<Manifest, Vec<ExtensionFault>>,
    /// The stamps of the files that were read: the manifest, and the hooks if they are in a file of their own.
    stamps: (u64, u64),
}

impl ExtensionFolder {
    /// An extension in any folder of the workspace, for people who are developing it.
    pub fn of_folder(path: &str, ports: &Ports) -> Self {
        let real = ports.workspace.inspect(&[question(Root::Project, path)]).pop().and_then(|facts| facts.real_path);
        load(Source::Workspace, Root::Project, path.to_owned(), path.to_owned(), &real.unwrap_or_default(), 0, ports)
    }

    /// Everything that is wrong with the extension.
    pub fn all_faults(&self, ports: &Ports) -> Vec<ExtensionFault> {
        match &self.manifest {
            Err(faults) => faults.clone(),
            Ok(manifest) => {
                let hooks = super::hooks::read(self, manifest, ports).err().unwrap_or_default();
                hooks.into_iter().chain(super::missing_component(self, manifest, ports)).collect()
            }
        }
    }

    /// Whether it is the workspace's, so that a person has to approve it.
    pub fn is_of_workspace(&self) -> bool {
        self.source == Source::Workspace
    }

    /// The path of one of its files, as shown to people.
    pub fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.shown)
    }

    /// Reads one of its files, provided that it is not a link and is inside the folder.
    pub fn read(&self, name: &str, limit: u64, ports: &Ports) -> Result<Vec<u8>, String> {
        path::check_inside(name)?;
        let asked = format!("{}/{name}", self.path);
        let facts = ports.workspace.inspect(&[question(self.root, &asked)]).pop();
        let expected = format!("{}/{}", self.real, name.strip_prefix("./").unwrap_or(name));
        match facts {
            Some(facts) if facts.kind == FileKind::Missing => {
                Err(format!("`{name}` does not exist; create it, or correct the path"))
            }
            Some(facts) if facts.kind == FileKind::File && facts.real_path.as_ref() == Some(&expected) => {
                ports.workspace.read(self.root, &asked, limit).map_err(|fault| format!("`{name}` cannot be read: {fault}"))
            }
            _ => Err(format!("`{name}` is a link, or not a file; replace it with a file")),
        }
    }

    fn hooks_file(&self) -> Option<String> {
        match &self.manifest.as_ref().ok()?.hooks {
            HookDeclarations::File(file) => Some(format!("{}/{file}", self.path)),
            HookDeclarations::Written(_) => None,
        }
    }
}

/// The extensions in all folders, read once and kept until they change.
#[derive(Debug, Default)]
pub struct Places {
    /// What was found, in order.
    pub found: Vec<Rc<ExtensionFolder>>,
    /// What is wrong with the folders themselves.
    pub faults: Vec<ExtensionFault>,
}

/// What to ask the host before [`Places::refresh`].
pub fn questions() -> [Question; 4] {
    PLACES.map(|(root, path, _)| question(root, path))
}

fn question(root: Root, path: &str) -> Question {
    Question { root, path: path.to_owned(), digest: false }
}

impl Places {
    /// Refreshes what was found, given what the host saw of [`questions`]. Returns whether anything has changed, and what the
    /// host saw of `beside`, which is asked in the same request.
    pub fn refresh(&mut self, facts: &[Facts], beside: &[Question], ports: &Ports) -> (bool, Vec<Facts>) {
        let before: Vec<Rc<ExtensionFolder>> = std::mem::take(&mut self.found);
        let faults_before = std::mem::take(&mut self.faults);
        let mut candidates: Vec<(usize, String, Source, String)> = Vec::new();
        let mut looked_in: Vec<&str> = Vec::new();
        for (at, ((root, folder, shown), facts)) in PLACES.iter().zip(facts).enumerate() {
            let Some(real) = facts.real_path.as_deref().filter(|_| facts.kind == FileKind::Directory) else { continue };
            // If the workspace is the home folder, both are the same folder.
            if looked_in.contains(&real) {
                continue;
            }
            looked_in.push(real);
            // A user folder inside the workspace belongs to the workspace: anyone who can write there may have written it.
            let is_outside = matches!(Location::from_host(real), Location::Outside(_));
            let source = if *root == Root::Home && is_outside { Source::User } else { Source::Workspace };
            if facts.entry_path.as_deref() != Some(real) || *root == Root::Project && is_outside {
                self.faults.push(ExtensionFault::new(shown, "is a link; replace it with the folder"));
                continue;
            }
            let listing =
                match ports.workspace.list(*root, folder, &ListingLimits { depth: 1, limit: MAX_EXTENSIONS, skip: Vec::new() }) {
                    Ok(listing) => listing,
                    Err(fault) => {
                        self.faults.push(ExtensionFault::new(shown, format!("cannot be read: {fault}")));
                        continue;
                    }
                };
            if listing.truncated {
                self.faults
                    .push(ExtensionFault::new(shown, format!("has more than {MAX_EXTENSIONS} entries; the rest is left out")));
            }
            for entry in listing.entries {
                let name = entry.path;
                match entry.kind {
                    FileKind::Directory => candidates.push((at, name.clone(), source, format!("{real}/{name}"))),
                    FileKind::Other if entry.link.is_some() => {
                        let shown = format!("{shown}/{name}");
                        self.faults.push(ExtensionFault::new(&shown, "is a link; replace it with the extension's folder"));
                    }
                    _ => {}
                }
            }
        }
        let mut asked: Vec<Question> = Vec::new();
        for (at, name, ..) in &candidates {
            if let Some((root, folder, _)) = PLACES.get(*at) {
                asked.push(question(*root, &format!("{folder}/{name}/{}", manifest::FILE)));
            }
        }
        let known = |real: &str| before.iter().find(|found| found.real == real);
        let files: Vec<(usize, String)> =
            candidates.iter().enumerate().filter_map(|(at, (.., real))| Some((at, known(real)?.hooks_file()?))).collect();
        asked.extend(files.iter().filter_map(|(at, file)| {
            let (place, ..) = candidates.get(*at)?;
            Some(question(PLACES.get(*place)?.0, file))
        }));
        let own = asked.len();
        asked.extend_from_slice(beside);
        let mut looked_at = ports.workspace.inspect(&asked);
        let beside = looked_at.split_off(own.min(looked_at.len()));
        let mut is_same = true;
        for (at, (place, name, source, real)) in candidates.iter().enumerate() {
            let Some((facts, (root, folder, shown))) = looked_at.get(at).zip(PLACES.get(*place)) else { continue };
            if facts.kind == FileKind::Missing {
                continue;
            }
            let file = files.iter().position(|(candidate, _)| *candidate == at);
            let hooks = file.and_then(|file| looked_at.get(candidates.len() + file)).map_or(0, |facts| facts.stamp);
            match known(real) {
                Some(found) if found.stamps == (facts.stamp, hooks) && found.source == *source => self.found.push(found.clone()),
                _ => {
                    is_same = false;
                    let path = format!("{folder}/{name}");
                    self.found.push(Rc::new(load(*source, *root, path, format!("{shown}/{name}"), real, facts.stamp, ports)));
                }
            }
        }
        is_same &= self.found.len() == before.len() && self.faults == faults_before;
        (!is_same, beside)
    }
}

fn load(source: Source, root: Root, path: String, shown: String, real: &str, stamp: u64, ports: &Ports) -> ExtensionFolder {
    let mut found =
        ExtensionFolder { source, root, path, shown, real: real.to_owned(), manifest: Err(Vec::new()), stamps: (stamp, 0) };
    let file = found.file(manifest::FILE);
    found.manifest = match found.read(manifest::FILE, manifest::MAX_BYTES, ports) {
        Ok(text) => Manifest::read(&text, &file),
        Err(why) => Err(vec![ExtensionFault::new(&file, why)]),
    };
    if let Some(hooks) = found.hooks_file() {
        found.stamps.1 = ports.workspace.inspect(&[question(root, &hooks)]).pop().map_or(0, |facts| facts.stamp);
    }
    found
}
