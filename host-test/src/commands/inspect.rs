//! `tollgate inspect FILE`: shows what a component is, what it asks for, and whether it can be a hook.
//! `tollgate pack-hook`: embeds a manifest in a component.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use tollgate_guest::hooks::components::binary::{custom_section, outer};
use tollgate_guest::hooks::components::grant::{Allowed, HookGrant};
use tollgate_guest::hooks::components::inspection::Inspection;
use tollgate_guest::hooks::components::manifest::HookManifest;
use tollgate_guest::hooks::components::{MANIFEST_SECTION, MAX_COMPONENT_BYTES};

use crate::cli::output::escape;
use crate::cli::{fail, print_message};

/// The options of `tollgate inspect`.
#[derive(Args)]
pub(crate) struct Options {
    /// The component
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print one JSON object, for programs
    #[arg(long)]
    json: bool,
}

/// The options of `tollgate pack-hook`.
#[derive(Args)]
pub(crate) struct PackOptions {
    /// The component
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Its manifest, as JSON
    #[arg(value_name = "MANIFEST")]
    manifest: PathBuf,
    /// Where to write the component with its manifest [default: FILE itself]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Shows a component; exits with 1 if it cannot be a hook.
pub(crate) fn run(options: &Options) -> ExitCode {
    let bytes = match read(&options.file) {
        Ok(bytes) => bytes,
        Err(why) => return fail(&why),
    };
    let file = options.file.display().to_string();
    match Inspection::read(&bytes) {
        Err(why) => {
            if options.json {
                print(&json!({"file": file, "hook": false, "why": why.to_string()}).to_string());
            } else {
                print_message(&format!("`{file}` cannot be a hook: {why}"));
            }
            ExitCode::from(1)
        }
        Ok(found) => {
            let grants = HookGrant::of(&found.manifest, &Allowed::default()).in_words();
            if options.json {
                let mut shown = found.to_json();
                if let Some(fields) = shown.as_object_mut() {
                    fields.insert("file".to_owned(), file.into());
                    fields.insert("hook".to_owned(), true.into());
                    fields.insert("asks".to_owned(), grants.into());
                }
                print(&shown.to_string());
            } else {
                lines(&found, &grants).iter().for_each(|line| print(line));
            }
            ExitCode::SUCCESS
        }
    }
}

fn lines(found: &Inspection, grants: &[String]) -> Vec<String> {
    let HookManifest { name, version, description, settings, .. } = &found.manifest;
    let title = if name.is_empty() { "a hook without a manifest".to_owned() } else { format!("{name} {version}") };
    let title = if description.is_empty() { title } else { format!("{}: {description}", title.trim()) };
    let mut lines = vec![escape(title.trim())];
    let mut row = |name: &str, value: &str| lines.push(format!("  {name:<9} {}", escape(value)));
    let shown = found.to_json();
    row("contract", shown.get("contract").and_then(Value::as_str).unwrap_or_default());
    row("exports", &found.functions.iter().map(|function| function.as_str()).collect::<Vec<_>>().join(", "));
    let wasi = found.imports.iter().filter(|name| name.starts_with("wasi:")).count();
    let own: Vec<&str> = found.imports.iter().map(String::as_str).filter(|name| !name.starts_with("wasi:")).collect();
    let wasi = if wasi == 0 { String::new() } else { format!(" and {wasi} WASI interfaces, which have no effect") };
    let own = if own.is_empty() { "nothing".to_owned() } else { own.join(", ") };
    row("imports", &format!("{own}{wasi}"));
    grants.iter().for_each(|grant| row("asks", grant));
    if let Some(schema) = settings {
        let names = schema.get("properties").and_then(Value::as_object);
        let names: Vec<&str> = names.into_iter().flat_map(|names| names.keys().map(String::as_str)).collect();
        row("settings", &names.join(", "));
    }
    row("size", &format!("{} bytes", found.bytes));
    row("digest", &found.digest.to_string());
    lines
}

/// Embeds a manifest in a component, replacing an existing manifest.
pub(crate) fn pack(options: &PackOptions) -> ExitCode {
    let packed = || -> Result<(), String> {
        let mut bytes = read(&options.file)?;
        let manifest =
            fs::read(&options.manifest).map_err(|why| format!("`{}` cannot be read: {why}", options.manifest.display()))?;
        HookManifest::parse(&manifest).map_err(|why| format!("`{}`: {why}", options.manifest.display()))?;
        // This command puts the manifest at the end, so that is where an earlier one is.
        let earlier = outer(&bytes).map_err(|why| format!("`{}` cannot be a hook: {why}", options.file.display()))?;
        let section = earlier.custom.iter().find(|(name, _)| *name == MANIFEST_SECTION);
        if let Some(section) = section.map(|(name, content)| custom_section(name, content)) {
            match bytes.strip_suffix(section.as_slice()).map(<[u8]>::len) {
                Some(length) => bytes.truncate(length),
                None => return Err(format!("`{}` has a manifest already; build it again", options.file.display())),
            }
        }
        bytes.extend(custom_section(MANIFEST_SECTION, &manifest));
        Inspection::read(&bytes).map_err(|why| format!("`{}` cannot be a hook: {why}", options.file.display()))?;
        let output = options.output.as_ref().unwrap_or(&options.file);
        fs::write(output, &bytes).map_err(|why| format!("`{}` cannot be written: {why}", output.display()))
    };
    match packed() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => fail(&why),
    }
}

/// The bytes of a file that may be a component.
pub(super) fn read(file: &Path) -> Result<Vec<u8>, String> {
    let unreadable = |why: io::Error| format!("`{}` cannot be read: {why}", file.display());
    let length = fs::metadata(file).map_err(unreadable)?.len();
    if length > MAX_COMPONENT_BYTES {
        return Err(format!("`{}` is longer than {} MiB", file.display(), MAX_COMPONENT_BYTES >> 20));
    }
    fs::read(file).map_err(unreadable)
}

fn print(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}
