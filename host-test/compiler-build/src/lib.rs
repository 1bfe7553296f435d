//! Builds the programs that compile components, and knows where they are.

use std::env;
use std::env::consts::EXE_SUFFIX;
use std::io;
use std::path::PathBuf;

mod folder;
#[path = "../../nested_cargo/target_folder.rs"]
mod target_folder;

/// For build scripts: the program `precompile COMPONENT CODE [TARGET]`, which compiles the gate itself.
pub fn precompile() -> io::Result<PathBuf> {
    // Where this build script runs, not where it was compiled: the target folder may have been copied from another work tree.
    let script = env::current_exe()?;
    let target =
        target_folder::target_folder(&script).ok_or_else(|| io::Error::other("build scripts are in the target folder"))?;
    Ok(target.join(folder::FOLDER).join("release").join(format!("precompile{EXE_SUFFIX}")))
}
