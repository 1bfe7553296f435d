//! Determines which repository git would work in: certain only if it is the workspace's own.
//!
//! A repository's configuration names programs that git runs, even for `git status`. The configuration of the workspace's own
//! repository is a control file; anyone who may write to another folder could make that folder a repository.

use super::super::super::reader::ShellReader;
use super::super::super::reader::state::ShellState;
use super::super::join_name;
use crate::ports::FileKind;

/// Entries that make a folder a repository without `.git`.
const BARE: [&str; 2] = ["HEAD", "objects"];

/// Why git may work in another repository, as the end of a sentence "`git status` …".
pub(super) fn doubt_reason(reader: &ShellReader<'_>, state: &ShellState) -> Option<String> {
    let Some(folders) = reader.folders_upwards(state) else {
        return Some(match &state.cwd {
            None => "runs in a folder that is only known when it runs".to_owned(),
            Some(_) => "runs outside the workspace, in a repository whose settings are not known".to_owned(),
        });
    };
    let stands = |path: String| reader.may_have_written(&path) || reader.kind_at(&path) != Some(FileKind::Missing);
    folders.iter().find_map(|folder| {
        let nested = folder != "." && stands(join_name(folder, ".git"));
        let bare = BARE.iter().all(|name| stands(join_name(folder, name)));
        (nested || bare).then(|| format!("runs in the repository in `{folder}`, which is not the workspace's own"))
    })
}
