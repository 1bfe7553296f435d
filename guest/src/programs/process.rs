//! Recognising a program by its process: the words of its command line, or the variables that it sets for its children.

use super::{PROGRAMS, Program};

/// Programs that run a script which is named behind them.
const INTERPRETERS: [&str; 4] = ["node", "bun", "deno", "nodejs"];

/// How many words of a command line are looked at.
const MAX_WORDS: usize = 16;

/// The program whose process has these words: the path of what runs, then its arguments.
pub fn of_process(words: &[&str]) -> Option<&'static Program> {
    let (first, rest) = words.split_first()?;
    let name = base(first);
    if INTERPRETERS.contains(&name.as_str()) {
        return rest.iter().take(MAX_WORDS).find(|word| !word.starts_with('-')).and_then(|script| of_script(script));
    }
    with_process(&name).or_else(|| of_script(first))
}

/// The program that set one of these variables for what it runs.
pub fn of_variables<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<&'static Program> {
    names.into_iter().find_map(|name| PROGRAMS.iter().copied().find(|program| program.variables.contains(&name)))
}

/// A script by its own name, or by the npm package that it is in.
fn of_script(script: &str) -> Option<&'static Program> {
    let script = script.replace('\\', "/");
    let package = script.rsplit_once("node_modules/").and_then(|(_, within)| {
        let mut names = within.split('/');
        names.next().and_then(|name| if name.starts_with('@') { names.next() } else { Some(name) })
    });
    with_process(&base(&script)).or_else(|| with_process(package?))
}

fn with_process(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().copied().find(|program| program.processes.iter().any(|known| known.eq_ignore_ascii_case(name)))
}

/// The last name of a path, without the endings of programs and scripts.
fn base(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let endings = [".exe", ".cmd", ".js", ".mjs", ".cjs"];
    endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes() {
        for (line, expected) in [
            ("claude", Some("claude-code")),
            ("/usr/local/bin/claude --resume", Some("claude-code")),
            ("node /usr/local/bin/gemini", Some("gemini")),
            ("/usr/bin/node --no-warnings /usr/lib/node_modules/@google/gemini-cli/bundle/gemini.js", Some("gemini")),
            ("node /usr/lib/node_modules/@qwen-code/qwen-code/cli.js", Some("qwen")),
            ("node C:\\npm\\node_modules\\@github\\copilot\\index.js", Some("copilot")),
            ("C:\\tools\\codex.exe exec", Some("codex")),
            ("opencode run x", Some("opencode")),
            ("cursor-agent", Some("cursor")),
            ("bash -c claude", None),
            ("vim codex", None),
            ("node /home/u/codex/build/serve.js", None),
            ("node", None),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(of_process(&words).map(Program::name), expected, "{line}");
        }
        assert!(of_process(&[]).is_none());
    }

    #[test]
    fn variables() {
        for (names, expected) in [
            (["HOME", "CLAUDECODE"], Some("claude-code")),
            (["GEMINI_CLI", "PATH"], Some("gemini")),
            (["PATH", "CODEX_THREAD_ID"], Some("codex")),
            (["PATH", "QWEN_CODE"], Some("qwen")),
            (["PATH", "GEMINI_API_KEY"], None),
        ] {
            assert_eq!(of_variables(names).map(Program::name), expected, "{names:?}");
        }
    }
}
