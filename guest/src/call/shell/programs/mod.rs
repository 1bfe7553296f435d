//! What programs do with their arguments, one family per file.

mod archive;
mod awk;
mod copy;
mod editors;
mod files;
mod find;
mod formatters;
mod git;
mod git_tree;
mod interpreters;
mod network;
mod patch;
mod perl;
mod prefix;
mod readers;
mod sed;
mod tools;

use super::flags::{Flags, Spec};
use super::trace::{Folder, Input, Trace};
use super::value::{Arg, shown};
use super::world::World;
use crate::call::effect::Deed;

/// One program, run with arguments.
#[derive(Clone, Copy)]
pub(super) struct Call<'c> {
    /// Its name without folders.
    pub(super) name: &'c str,
    pub(super) args: &'c [Arg],
    pub(super) world: &'c World,
    pub(super) input: &'c Input,
}

impl Call<'_> {
    /// The call as a person would write it, for reasons.
    fn shown(&self) -> String {
        let words: Vec<&str> = std::iter::once(self.name).chain(self.args.iter().map(|arg| arg.text.as_str())).collect();
        shown(&words.join(" "))
    }
}

/// Folders in which a program's name means what it usually means.
const SYSTEM_FOLDERS: &[&str] =
    &["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"];

/// Whether a command changes no file, whatever its arguments: then its patterns need not be expanded.
pub(super) fn only_looks(name: &str) -> bool {
    matches!(name, "echo" | "cat" | "head" | "test" | "printf") || readers::READERS.binary_search(&name).is_ok()
}

/// Enters what a program does.
pub(super) fn run(trace: &mut Trace<'_>, program: &Arg, args: &[Arg], world: &World, input: &Input) {
    let name = match program.text.rsplit_once('/') {
        Some((folder, name)) if SYSTEM_FOLDERS.contains(&folder) => name,
        Some(_) => {
            if program.text.starts_with("/dev/") {
                return trace.unknown(format!("`{}` is a command that is only known when it runs", shown(&program.text)));
            }
            return trace.execute(world, Some(program));
        }
        None => program.text.as_str(),
    };
    let name = name.strip_suffix(".exe").unwrap_or(name);
    let call = Call { name, args, world, input };
    let families: &[fn(&mut Trace<'_>, &Call<'_>) -> bool] = &[
        readers::run,
        files::run,
        copy::run,
        editors::run,
        find::run,
        prefix::run,
        interpreters::run,
        archive::run,
        network::run,
        patch::run,
        formatters::run,
        git::run,
    ];
    if !families.iter().any(|family| family(trace, &call)) {
        trace.execute(world, None);
    }
}

/// Notes in a world which folders `mkdir` has made there.
pub(super) fn remember_folders(trace: &Trace<'_>, args: &[Arg], world: &mut World) {
    let flags = Flags::parse(args, Spec::new("m", &["mode"]));
    for folder in flags.operands.iter().filter(|folder| folder.is_known() && folder.pattern.is_none()) {
        trace.made(world, &folder.text, flags.has(&["p", "parents"]));
    }
}

impl Trace<'_> {
    /// Enters that a path is written, and everything below it where it is a folder.
    fn write_deep(&mut self, call: &Call<'_>, arg: &Arg) {
        for path in self.paths(call.world, call.name, arg, Deed::Write) {
            let deed = if self.folder(call.world, &path) == Folder::No { Deed::Write } else { Deed::WriteTree };
            self.touch_path(call.world, call.name, &path, deed);
        }
    }

    /// Enters each argument with the same deed.
    fn touch_all(&mut self, call: &Call<'_>, args: &[Arg], deed: Deed) {
        for arg in args {
            self.touch(call.world, call.name, arg, deed);
        }
    }

    /// Runs the command that follows in another command's arguments.
    fn run_command(&mut self, call: &Call<'_>, command: &[Arg]) {
        if let Some((name, args)) = command.split_first() {
            self.invoke_program(name, args, call.world.clone(), call.input);
        }
    }
}
