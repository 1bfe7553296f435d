//! The command line that runs a command confined: `tollgate confine --session S --call C -- bash -c '…'`.
//!
//! An agent program's shell tool gets this command line instead of the command. It is meant to be readable: people see it in
//! dialogs and logs.

pub use crate::call::shell::quote;

/// How to run a command confined.
#[derive(Debug, Clone, Copy)]
pub struct Wrapping<'a> {
    /// The program that confines.
    pub program: &'a str,
    /// The shell that the command is written for.
    pub shell: &'a str,
    /// The session that the command runs for.
    pub session: &'a str,
    /// The call that was ruled on.
    pub call: &'a str,
}

/// The program that [`wrap`] uses.
pub const PROGRAM: &str = "tollgate";
/// The shell that [`wrap`] uses: most agent programs use it, and its language is the one that is analysed.
pub const SHELL: &str = "bash";

/// The text that a shell tool gets instead of a command.
pub fn wrap(command: &str, session: &str, call: &str) -> String {
    Wrapping { program: PROGRAM, shell: SHELL, session, call }.text(command)
}

impl Wrapping<'_> {
    /// The text for a tool that takes a single string. A command that was already wrapped for this call stays as it is.
    pub fn text(&self, command: &str) -> String {
        if unwrap(command).is_some_and(|found| self.is_own(&found.session, &found.call)) {
            return command.to_owned();
        }
        let mut words = self.head();
        words.extend([self.shell, "-c", command].map(str::to_owned));
        join(&words)
    }

    /// The same for a tool that takes a list of words.
    pub fn words(&self, command: &[String]) -> Vec<String> {
        let head = self.head();
        if command.starts_with(&head) {
            return command.to_vec();
        }
        head.into_iter().chain(command.iter().cloned()).collect()
    }

    fn is_own(&self, session: &str, call: &str) -> bool {
        (self.session, self.call) == (session, call)
    }

    fn head(&self) -> Vec<String> {
        let words = [self.program, "confine", "--session", self.session, "--call", self.call, "--"];
        words.map(str::to_owned).to_vec()
    }
}

/// A command that was wrapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unwrapped {
    /// The session that the command runs for.
    pub session: String,
    /// The call that was ruled on.
    pub call: String,
    /// The command itself.
    pub command: String,
}

/// Extracts the command from a text that [`Wrapping::text`] made; `None` if the text has anything else in it.
pub fn unwrap(text: &str) -> Option<Unwrapped> {
    let words = split(text)?;
    let [program, confine, session_option, session, call_option, call, end, _, c, command] = words.as_slice() else {
        return None;
    };
    let is_ours = program.rsplit(['/', '\\']).next().is_some_and(|name| name.trim_end_matches(".exe") == PROGRAM);
    let is_form = [confine, session_option, call_option, end, c] == ["confine", "--session", "--call", "--", "-c"];
    (is_ours && is_form && join(&words) == text).then(|| Unwrapped {
        session: session.clone(),
        call: call.clone(),
        command: command.clone(),
    })
}

/// The session and the command in a list of words that [`Wrapping::words`] made; `None` for any other list.
pub fn unwrap_words(words: &[String]) -> Option<(&str, &[String])> {
    let [program, confine, session_option, session, call_option, _, end, command @ ..] = words else { return None };
    let is_ours = program.rsplit(['/', '\\']).next().is_some_and(|name| name.trim_end_matches(".exe") == PROGRAM);
    let is_form = [confine, session_option, call_option, end] == ["confine", "--session", "--call", "--"];
    (is_ours && is_form).then_some((session, command))
}

/// The words that start one of Tollgate's own programs confined: `tollgate confine --workspace W --state D --run ID --`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    words: Vec<String>,
}

impl Launcher {
    /// The words for a prepared run. `state` is the folder with the state of all workspaces.
    pub fn new(program: &str, workspace: &str, state: Option<String>, run: &str) -> Self {
        let mut words = [program, "confine", "--workspace", workspace].map(str::to_owned).to_vec();
        words.extend(state.into_iter().flat_map(|folder| ["--state".to_owned(), folder]));
        words.extend(["--run", run, "--"].map(str::to_owned));
        Self { words }
    }

    /// The words to put before the program.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The words that start `program` confined.
    pub fn launch(&self, program: &[String]) -> Vec<String> {
        self.words.iter().chain(program).cloned().collect()
    }
}

/// What a [`Launcher`] starts, for a host that restricts processes itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launched<'a> {
    /// The workspace's absolute path.
    pub workspace: &'a str,
    /// The folder with the state of all workspaces; `None` for the default folder.
    pub state: Option<&'a str>,
    /// The prepared run.
    pub run: &'a str,
    /// The program and its arguments.
    pub program: &'a [String],
}

