//! Finds earlier versions of a file in git.

use std::collections::HashSet;
use std::path::Path;
use std::process::{Command, Stdio};

use tollgate_guest::digest::Digest;

/// At most this many commits of a file are searched.
const MAX_COMMITS: &str = "50";

/// The content of a file, and where it was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) bytes: Vec<u8>,
    pub(super) executable: bool,
    /// For people: `git HEAD`, `the git index`, `git commit 1a2b3c4d`.
    pub(super) from: String,
}

/// A file in a git tree.
struct Blob {
    id: String,
    executable: bool,
}

/// Finds the version with this digest in HEAD, the index, or the latest commits of the file. If none is found, returns why git
/// could not be asked, if so.
pub(super) fn find_by_digest(workspace: &Path, path: &str, want: &str) -> Result<Version, Option<String>> {
    let mut seen = HashSet::new();
    let mut why = None;
    let mut matching = |blob: Option<Blob>, from: String| {
        let blob = blob.filter(|blob| seen.insert(blob.id.clone()))?;
        let bytes = content(workspace, &blob).ok()?;
        (Digest::of(&bytes).to_string() == want).then_some(Version { bytes, executable: blob.executable, from })
    };
    let in_head = find_in_tree(workspace, "HEAD", path).unwrap_or_else(|said| {
        why = Some(said);
        None
    });
    if let Some(found) = matching(in_head, "git HEAD".to_owned()) {
        return Ok(found);
    }
    if let Some(found) = matching(find_in_index(workspace, path), "the git index".to_owned()) {
        return Ok(found);
    }
    let commits = git(workspace, &["log", "-n", MAX_COMMITS, "--format=%H", "--", path]).unwrap_or_default();
    for commit in String::from_utf8_lossy(&commits).lines() {
        let from = format!("git commit {}", super::entry::short_id(commit));
        if let Some(found) = matching(find_in_tree(workspace, commit, path).unwrap_or_default(), from) {
            return Ok(found);
        }
    }
    Err(why)
}

/// The version in HEAD, whatever its digest.
pub(super) fn head_version(workspace: &Path, path: &str) -> Result<Version, Option<String>> {
    let blob = find_in_tree(workspace, "HEAD", path).map_err(Some)?.ok_or(None)?;
    let bytes = content(workspace, &blob).map_err(Some)?;
    Ok(Version { bytes, executable: blob.executable, from: "git HEAD".to_owned() })
}

/// Whether the file is executable in HEAD.
pub(super) fn is_executable_in_head(workspace: &Path, path: &str) -> bool {
    find_in_tree(workspace, "HEAD", path).ok().flatten().is_some_and(|blob| blob.executable)
}

fn find_in_tree(workspace: &Path, commit: &str, path: &str) -> Result<Option<Blob>, String> {
    let listed = git(workspace, &["ls-tree", "-z", commit, "--", path])?;
    // `100644 blob ID<tab>path`
    Ok(fields(&listed).and_then(|[mode, _, id]| blob(&mode, id)))
}

fn find_in_index(workspace: &Path, path: &str) -> Option<Blob> {
    let listed = git(workspace, &["ls-files", "--stage", "-z", "--", path]).ok()?;
    // `100644 ID 0<tab>path`
    fields(&listed).and_then(|[mode, id, _]| blob(&mode, id))
}

/// The three fields before the path.
fn fields(listed: &[u8]) -> Option<[String; 3]> {
    let head = listed.split(|byte| *byte == b'\t').next()?;
    let head = std::str::from_utf8(head).ok()?;
    let fields: Vec<String> = head.split(' ').map(str::to_owned).collect();
    fields.try_into().ok()
}

/// Only regular files: links and submodules have no file content in git.
fn blob(mode: &str, id: String) -> Option<Blob> {
    mode.starts_with("100").then(|| Blob { id, executable: mode == "100755" })
}

fn content(workspace: &Path, blob: &Blob) -> Result<Vec<u8>, String> {
    git(workspace, &["cat-file", "blob", &blob.id])
}

