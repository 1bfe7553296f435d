//! All skills, each under a unique name.
//!
//! Skills come from the manifests of active extensions, from `skills/NAME/SKILL.md` in them, and from the folders in which agent
//! programs keep skills, the user's before the workspace's. If a name is taken, a skill of an extension is called
//! `EXTENSION:NAME`, and any other skill is prefixed with where it comes from; every skill of an extension can be called by the
//! prefixed name.

use super::discovery::ExtensionFolder;
use super::fault::ExtensionFault;
use super::manifest::Skill;
use super::skill_file;
use crate::effects::path::Location;
use crate::hooks::registry::Source;
use crate::ports::{FileKind, ListingLimits, Ports, Question, Root};
use crate::programs::SKILL_FOLDERS;

/// Our own folder of skills, in the home folder and in the workspace.
const OWN: &str = ".tollgate/skills";

/// Maximum number of skills in one folder; more are a mistake.
const MAX_SKILLS: u32 = 500;

/// The folder of skills in an extension.
const IN_EXTENSION: &str = "skills";

/// A skill under the name by which it is invoked.
#[derive(Debug, Clone)]
pub struct RegisteredSkill {
    /// The name.
    pub name: String,
    /// The skill.
    pub skill: Skill,
    /// Whose skill it is.
    pub source: Source,
    /// The extension that provides it.
    pub extension: Option<String>,
    /// The file that it is in.
    pub file: String,
}

impl RegisteredSkill {
    /// Whether a name refers to it.
    pub fn matches_name(&self, name: &str) -> bool {
        let qualified = || self.extension.as_ref().is_some_and(|extension| format!("{extension}:{}", self.skill.name) == name);
        self.name == name || qualified()
    }
}

/// The skills, and what is wrong with files that should contain some.
#[derive(Debug, Default)]
pub struct Skills {
    /// All of them, in order.
    pub all: Vec<RegisteredSkill>,
    /// What cannot be used.
    pub faults: Vec<ExtensionFault>,
}

impl Skills {
    /// Adds the skills of an extension.
    pub fn add_extension(&mut self, found: &ExtensionFolder, ports: &Ports) {
        let Ok(manifest) = &found.manifest else { return };
        let file = found.file(super::manifest::FILE);
        for skill in &manifest.skills {
            self.add(skill.clone(), found.source, Some(&manifest.name), file.clone());
        }
        let folder = format!("{}/{IN_EXTENSION}", found.path);
        for (name, file) in self.folders(found.root, &folder, ports) {
            let shown = found.file(&format!("{IN_EXTENSION}/{name}/{}", skill_file::FILE));
            self.add_file(found.root, &file, &name, &shown, found.source, Some(&manifest.name), ports);
        }
    }

    /// Adds the skills in folders that belong to no extension.
    pub fn add_folders(&mut self, ports: &Ports) {
        let at_home = SKILL_FOLDERS.iter().map(|folder| (Root::Home, *folder));
        let in_project = SKILL_FOLDERS.iter().map(|folder| (Root::Project, *folder));
        let all: Vec<(Root, &str)> =
            std::iter::once((Root::Home, OWN)).chain(at_home).chain([(Root::Project, OWN)]).chain(in_project).collect();
        let questions: Vec<Question> =
            all.iter().map(|(root, path)| Question { root: *root, path: (*path).to_owned(), digest: false }).collect();
        let mut seen: Vec<String> = Vec::new();
        for ((root, folder), facts) in all.into_iter().zip(ports.workspace.inspect(&questions)) {
            let Some(real) = facts.real_path.filter(|_| facts.kind == FileKind::Directory) else { continue };
            if seen.contains(&real) {
                continue;
            }
            let is_outside = matches!(Location::from_host(&real), Location::Outside(_));
            seen.push(real);
            let source = if root == Root::Home && is_outside { Source::User } else { Source::Workspace };
            for (name, file) in self.folders(root, folder, ports) {
                let shown = if root == Root::Home { format!("~/{file}") } else { file.clone() };
                self.add_file(root, &file, &name, &shown, source, None, ports);
            }
        }
    }

    /// The folders that contain a skill, by name, with the skill's file.
    fn folders(&self, root: Root, folder: &str, ports: &Ports) -> Vec<(String, String)> {
        let reach = ListingLimits { depth: 2, limit: MAX_SKILLS * 8, skip: Vec::new() };
        let entries = ports.workspace.list(root, folder, &reach).map(|listing| listing.entries).unwrap_or_default();
        let file = |path: &str| {
            let name = path.strip_suffix(skill_file::FILE)?.strip_suffix('/')?;
            Some((name.to_owned(), format!("{folder}/{path}")))
        };
        entries.iter().filter(|entry| entry.kind == FileKind::File).filter_map(|entry| file(&entry.path)).collect()
    }

    #[allow(clippy::too_many_arguments)]
    fn add_file(
        &mut self,
        root: Root,
        file: &str,
        name: &str,
        shown: &str,
        source: Source,
        extension: Option<&str>,
        ports: &Ports,
    ) {
        let text = ports.workspace.read(root, file, super::manifest::MAX_PROMPT as u64);
        let read = text.map_err(|fault| format!("cannot be read: {fault}"));
        let read = read.and_then(|text| String::from_utf8(text).map_err(|_| "is not UTF-8".to_owned()));
        match read.and_then(|text| skill_file::read(&text, name)) {
            Ok(skill) => self.add(skill, source, extension, shown.to_owned()),
            Err(why) => self.faults.push(ExtensionFault::new(shown, why)),
        }
    }

    fn add(&mut self, skill: Skill, source: Source, extension: Option<&str>, file: String) {
        let extension = extension.map(str::to_owned);
        self.all.push(RegisteredSkill { name: skill.name.clone(), skill, source, extension, file });
    }

    /// Gives every skill a unique name.
    pub fn assign_unique_names(&mut self) {
        let names: Vec<String> = self.all.iter().map(|registered| registered.skill.name.clone()).collect();
        let is_shared = |name: &str| names.iter().filter(|other| *other == name).count() > 1;
        let mut taken: Vec<String> = Vec::new();
        for registered in &mut self.all {
            let plain = registered.skill.name.clone();
            let whose = match &registered.extension {
                Some(extension) => extension.clone(),
                None => registered.source.as_str().to_owned(),
            };
            // Of the skills that belong to no extension, the first keeps the plain name.
            let keeps = registered.extension.is_none() && !taken.contains(&plain);
            let name = if !is_shared(&plain) || keeps { plain } else { format!("{whose}:{plain}") };
            let numbered = |at: usize| if at == 1 { name.clone() } else { format!("{name}-{at}") };
            let name = (1..).map(numbered).find(|name| !taken.contains(name)).unwrap_or(name.clone());
            taken.push(name.clone());
            registered.name = name;
        }
    }
}
