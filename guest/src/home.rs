//! The user's own files: those below the home folder that no repository can ship.

use crate::effects::path::Location;
use crate::ports::{FileKind, Ports, Question, Root};
use crate::programs::{PROGRAMS, SKILL_FOLDERS};

/// Tollgate's own folders below the home folder.
const OWN: [&str; 2] = [".tollgate", ".ollm"];

/// The only parts of the home folder that a host lets the gate read: Tollgate's own folders, the settings in which agent programs
/// store permissions, and the folders in which they keep skills.
pub fn readable() -> impl Iterator<Item = &'static str> {
    let settings = PROGRAMS.iter().filter_map(|program| Some(program.permissions?.file));
    OWN.into_iter().chain(settings).chain(SKILL_FOLDERS)
}

/// The user's own settings of Tollgate.
pub const SETTINGS: &str = ".tollgate/config.json";

/// Maximum size of a file; a larger one is a mistake.
pub const MAX_BYTES: u64 = 1 << 20;

/// Reads a file of the user's. `None` if it cannot be read, or if it is in the workspace: the home folder may be inside the
/// workspace, be the workspace, or lead into it by a link.
pub fn read(path: &str, ports: &Ports) -> Option<Vec<u8>> {
    let question = Question { root: Root::Home, path: path.to_owned(), digest: false };
    let facts = ports.workspace.inspect(&[question]).pop().filter(|facts| facts.kind == FileKind::File)?;
    match Location::from_host(&facts.real_path?) {
        Location::Outside(_) => ports.workspace.read(Root::Home, path, MAX_BYTES).ok(),
        Location::Inside(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::memory::{HOME, Memory};

    #[test]
    fn little_is_readable() {
        let settings = [".claude/settings.json", ".codex/config.toml", ".gemini/settings.json"];
        let expected: Vec<&str> = OWN.into_iter().chain(settings).chain(SKILL_FOLDERS).collect();
        assert_eq!(readable().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn user_files_that_link_into_the_workspace_are_ignored() {
        let world = Memory::new();
        assert_eq!(read(SETTINGS, &world.ports()), None);
        world.write("shipped.json", "{}");
        world.symlink("/workspace/shipped.json", &format!("{HOME}/{SETTINGS}"));
        assert_eq!(read(SETTINGS, &world.ports()), None);
        world.delete(&format!("{HOME}/{SETTINGS}"));
        world.write_home(SETTINGS, "{}");
        assert_eq!(read(SETTINGS, &world.ports()).as_deref(), Some(&b"{}"[..]));
    }
}
