//! Giving a file a name that nobody has.

use std::io;
use std::path::Path;

use cap_std::fs::{Dir, OpenOptions};

/// Renames, and never over a file that stands there. The name is taken first, with an empty file: a plain rename replaces
/// whatever came in between.
pub(super) fn to_new_name(from: (&Dir, &Path), to: (&Dir, &Path)) -> io::Result<()> {
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
        let rename = |from: &str, to: &str| to_new_name((&dir, Path::new(from)), (&dir, Path::new(to))).map_err(|why| why.kind());
        assert_eq!(rename("a", "b"), Err(io::ErrorKind::AlreadyExists));
        assert_eq!(rename("gone", "c"), Err(io::ErrorKind::NotFound));
        assert!(!dir.exists("c"));
        assert_eq!(rename("a", "c"), Ok(()));
        assert_eq!((dir.read_to_string("b").unwrap(), dir.read_to_string("c").unwrap()), ("b".to_owned(), "a".to_owned()));
    }
}
