//! The command line that runs a command confined: `tollgate confine --session S --call C -- bash -c '…'`.
//!
//! An agent program's shell tool is given it instead of the command. It is made to be read: people see it in dialogues and logs.

/// Characters that mean nothing to any shell.
const PLAIN: &str = "%+,-./:=@_";

/// How a command is run confined.
#[derive(Debug, Clone, Copy)]
pub struct Wrapping<'a> {
    /// The program that confines.
    pub program: &'a str,
    /// The shell that the command is written for.
    pub shell: &'a str,
    /// The session that it runs for.
    pub session: &'a str,
    /// The call that was ruled on.
    pub call: &'a str,
}

/// What [`wrap`] takes where nobody says otherwise.
pub const PROGRAM: &str = "tollgate";
/// The shell that most programs use, and whose language is read.
pub const SHELL: &str = "bash";

/// The text that a shell tool is given instead of a command.
pub fn wrap(command: &str, session: &str, call: &str) -> String {
    Wrapping { program: PROGRAM, shell: SHELL, session, call }.text(command)
}

impl Wrapping<'_> {
    /// The text for a tool that takes one text. What is wrapped already stays as it is.
    pub fn text(&self, command: &str) -> String {
        let head = self.head();
        let head: Vec<String> = head.iter().map(|word| quote(word)).collect();
        let head = head.join(" ");
        if command.starts_with(&format!("{head} ")) {
            return command.to_owned();
        }
        format!("{head} {} -c {}", quote(self.shell), quote(command))
    }

    /// The words for a tool that takes a list of them.
    pub fn words(&self, command: &[String]) -> Vec<String> {
        let head = self.head();
        if command.starts_with(&head) {
            return command.to_vec();
        }
        head.into_iter().chain(command.iter().cloned()).collect()
    }

    fn head(&self) -> Vec<String> {
        let words = [self.program, "confine", "--session", self.session, "--call", self.call, "--"];
        words.map(str::to_owned).to_vec()
    }
}

/// A word as a POSIX shell reads it back.
pub fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || PLAIN.contains(c);
    // What begins with `=` is looked up by zsh, and what has one in it may be an assignment where a command is expected.
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with(['=', '%']) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
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
        }
        assert_eq!(wrap("ls", "a b", "$(x)"), "tollgate confine --session 'a b' --call '$(x)' -- bash -c ls");
        let words = ["bash", "-lc", "ls"].map(str::to_owned);
        let wrapping = Wrapping { program: "/opt/tollgate", shell: "sh", session: "s", call: "c" };
        let wrapped = wrapping.words(&words);
        assert_eq!(wrapped.join("|"), "/opt/tollgate|confine|--session|s|--call|c|--|bash|-lc|ls");
        assert_eq!(wrapping.words(&wrapped), wrapped, "twice");
        // Another session's wrapping is a command like any other.
        assert!(wrap(&wrap("ls", "s2", "c1"), "s1", "c1").starts_with("tollgate confine --session s1"));
    }
}
