//! Looks up the account that the command runs under in the system's account database, because `$USER` and `$HOME` can be set to
//! anything.

use std::fs;
use std::path::{Path, PathBuf};

/// The user settings, relative to the account's home folder.
const SETTINGS: &str = ".tollgate/config.json";

/// A larger file cannot be a settings file.
const MAX_BYTES: u64 = 1 << 20;

/// A user account.
pub(crate) struct Account {
    /// The account name, or the user id if it has no name.
    pub(crate) name: String,
    home: Option<PathBuf>,
}

impl Account {
    /// The account that this process runs under.
    #[cfg(unix)]
    pub(crate) fn current() -> Self {
        let number = rustix::process::getuid().as_raw().to_string();
        let listed = fs::read_to_string("/etc/passwd").ok().and_then(|text| find_account(&text, &number));
        let found = listed.or_else(|| find_account(&query_system(&number)?, &number));
        found.unwrap_or(Self { name: number, home: None })
    }

    /// The account that this process runs under, according to its environment.
    #[cfg(not(unix))]
    pub(crate) fn current() -> Self {
        Self { name: std::env::var("USERNAME").unwrap_or_default(), home: std::env::home_dir() }
    }

    /// The text of the account's settings, unless the file is inside the workspace or others can write to it.
    pub(crate) fn settings(&self, root: &Path) -> Option<String> {
        let file = self.home.as_ref()?.join(SETTINGS).canonicalize().ok()?;
        let metadata = fs::metadata(&file).ok()?;
        let is_own = metadata.is_file() && is_private(&metadata) && !file.starts_with(root.canonicalize().ok()?);
        if is_own && metadata.len() <= MAX_BYTES { fs::read_to_string(&file).ok() } else { None }
    }
}

/// Whether only its owner can write to a file.
#[cfg(unix)]
fn is_private(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let owner = metadata.uid();
    (owner == 0 || owner == rustix::process::getuid().as_raw()) && metadata.mode() & 0o022 == 0
}

#[cfg(not(unix))]
fn is_private(_: &fs::Metadata) -> bool {
    true
}

/// Finds an account by user id, in the format of `/etc/passwd` or of `id -P`, which has three more fields.
#[cfg(unix)]
fn find_account(text: &str, number: &str) -> Option<Account> {
    let line = text.lines().find(|line| line.split(':').nth(2) == Some(number))?;
    let fields: Vec<&str> = line.split(':').collect();
    let home = fields.len().checked_sub(2).and_then(|at| fields.get(at)).filter(|home| home.starts_with('/'));
    Some(Account { name: (*fields.first()?).to_owned(), home: home.map(PathBuf::from) })
}

/// Asks other account sources of the system, such as a directory service.
#[cfg(unix)]
fn query_system(number: &str) -> Option<String> {
    let mut command = if cfg!(target_os = "linux") {
        let mut command = std::process::Command::new("/usr/bin/getent");
        command.args(["passwd", number]);
        command
    } else {
        let mut command = std::process::Command::new("/usr/bin/id");
        command.arg("-P");
        command
    };
    let output = command.stdin(std::process::Stdio::null()).output().ok()?;
    String::from_utf8(output.stdout).ok()
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn accounts_by_number() {
        let passwd = "root:x:0:0:root:/root:/bin/bash\nana:x:1000:1000:Ana,,,:/home/ana:/bin/zsh\nodd:x:1001\n";
        let macos = "ana:********:501:20::0:0:Ana Lytic:/Users/ana:/bin/zsh\n";
        for (text, number, expected) in [
            (passwd, "0", Some(("root", Some("/root")))),
            (passwd, "1000", Some(("ana", Some("/home/ana")))),
            (passwd, "1001", Some(("odd", None))),
            (passwd, "7", None),
            (macos, "501", Some(("ana", Some("/Users/ana")))),
        ] {
            let found = find_account(text, number).map(|account| (account.name, account.home));
            let expected = expected.map(|(name, home)| (name.to_owned(), home.map(PathBuf::from)));
            assert_eq!(found, expected, "{number}");
        }
    }

    #[test]
    fn settings_that_others_can_write_to_are_not_the_accounts_own() {
        let temp = tempfile::tempdir().unwrap();
        let (home, root) = (temp.path().join("home"), temp.path().join("workspace"));
        fs::create_dir_all(home.join(".tollgate")).unwrap();
        fs::create_dir_all(&root).unwrap();
        let account = Account { name: "ana".to_owned(), home: Some(home.clone()) };
        let file = home.join(SETTINGS);
        let text = "{ \"unattended\": true }";
        fs::write(&file, text).unwrap();
        for (mode, expected) in [(0o644, Some(text)), (0o666, None), (0o620, None), (0o600, Some(text))] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(account.settings(&root).as_deref(), expected, "{mode:o}");
        }
        assert_eq!(account.settings(&home), None, "the home folder is the workspace");
        fs::rename(&file, root.join("shipped.json")).unwrap();
        std::os::unix::fs::symlink(root.join("shipped.json"), &file).unwrap();
        assert_eq!(account.settings(&root), None, "it leads into the workspace");
        assert_eq!(Account { name: String::new(), home: None }.settings(&root), None);
    }
}
