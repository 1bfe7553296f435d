//! What is the user's own: files below the home folder that no repository can ship.

use crate::effects::path::Location;
use crate::ports::{FileKind, Ports, Question, Root};

/// The user's own settings of Tollgate.
pub const SETTINGS: &str = ".tollgate/config.json";

/// A larger file is a mistake.
pub const MAX_BYTES: u64 = 1 << 20;

/// What a file of the user's says; none where there is none that can be read, and none where it stands in the workspace: the home
/// folder may lie in it, be it, or lead into it by a link.
pub fn read(path: &str, ports: &Ports) -> Option<Vec<u8>> {
    let question = Question { root: Root::Home, path: path.to_owned(), digest: false };
    let facts = ports.workspace.inspect(&[question]).pop().filter(|facts| facts.kind == FileKind::File)?;
    match Location::reported(&facts.real_path?) {
        Location::Outside(_) => ports.workspace.read(Root::Home, path, MAX_BYTES).ok(),
        Location::Inside(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::memory::{HOME, Memory};

    #[test]
    fn what_stands_in_the_workspace_is_nobodys() {
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
