//! Settings files that a command changes once a person has seen how.

use std::io::Write as _;
use std::path::Path;
use std::{fs, io};

use super::Stop;

/// What a file says; nothing where there is none.
pub(crate) fn read(path: &Path) -> Result<Option<String>, Stop> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(fault) => Err(Stop::Fault(format!("`{}` cannot be read: {fault}", path.display()))),
    }
}

/// Puts a file in the place of one that is still what it was.
pub(crate) fn replace(path: &Path, before: Option<&str>, after: &str) -> Result<(), Stop> {
    let write = || -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut draft = tempfile::Builder::new().prefix(".tollgate-").tempfile_in(folder)?;
        draft.write_all(after.as_bytes())?;
        if let Ok(facts) = fs::metadata(path) {
            draft.as_file().set_permissions(facts.permissions())?;
        }
        draft.persist(path).map(drop).map_err(|fault| fault.error)
    };
    let shown = path.display();
    if read(path)?.as_deref() != before {
        return Err(Stop::Fault(format!("`{shown}` has changed since it was shown; nothing was changed")));
    }
    write().map_err(|fault| Stop::Fault(format!("`{shown}` cannot be written: {fault}; nothing was changed")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_meanwhile_stays() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("config.json");
        fs::write(&path, "{}").unwrap();
        for before in [None, Some("{ }")] {
            let Err(Stop::Fault(why)) = replace(&path, before, "{\"a\": 1}") else { panic!() };
            assert!(why.contains("has changed"), "{why}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
    }
}
