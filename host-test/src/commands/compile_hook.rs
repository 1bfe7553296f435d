//! `tollgate compile-hook`: makes native code of an approved component, in a process of its own with limits of its own.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::cli::failed;

/// The options of `tollgate compile-hook`.
#[derive(Args)]
pub(crate) struct Options {
    /// The component, by its digest
    #[arg(value_name = "DIGEST")]
    digest: String,
    /// The home folder that keeps it
    #[arg(long, value_name = "DIR")]
    home: PathBuf,
}

/// Compiles, and leaves the result in the cache.
#[cfg(feature = "compiler")]
pub(crate) fn run(options: &Options) -> ExitCode {
    let cache = tollgate::components::Cache::new(&options.home);
    match tollgate::components::compile_here(&cache, &options.digest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => failed(&why),
    }
}

/// There is nothing here that compiles.
#[cfg(not(feature = "compiler"))]
pub(crate) fn run(options: &Options) -> ExitCode {
    failed(&format!(
        "this `tollgate` was built without a compiler, so `{}` is not compiled ({})",
        options.digest,
        options.home.display()
    ))
}
