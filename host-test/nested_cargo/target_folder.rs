//! Where cargo's target folder is.

use std::path::Path;

/// The target folder, given a path below its `build` folder, where cargo keeps build scripts and what they write. How deep such a path
/// is depends on the version of cargo.
pub(crate) fn target_folder(path: &Path) -> Option<&Path> {
    let build = path.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "build"))?;
    // The folder between them is the profile's.
    build.parent()?.parent()
}