/// Parses words that a [`Launcher`] made; `None` if they are anything else.
pub fn parse_launch(argv: &[String]) -> Option<Launched<'_>> {
    let words: Vec<&str> = argv.iter().map(String::as_str).take(9).collect();
    let (workspace, state, run, length) = match words.as_slice() {
        [_, "confine", "--workspace", workspace, "--state", state, "--run", run, "--"] => (*workspace, Some(*state), *run, 9),
        [_, "confine", "--workspace", workspace, "--run", run, "--", ..] => (*workspace, None, *run, 7),
        _ => return None,
    };
    let program = argv.get(length..).filter(|program| !program.is_empty())?;
    Some(Launched { workspace, state, run, program })
}

/// Splits a text into the words that [`join`] joined; `None` if the text means more than plain words to a shell.
fn split(text: &str) -> Option<Vec<String>> {
    let mut words = vec![String::new()];
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = words.last_mut()?;
        rest = match first {
            ' ' => {
                words.push(String::new());
                rest.get(1..)?
            }
            '\'' => {
                let (quoted, behind) = rest.get(1..)?.split_once('\'')?;
                word.push_str(quoted);
                behind
            }
            '\\' => {
                word.push('\'');
                rest.strip_prefix(r"\'")?
            }
            _ => {
                word.push(first);
                rest.get(first.len_utf8()..)?
            }
        };
    }
    Some(words)
}

fn join(words: &[String]) -> String {
    words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_quoted() {
        for (command, expected) in [
            ("ls", "tollgate confine --session s1 --call c1 -- bash -c ls"),
            ("npm test && echo done", "tollgate confine --session s1 --call c1 -- bash -c 'npm test && echo done'"),
            ("echo 'it'", r"tollgate confine --session s1 --call c1 -- bash -c 'echo '\''it'\'''"),
            ("", "tollgate confine --session s1 --call c1 -- bash -c ''"),
            ("a\nb", "tollgate confine --session s1 --call c1 -- bash -c 'a\nb'"),
        ] {
            let wrapped = wrap(command, "s1", "c1");
            assert_eq!(wrapped, expected);
            assert_eq!(wrap(&wrapped, "s1", "c1"), wrapped, "twice");
            let found = unwrap(&wrapped).unwrap();
            assert_eq!((&*found.session, &*found.call, &*found.command), ("s1", "c1", command));
        }
        assert_eq!(wrap("ls", "a b", "$(x)"), "tollgate confine --session 'a b' --call '$(x)' -- bash -c ls");
        let words = ["bash", "-lc", "ls"].map(str::to_owned);
        let wrapping = Wrapping { program: "/opt/tollgate", shell: "sh", session: "s", call: "c" };
        let wrapped = wrapping.words(&words);
        assert_eq!(wrapped.join("|"), "/opt/tollgate|confine|--session|s|--call|c|--|bash|-lc|ls");
        assert_eq!(wrapping.words(&wrapped), wrapped, "twice");
        assert_eq!(unwrap_words(&wrapped), Some(("s", &words[..])));
        assert_eq!(unwrap_words(&words), None);
        for (state, length) in [(Some("/s".to_owned()), 9), (None, 7)] {
            let launcher = Launcher::new("/opt/tollgate", "/w", state.clone(), "--");
            let argv = launcher.launch(&words);
            let found = Launched { workspace: "/w", state: state.as_deref(), run: "--", program: &words };
            assert_eq!((launcher.words().len(), parse_launch(&argv)), (length, Some(found)));
        }
        assert_eq!(parse_launch(&words), None);
        assert_eq!(parse_launch(&wrapped), None);
        // A command wrapped for another session is like any other command, and so is one that only begins like a wrapped command.
        for command in [
            wrap("ls", "s2", "c1"),
            format!("{}; rm x", wrap("ls", "s1", "c1")),
            format!("{}\nrm x", wrap("ls", "s1", "c1")),
            "tollgate confine --session s1 --call c1 -- bash -c ls && x".to_owned(),
            "tollgate confine --session s1 --call c1 -- bash -c $(x)".to_owned(),
            "tollgate confine --session s1 --call c1 --  bash -c ls".to_owned(),
            "tollgate confine --session s1 --call c1 -- bash -c 'a".to_owned(),
            r"tollgate confine --session s1 --call c1 -- bash -c a\b".to_owned(),
        ] {
            let wrapped = wrap(&command, "s1", "c1");
            assert_eq!(unwrap(&wrapped).unwrap().command, command);
        }
    }
}
