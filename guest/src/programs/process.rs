//! Recognises an agent program by its process: its name, its command line, or the variables that it sets for its children.
//!
//! Editors are not recognised. A person works in an editor's terminal too, so `code` and `cursor` do not show who typed a
//! command.

use super::PROGRAMS;

/// How to recognise an agent program without a record, which cannot be wired to the gate.
struct Unwired {
    title: &'static str,
    processes: &'static [&'static str],
    variables: &'static [&'static str],
}

const UNWIRED: &[Unwired] = &[
    Unwired { title: "Amp", processes: &["amp"], variables: &[] },
    Unwired { title: "Auggie", processes: &["auggie"], variables: &["AUGMENT_AGENT"] },
    Unwired { title: "Goose", processes: &["goose"], variables: &["GOOSE_TERMINAL"] },
    Unwired { title: "Aider", processes: &["aider"], variables: &[] },
    Unwired { title: "Crush", processes: &["crush"], variables: &[] },
    Unwired { title: "Droid", processes: &["droid"], variables: &[] },
    Unwired { title: "an agent program", processes: &[], variables: &["AI_AGENT"] },
];

/// Programs that run a script given as their argument.
const INTERPRETERS: &[&str] = &["node", "nodejs", "bun", "deno", "python", "electron"];

/// How many words of a command line are examined.
const MAX_WORDS: usize = 16;

/// The title of the agent program that a process belongs to, from the name of the process and the words that it was started with:
/// the path of the executable, then its arguments.
pub fn title_of_process(name: &str, words: &[String]) -> Option<&'static str> {
    let first = words.first().map(String::as_str).unwrap_or_default();
    let names = [base(name), base(first)];
    if let Some(title) = names.iter().find_map(|name| title_of_name(name)).or_else(|| title_of_script(first)) {
        return Some(title);
    }
    let is_interpreter = |name: &String| INTERPRETERS.contains(&name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'));
    let script = words.iter().take(MAX_WORDS).skip(1).find(|word| !word.starts_with('-'));
    script.filter(|_| names.iter().any(is_interpreter)).and_then(|script| title_of_script(script))
}

/// The title of the agent program that set one of these variables for its child processes, and that variable.
pub fn title_of_variables(set: &[String]) -> Option<(&'static str, &'static str)> {
    known_programs().find_map(|(title, _, variables)| {
        let variable = variables.iter().find(|name| set.iter().any(|set| set == *name))?;
        Some((title, *variable))
    })
}

/// Recognises a script by its own name, or by the npm package that contains it.
fn title_of_script(script: &str) -> Option<&'static str> {
    let script = script.replace('\\', "/");
    let package = script.rsplit_once("node_modules/").and_then(|(_, within)| {
        let mut names = within.split('/');
        names.next().and_then(|name| if name.starts_with('@') { names.next() } else { Some(name) })
    });
    title_of_name(&base(&script)).or_else(|| title_of_name(package?))
}

fn title_of_name(name: &str) -> Option<&'static str> {
    known_programs().find(|(_, processes, _)| processes.contains(&name)).map(|(title, ..)| title)
}

type KnownProgram = (&'static str, &'static [&'static str], &'static [&'static str]);

/// The titles, processes and variables of all known agent programs.
fn known_programs() -> impl Iterator<Item = KnownProgram> {
    let wired = PROGRAMS.iter().map(|program| (program.title, program.processes, program.variables));
    wired.chain(UNWIRED.iter().map(|program| (program.title, program.processes, program.variables)))
}

/// The file name of a path in lower case, without the endings of programs and scripts.
fn base(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    let endings = [".exe", ".cmd", ".js", ".mjs", ".cjs", ".py"];
    endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn processes() {
        for (name, line, expected) in [
            ("claude", "claude", Some("Claude Code")),
            ("claude", "", Some("Claude Code")),
            ("Claude.exe", "C:\\Users\\u\\claude.exe", Some("Claude Code")),
            ("", "/usr/local/bin/claude --resume", Some("Claude Code")),
            ("sh", "/tmp/x/claude -c x", Some("Claude Code")),
            ("node", "node --no-warnings /usr/bin/gemini -p x", Some("Gemini CLI")),
            ("MainThread", "/usr/bin/node /usr/lib/node_modules/@google/gemini-cli/bundle/index.js", Some("Gemini CLI")),
            ("node", "node /usr/lib/node_modules/@qwen-code/qwen-code/cli.js", Some("Qwen Code")),
            ("node", "node C:\\npm\\node_modules\\@github\\copilot\\index.js", Some("Copilot")),
            ("node", "/usr/bin/node /x/node_modules/@openai/codex/bin/codex.js", Some("Codex")),
            ("codex.exe", "C:\\tools\\codex.exe exec", Some("Codex")),
            ("opencode", "opencode run x", Some("OpenCode")),
            ("cursor-agent", "cursor-agent", Some("Cursor")),
            ("python3.12", "python3.12 /home/u/.local/bin/aider", Some("Aider")),
            ("bash", "bash -c claude", None),
            ("vim", "vim codex", None),
            ("node", "node /home/u/codex/build/serve.js", None),
            ("node", "node server.js claude", None),
            ("node", "node", None),
            ("code", "/usr/share/code/code", None),
            ("cursor", "/opt/cursor/cursor", None),
            ("gnome-terminal-", "/usr/libexec/gnome-terminal-server", None),
            ("", "", None),
        ] {
            assert_eq!(title_of_process(name, &words(line)), expected, "{name} {line}");
        }
    }

    #[test]
    fn variables() {
        for (names, expected) in [
            ("HOME CLAUDECODE", Some(("Claude Code", "CLAUDECODE"))),
            ("GEMINI_CLI PATH", Some(("Gemini CLI", "GEMINI_CLI"))),
            ("PATH CODEX_THREAD_ID", Some(("Codex", "CODEX_THREAD_ID"))),
            ("PATH QWEN_CODE", Some(("Qwen Code", "QWEN_CODE"))),
            ("PATH AI_AGENT", Some(("an agent program", "AI_AGENT"))),
            ("PATH GEMINI_API_KEY CODEX_HOME CLAUDE_CONFIG_DIR", None),
        ] {
            assert_eq!(title_of_variables(&words(names)), expected, "{names}");
        }
    }
}
