//! macOS: a Seatbelt profile with the same grants for `sandbox-exec`, which executes the command.
//!
//! Later rules override earlier ones, so exceptions follow the rules they apply to. Writing includes modes, owners, times and
//! extended attributes. Only the text of the profile is tested; it has not been run on a Mac yet.

use std::path::Path;

use super::{Kind, Plan};

/// The program that applies a profile.
pub const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// Whether this system has the program that applies a profile.
#[cfg(target_os = "macos")]
pub(super) fn capability() -> super::Capability {
    if Path::new(PROGRAM).exists() {
        super::Capability::Exceptions
    } else {
        super::Capability::None("`/usr/bin/sandbox-exec` is missing")
    }
}

/// The profile for a plan.
pub fn profile(plan: &Plan) -> String {
    let mut lines = vec!["(version 1)".to_owned(), "(allow default)".to_owned(), "(deny file-write*)".to_owned()];
    for grant in &plan.grants {
        let filter = if grant.kind == Kind::File { "literal" } else { "subpath" };
        lines.push(format!("(allow file-write* ({filter} {}))", quoted(&grant.path)));
        for closed in &grant.except {
            lines.push(format!("(deny file-write* (subpath {}))", quoted(closed)));
        }
    }
    // Open pipes and sockets are accessed through these paths.
    lines.push("(allow file-write* (literal \"/dev/stdout\") (literal \"/dev/stderr\") (subpath \"/dev/fd\"))".to_owned());
    if !plan.network {
        lines.push("(deny network-outbound (remote tcp))".to_owned());
        lines.push("(deny network-bind (local tcp))".to_owned());
        lines.push("(deny network-inbound (local tcp))".to_owned());
    }
    lines.push(String::new());
    lines.join("\n")
}

/// A path as a string in the profile's language.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let text = text.strip_suffix("/.").unwrap_or(&text);
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::super::Grant;
    use super::*;

    #[test]
    fn profiles() {
        let grant = |path: &str, kind, except: &[&str]| Grant {
            path: path.into(),
            kind,
            make: false,
            except: except.iter().map(|&path| path.into()).collect(),
        };
        let grants = vec![
            grant("/ws/.", Kind::Tree, &["/ws/.git", "/ws/.tollgate"]),
            grant("/ws/.git", Kind::Tree, &["/ws/.git/hooks"]),
            grant("/dev/null", Kind::File, &[]),
            grant("/a \"b\"\\c", Kind::File, &[]),
        ];
        let profile = profile(&Plan { grants, network: false, temporary: None });
        assert_eq!(
            profile,
            r#"(version 1)
(allow default)
(deny file-write*)
(allow file-write* (subpath "/ws"))
(deny file-write* (subpath "/ws/.git"))
(deny file-write* (subpath "/ws/.tollgate"))
(allow file-write* (subpath "/ws/.git"))
(deny file-write* (subpath "/ws/.git/hooks"))
(allow file-write* (literal "/dev/null"))
(allow file-write* (literal "/a \"b\"\\c"))
(allow file-write* (literal "/dev/stdout") (literal "/dev/stderr") (subpath "/dev/fd"))
(deny network-outbound (remote tcp))
(deny network-bind (local tcp))
(deny network-inbound (local tcp))
"#
        );
        assert!(!self::profile(&Plan { grants: Vec::new(), network: true, temporary: None }).contains("network"));
    }
}
