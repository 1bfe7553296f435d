//! Reads the commands that Claude Code passes to the program named in `CLAUDE_CODE_SHELL_PREFIX`.
//!
//! Each is passed as one word: `source SNAPSHOT … && eval 'COMMAND' < /dev/null && pwd -P >| FILE` for a command of the Bash
//! tool, and a plain command line for hooks and MCP servers. The text around the model's command comes from Claude Code, and the
//! command in it is quoted, so it cannot be mistaken for anything else.

/// The variable in which Claude Code names the program that gets its commands.
pub const VARIABLE: &str = "CLAUDE_CODE_SHELL_PREFIX";

/// The variable with the session's id.
pub const SESSION: &str = "CLAUDE_CODE_SESSION_ID";

/// The variable that identifies who runs a command.
pub const AGENT: &str = "AI_AGENT";

/// The text between the command and the name of the file for the final working directory.
const COMMAND_SUFFIX: &str = " && pwd -P >| ";

/// The text before the command.
const BEFORE: &str = "&& eval ";

/// How the value of [`AGENT`] ends if the program runs something on its own behalf.
const HARNESS: &str = "_harness";

/// A command of the Bash tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCall {
    /// The command as the model gave it.
    pub command: String,
    /// The file to which the final working directory is written.
    pub folder_file: Option<String>,
}

/// Extracts the model's command from the text that the program gets; `None` if the text belongs to a hook or a server. `agent` is
/// the value of [`AGENT`].
///
/// An unrecognised text as a whole counts as a command of the model, provided that `agent` is set and does not stand for Claude
/// Code itself.
pub fn shell_call(given: &str, agent: Option<&str>) -> Option<ShellCall> {
    if agent.is_some_and(|agent| agent.ends_with(HARNESS)) {
        return None;
    }
    let found = given.rsplit_once(COMMAND_SUFFIX).and_then(|(before, file)| {
        let quoted = before.split_once(BEFORE)?.1;
        let command = unquote(quoted.strip_suffix(" < /dev/null").unwrap_or(quoted))?;
        Some(ShellCall { command, folder_file: unquote(file.trim()) })
    });
    match found {
        None if agent.is_none() => None,
        None => Some(ShellCall { command: given.to_owned(), folder_file: None }),
        found => found,
    }
}

/// The text that the program gets for a command of the Bash tool, as Claude Code 2.1.325 writes it. `quoted` is one shell word.
pub fn wrapped_text(quoted: &str, folder_file: &str) -> String {
    format!(
        "source /dev/null 2>/dev/null || true && {{ \\builtin shopt -u extglob || \\builtin setopt NO_BRACE_CCL; }} >/dev/null 2>&1 || true \
         && eval {quoted} < /dev/null && pwd -P >| {folder_file}"
    )
}

/// A shell word without its quotes; `None` if the text is more than one word.
fn unquote(word: &str) -> Option<String> {
    let mut found = String::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        rest = rest.get(first.len_utf8()..)?;
        match first {
            '\'' => {
                let (quoted, behind) = rest.split_once('\'')?;
                found.push_str(quoted);
                rest = behind;
            }
            '"' => loop {
                let next = rest.chars().next()?;
                rest = rest.get(next.len_utf8()..)?;
                match next {
                    '"' => break,
                    '$' | '`' => return None,
                    '\\' => {
                        let escaped = rest.chars().next()?;
                        rest = rest.get(escaped.len_utf8()..)?;
                        if !matches!(escaped, '"' | '\\' | '$' | '`') {
                            found.push('\\');
                        }
                        found.push(escaped);
                    }
                    plain => found.push(plain),
                }
            },
            '\\' => {
                let escaped = rest.chars().next()?;
                rest = rest.get(escaped.len_utf8()..)?;
                found.push(escaped);
            }
            ' ' | '\t' | '\n' | '$' | '`' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => return None,
            plain => found.push(plain),
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(quoted: &str) -> String {
        super::wrapped_text(quoted, "/tmp/claude-1267-cwd")
            .replace("/dev/null 2", "/home/u/.claude/shell-snapshots/snapshot-bash-1-x.sh 2")
    }

    #[test]
    fn commands_of_the_model_are_found() {
        for (quoted, command) in [
            ("ls", "ls"),
            ("'echo hi; pwd'", "echo hi; pwd"),
            (r#"'echo '"'"'a'"'"' && eval x && pwd -P >| y'"#, "echo 'a' && eval x && pwd -P >| y"),
            (r"'it'\''s'", "it's"),
            (r#""a \"b\" \$c \d""#, r#"a "b" $c \d"#),
        ] {
            let found = shell_call(&given(quoted), Some("claude-code_2-1-325_agent")).unwrap();
            assert_eq!(found, ShellCall { command: command.to_owned(), folder_file: Some("/tmp/claude-1267-cwd".to_owned()) });
            assert_eq!(shell_call(&given(quoted), None), Some(found));
        }
        for hook in ["tollgate hook claude-code", "node server.js stdio"] {
            assert_eq!(shell_call(hook, Some("claude-code_2-1-325_harness")), None);
            assert_eq!(shell_call(hook, None), None);
            // With an agent's name, the program does not run it on its own behalf.
            let found = shell_call(hook, Some("claude-code_3_agent")).unwrap();
            assert_eq!((&*found.command, found.folder_file), (hook, None));
        }
        // A text that cannot be taken apart counts as a whole.
        let strange = given("$(x)");
        assert_eq!(shell_call(&strange, Some("x_agent")).unwrap().command, strange);
    }
}