/// Runs git and returns its output or its error. It only reads, and executes nothing from the repository's configuration, because
/// an agent may have written that.
fn git(workspace: &Path, arguments: &[&str]) -> Result<Vec<u8>, String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(workspace).args(["--no-pager", "--no-optional-locks", "--literal-pathspecs"]);
    command.args(["-c", "core.fsmonitor=false", "-c", "log.showSignature=false"]).args(arguments);
    // In a git hook, these point to the repository of the hook.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"] {
        command.env_remove(name);
    }
    // A missing blob stays missing: nothing is fetched. Older versions support only the second variable.
    command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "none").stdin(Stdio::null());
    let output = command.output().map_err(|why| format!("git cannot be started: {why}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("git says: {}", said.lines().next().unwrap_or("nothing").trim()))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::fs;

    /// Runs git in a test, independently of the machine's configuration.
    pub(crate) fn run_git(folder: &Path, arguments: &[&str]) {
        let mut command = Command::new("git");
        command.arg("-C").arg(folder).args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"]);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn commit(root: &Path, path: &str, content: &str) {
        fs::write(root.join(path), content).unwrap();
        run_git(root, &["--literal-pathspecs", "add", "--", path]);
        run_git(root, &["commit", "-qm", "x"]);
    }

    #[test]
    fn a_version_is_found_wherever_git_has_it() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        run_git(root, &["init", "-q"]);
        // The workspace may be a subfolder of the repository, and a name may look like a pattern.
        fs::create_dir(root.join("sub")).unwrap();
        let path = ":(top)[a]*.sh";
        for content in ["one", "two", "three"] {
            commit(&root.join("sub"), path, content);
        }
        fs::write(root.join("sub").join(path), "staged").unwrap();
        run_git(&root.join("sub"), &["--literal-pathspecs", "add", "--", path]);
        fs::write(root.join("sub").join(path), "unsaved").unwrap();
        for (content, from) in
            [("three", "git HEAD"), ("staged", "the git index"), ("two", "git commit "), ("one", "git commit ")]
        {
            let version = find_by_digest(&root.join("sub"), path, &Digest::of(content.as_bytes()).to_string()).unwrap();
            assert_eq!(version.bytes, content.as_bytes());
            assert!(version.from.starts_with(from), "{content}: {}", version.from);
        }
        assert_eq!(find_by_digest(&root.join("sub"), path, &Digest::of(b"unsaved").to_string()), Err(None));
        assert_eq!(head_version(&root.join("sub"), path).unwrap().bytes, b"three");
        assert_eq!(head_version(&root.join("sub"), "none"), Err(None));
    }

    #[test]
    fn a_file_that_was_deleted_is_found() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        run_git(root, &["init", "-q"]);
        commit(root, "a", "gone");
        run_git(root, &["rm", "-q", "a"]);
        run_git(root, &["commit", "-qm", "x"]);
        assert_eq!(find_by_digest(root, "a", &Digest::of(b"gone").to_string()).unwrap().bytes, b"gone");
    }

    #[test]
    #[cfg(unix)]
    fn programs_stay_programs_and_links_are_no_files() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        run_git(root, &["init", "-q"]);
        fs::write(root.join("run"), "#!").unwrap();
        fs::set_permissions(root.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("run", root.join("link")).unwrap();
        run_git(root, &["add", "."]);
        run_git(root, &["commit", "-qm", "x"]);
        assert!(head_version(root, "run").unwrap().executable && is_executable_in_head(root, "run"));
        assert_eq!(head_version(root, "link"), Err(None));
        assert_eq!(find_by_digest(root, "link", &Digest::of(b"run").to_string()), Err(None));
    }

    #[test]
    fn where_there_is_no_repository_git_says_so() {
        let temp = tempfile::tempdir().unwrap();
        let Err(Some(why)) = find_by_digest(temp.path(), "a", "sha256:") else { panic!() };
        assert!(why.starts_with("git says: "), "{why}");
    }

    /// Each of these settings would run a program if it were not overridden.
    #[test]
    #[cfg(unix)]
    fn nothing_that_the_repository_names_is_run() {
        use std::os::unix::fs::PermissionsExt as _;
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        run_git(root, &["init", "-q"]);
        for content in ["one", "two", "three"] {
            commit(root, "a", content);
        }
        // A missing blob, and a commit that looks signed.
        let lost = String::from_utf8(git(root, &["rev-parse", "HEAD~:a"]).unwrap()).unwrap();
        let (folder, name) = lost.trim().split_at(2);
        fs::remove_file(root.join(".git/objects").join(folder).join(name)).unwrap();
        let head = String::from_utf8(git(root, &["cat-file", "commit", "HEAD"]).unwrap()).unwrap();
        let signature = "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n";
        fs::write(root.join("signed"), head.replacen("\n\n", signature, 1)).unwrap();
        let signed = String::from_utf8(git(root, &["hash-object", "-t", "commit", "-w", "signed"]).unwrap()).unwrap();
        run_git(root, &["update-ref", "HEAD", signed.trim()]);
        let (trap, sprung) = (root.join("trap"), root.join("sprung"));
        fs::write(&trap, format!("#!/bin/sh\necho \"$@\" >> '{}'\n", sprung.display())).unwrap();
        fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
        let trap = trap.to_str().unwrap();
        for (name, value) in [
            ("core.fsmonitor", trap),
            ("gpg.program", trap),
            ("log.showSignature", "true"),
            ("remote.origin.url", &format!("ext::{trap} %S")),
            ("remote.origin.promisor", "true"),
            ("protocol.ext.allow", "always"),
        ] {
            run_git(root, &["config", name, value]);
        }
        assert_eq!(find_by_digest(root, "a", &Digest::of(b"one").to_string()).unwrap().bytes, b"one");
        assert_eq!(find_by_digest(root, "a", &Digest::of(b"two").to_string()), Err(None));
        assert_eq!(fs::read_to_string(&sprung).unwrap_or_default(), "");
    }
}
