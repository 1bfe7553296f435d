//! Renames without replacing.

use std::io;
use std::path::Path;

use cap_std::fs::{Dir, OpenOptions};

/// Renames a file and fails if the new name exists. It first reserves the new name with an empty file, because a plain rename
/// would replace a file that was created in between.
pub(super) fn rename_no_replace(from: (&Dir, &Path), to: (&Dir, &Path)) -> io::Result<()> {
    drop(to.0.open_with(to.1, OpenOptions::new().write(true).create_new(true))?);
    from.0.rename(from.1, to.0, to.1).inspect_err(|_| drop(to.0.remove_file(to.1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::ambient_authority;

    #[test]
    fn what_stands_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        dir.write("a", "a").unwrap();
        dir.write("b", "b").unwrap();
        let rename =
            |from: &str, to: &str| rename_no_replace((&dir, Path::new(from)), (&dir, Path::new(to))).map_err(|why| why.kind());
        assert_eq!(rename("a", "b"), Err(io::ErrorKind::AlreadyExists));
        assert_eq!(rename("gone", "c"), Err(io::ErrorKind::NotFound));
        assert!(!dir.exists("c"));
        assert_eq!(rename("a", "c"), Ok(()));
        assert_eq!((dir.read_to_string("b").unwrap(), dir.read_to_string("c").unwrap()), ("b".to_owned(), "a".to_owned()));
    }
}
