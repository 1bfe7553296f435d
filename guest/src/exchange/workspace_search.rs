//! Finds the workspace that governs an event of an agent program, and the one that a command is for.
//!
//! The nearest `.orchestration/` in or above the folder that a program works in governs it. A repository does not end the search:
//! an agent that enters a submodule, or creates a repository in a folder, is still at work in the workspace around it. For the
//! same reason the project's folder takes precedence over the working directory, which follows the agent.
//!
//! A command of a person is for the nearest folder that looks like a workspace, governed or not: `tollgate init` is for repositories.

use crate::digest::Digest;
use crate::programs;

/// The folder that makes a workspace governed.
const GOVERNANCE: &str = ".orchestration";

/// A folder with one of these is a workspace for commands. `.git` is a file in additional work trees of a repository.
const MARKS: &[&str] = &[GOVERNANCE, SETTINGS, ".git"];

/// The folder with settings. In the home folder it holds those of the user, and does not make a workspace.
const SETTINGS: &str = ".tollgate";

/// Maximum number of folders in a path.
const MAX_DEPTH: usize = 512;

/// The environment of the host.
#[derive(Debug, Clone, Default)]
pub struct HostEnvironment {
    /// The current folder, absolute.
    pub cwd: String,
    /// The folder that holds one folder of state for each workspace.
    pub state: Option<String>,
    /// Those of [`variables`] that are set.
    pub variables: Vec<(String, String)>,
}

/// Resolves an absolute path: where it leads once every link is followed, if a folder is there.
pub type ResolveFolder<'l> = dyn Fn(&str) -> Option<String> + 'l;

/// The variables in which a program names its project's folder.
pub fn variables(program: &str) -> &'static [&'static str] {
    let speech = programs::find(program).and_then(|program| program.speech.as_ref());
    speech.map_or(&[], |speech| speech.project_variables)
}

/// The workspace that governs an event; `None` if nothing does.
pub fn locate(
    program: &str,
    event: Option<&str>,
    payload: &[u8],
    surroundings: &HostEnvironment,
    look: &ResolveFolder<'_>,
) -> Option<String> {
    let speech = programs::find(program)?.speech.as_ref()?;
    let told = super::read(speech, event, payload);
    let project = surroundings.variables.iter().map(|(_, value)| value);
    let starts = project.chain(&told.cwd).chain(&told.roots).filter(|folder| is_absolute(folder)).chain([&surroundings.cwd]);
    governing(starts.map(String::as_str), surroundings.state.as_deref(), look)
}

/// The workspace that governs the first of several folders that is governed.
pub fn governing<'f>(starts: impl Iterator<Item = &'f str>, state: Option<&str>, look: &ResolveFolder<'_>) -> Option<String> {
    let starts: Vec<String> = starts.map(|start| look(start).unwrap_or_else(|| start.to_owned())).collect();
    let nearest = |governs: &dyn Fn(&str) -> bool| {
        starts.iter().find_map(|start| ancestors(start).find(|folder| governs(folder)).map(str::to_owned))
    };
    let governed = |folder: &str| look(&join(folder, GOVERNANCE)).is_some();
    // A folder with stored state was governed before, so the loss of its intents is reported.
    let known = |folder: &str| state.is_some_and(|state| look(&join(state, &state_name(folder))).is_some());
    nearest(&governed).or_else(|| nearest(&known))
}

/// The workspace that a command is for: the nearest one, starting with `here` and going up. The error says why there is none. `look`
/// resolves anything that exists, not only folders.
pub fn for_command(here: &str, home: Option<&str>, look: &ResolveFolder<'_>) -> Result<String, String> {
    // A host may report paths in its own workspace as relative.
    let real = |folder: &str| look(folder).filter(|real| is_absolute(real)).unwrap_or_else(|| folder.to_owned());
    let (here, home) = (real(here), home.map(real));
    let is_workspace = |folder: &&str| {
        let is_users_own = |mark: &str| mark == SETTINGS && home.as_deref() == Some(*folder);
        MARKS.iter().any(|mark| !is_users_own(mark) && look(&join(folder, mark)).is_some())
    };
    ancestors(&here).find(is_workspace).map(str::to_owned).ok_or_else(|| {
        let marks = format!("{GOVERNANCE}/, {SETTINGS}/ or .git");
        format!("neither `{here}` nor a folder above it has {marks}; name the workspace with --workspace DIR")
    })
}

/// The name of the folder with a workspace's state: half a digest of its real path.
pub fn state_name(workspace: &str) -> String {
    Digest::of(without_prefix(workspace).as_bytes()).short_hex()
}

