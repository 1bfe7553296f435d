//! Editors: they write the files that are named, and whatever else is typed into them.

use super::{Invocation, ParsedArguments, ProgramSpec};
use crate::call::shell::reader::ShellReader;
use crate::effects::Access;

pub(super) const ROWS: &[ProgramSpec] = &[ProgramSpec::raw(
    &[
        "ed",
        "red",
        "ex",
        "vi",
        "vim",
        "nvim",
        "view",
        "rvim",
        "rview",
        "vimdiff",
        "nvi",
        "emacs",
        "emacsclient",
        "nano",
        "pico",
        "micro",
        "joe",
        "jed",
        "hx",
        "helix",
        "kak",
        "mcedit",
    ],
    open,
)];

fn open(reader: &mut ShellReader<'_>, call: &Invocation<'_>, _: &ParsedArguments<'_>) {
    for file in call.args.iter().filter(|arg| !arg.may_be_option() && !arg.text().is_some_and(|text| text.starts_with('+'))) {
        reader.touch(call.state, call.name, file, Access::Write);
    }
    reader.add_unknown(format!("`{}` is an editor, which does whatever is typed or scripted", call.name));
}