/// A path without the prefix that Windows reports in some places and leaves out in others.
pub fn without_prefix(path: &str) -> &str {
    path.strip_prefix(r"\\?\").unwrap_or(path)
}

fn join(folder: &str, name: &str) -> String {
    if folder.ends_with(['/', '\\']) { format!("{folder}{name}") } else { format!("{folder}/{name}") }
}

/// A folder and the folders around it, from the inside out.
fn ancestors(folder: &str) -> impl Iterator<Item = &str> {
    // In a path of a system that is not Windows, a backslash is part of a name.
    let separators: &[char] = if folder.starts_with('/') { &['/'] } else { &['/', '\\'] };
    std::iter::successors(Some(folder), move |folder| {
        let (parent, name) = folder.trim_end_matches(separators).rsplit_once(separators)?;
        let is_root = parent.is_empty() || parent.ends_with(':');
        match is_root {
            true if name.is_empty() => None,
            true => folder.get(..=parent.len()),
            false => Some(parent),
        }
    })
    .take(MAX_DEPTH)
}

pub(crate) fn is_absolute(folder: &str) -> bool {
    folder.starts_with(['/', '\\']) || folder.get(1..3).is_some_and(|drive| drive == ":/" || drive == r":\")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn located(folders: &[&str], payload: &str, surroundings: &HostEnvironment) -> Option<String> {
        let look = |path: &str| folders.contains(&path).then(|| path.to_owned());
        locate("claude-code", None, payload.as_bytes(), surroundings, &look)
    }

    #[test]
    fn the_nearest_governance_counts_whatever_lies_between() {
        let at = |cwd: &str| HostEnvironment { cwd: cwd.to_owned(), ..HostEnvironment::default() };
        let payload = |cwd: &str| format!(r#"{{"hook_event_name":"PreToolUse","session_id":"s","cwd":"{cwd}"}}"#);
        let folders = ["/w/.orchestration", "/w/sub/.git", "/w/sub/deep", "/w/inner/.orchestration"];
        let found = |cwd: &str| located(&folders, &payload(cwd), &at("/elsewhere"));
        assert_eq!(found("/w").as_deref(), Some("/w"));
        assert_eq!(found("/w/sub/deep").as_deref(), Some("/w"), "a repository does not end the search");
        assert_eq!(found("/w/inner/x").as_deref(), Some("/w/inner"));
        assert_eq!(found("/x"), None);
        // A relative folder is ignored; then the host's own counts.
        assert_eq!(located(&folders, &payload("sub"), &at("/w/sub")).as_deref(), Some("/w"));
        // A payload that cannot be read still comes from somewhere.
        assert_eq!(located(&folders, "{", &at("/w/sub")).as_deref(), Some("/w"));
        let mut project = at("/x");
        project.variables = vec![("CLAUDE_PROJECT_DIR".to_owned(), "/w".to_owned())];
        assert_eq!(located(&folders, &payload("/x"), &project).as_deref(), Some("/w"), "the project goes before the folder");
    }

    #[test]
    fn what_was_governed_is_known() {
        let state = format!("/state/{}", state_name("/gone"));
        let surroundings =
            HostEnvironment { cwd: "/gone/sub".to_owned(), state: Some("/state".to_owned()), ..HostEnvironment::default() };
        assert_eq!(located(&[&state], "{}", &surroundings).as_deref(), Some("/gone"));
        // The name that the hosts use.
        assert_eq!(state_name("/work space/a"), "602e79202365cbd9b66a1fd2fd657617");
    }

    #[test]
    fn a_command_is_for_the_nearest_folder_with_a_mark() {
        let marks = ["/h/.tollgate", "/h/work/.orchestration", "/h/work/sub/.git", "/h/own/.git", "/link"];
        let look = |path: &str| match path {
            "/link" => Some("/h".to_owned()),
            // As in a gate that is open.
            "/h/work/a" => Some("a".to_owned()),
            _ => marks.contains(&path).then(|| path.to_owned()),
        };
        for (here, home, found) in [
            ("/h/work/a/b", "/nobody", Some("/h/work")),
            ("/h/work/a", "/nobody", Some("/h/work")),
            ("/h/work/.orchestration", "/nobody", Some("/h/work")),
            ("/h/work/sub/c", "/nobody", Some("/h/work/sub")),
            // `.tollgate` makes a workspace unless it is in the home folder.
            ("/h/plain/d", "/nobody", Some("/h")),
            ("/h/plain/d", "/h", None),
            ("/link", "/nobody", Some("/h")),
            ("/h/plain/d", "/link", None),
            ("/h/own", "/h/own", Some("/h/own")),
        ] {
            assert_eq!(for_command(here, Some(home), &look).ok().as_deref(), found, "{here} with home {home}");
        }
        assert_eq!(
            for_command("/x/y", None, &look).unwrap_err(),
            "neither `/x/y` nor a folder above it has .orchestration/, .tollgate/ or .git; name the workspace with --workspace DIR"
        );
    }

    #[test]
    fn folders_and_their_parents() {
        let all = |folder: &str| ancestors(folder).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(all("/a/b"), ["/a/b", "/a", "/"]);
        assert_eq!(all("/"), ["/"]);
        assert_eq!(all("C:/a/b"), ["C:/a/b", "C:/a", "C:/"]);
        assert_eq!(all(r"C:\a\b"), [r"C:\a\b", r"C:\a", r"C:\"]);
        assert_eq!(all(r"/a/b\c"), [r"/a/b\c", "/a", "/"]);
    }
}
