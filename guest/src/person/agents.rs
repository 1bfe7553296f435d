//! Agent programs, by what gives them away: their processes, their packages, the variables that they set for what they start.
//!
//! Editors are not among them. A person works in an editor's terminal too, so `code` and `cursor` say nothing about who typed.

/// What gives an agent program away.
#[derive(Debug)]
pub struct Agent {
    /// As people call it.
    pub title: &'static str,
    /// The names of its processes, in lower case.
    pub processes: &'static [&'static str],
    /// Parts of the path of its script, where an interpreter runs it.
    pub packages: &'static [&'static str],
    /// Variables that it sets for the programs that it runs.
    pub variables: &'static [&'static str],
}

/// Every agent program that is known.
pub const AGENTS: &[Agent] = &[
    Agent { title: "Claude Code", processes: &["claude"], packages: &["@anthropic-ai/claude-code"], variables: &["CLAUDECODE"] },
    Agent {
        title: "Codex",
        processes: &["codex"],
        packages: &["@openai/codex"],
        variables: &["CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID"],
    },
    Agent { title: "Gemini CLI", processes: &["gemini"], packages: &["@google/gemini-cli"], variables: &["GEMINI_CLI"] },
    Agent { title: "OpenCode", processes: &["opencode"], packages: &["opencode-ai"], variables: &["OPENCODE"] },
    Agent { title: "Cursor", processes: &["cursor-agent"], packages: &["cursor-agent"], variables: &["CURSOR_AGENT"] },
    Agent { title: "Copilot", processes: &["copilot"], packages: &["@github/copilot"], variables: &["COPILOT_CLI"] },
    Agent { title: "Cline", processes: &["cline"], packages: &["node_modules/cline/"], variables: &["CLINE_ACTIVE"] },
    Agent { title: "Roo Code", processes: &["roo"], packages: &[], variables: &["ROO_ACTIVE"] },
    Agent { title: "Qwen Code", processes: &["qwen"], packages: &["@qwen-code/qwen-code"], variables: &["QWEN_CODE"] },
    Agent { title: "Amp", processes: &["amp"], packages: &["@sourcegraph/amp"], variables: &[] },
    Agent { title: "Auggie", processes: &["auggie"], packages: &["@augmentcode/auggie"], variables: &["AUGMENT_AGENT"] },
    Agent { title: "Goose", processes: &["goose"], packages: &[], variables: &["GOOSE_TERMINAL"] },
    Agent { title: "Aider", processes: &["aider"], packages: &["/bin/aider"], variables: &[] },
    Agent { title: "Crush", processes: &["crush"], packages: &["@charmland/crush"], variables: &[] },
    Agent { title: "Droid", processes: &["droid"], packages: &[], variables: &[] },
    Agent { title: "an agent program", processes: &[], packages: &[], variables: &["AI_AGENT"] },
];

/// Programs that run a script, by which they are to be known.
const INTERPRETERS: &[&str] = &["node", "nodejs", "bun", "deno", "python", "python3", "electron"];

impl Agent {
    /// Whether a process is one of its own, by its name and by the words that it was started with.
    pub fn runs_as(&self, name: &str, words: &[String]) -> bool {
        let first = words.first().map(String::as_str).unwrap_or_default();
        let names = [base(name), base(first)];
        if names.iter().any(|name| self.processes.contains(&name.as_str())) {
            return true;
        }
        if !names.iter().any(|name| INTERPRETERS.contains(&name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))) {
            return false;
        }
        let script = words.iter().skip(1).find(|word| !word.starts_with('-')).map(|word| word.replace('\\', "/"));
        script.is_some_and(|script| {
            let name = base(&script);
            let name = name.split_once('.').map_or(name.as_str(), |(name, _)| name);
            self.processes.contains(&name) || self.packages.iter().any(|package| script.contains(package))
        })
    }
}

/// The last name of a path, as names of processes are compared.
fn base(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    name.strip_suffix(".exe").map_or(name.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn title(name: &str, words: &[&str]) -> Option<&'static str> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        AGENTS.iter().find(|agent| agent.runs_as(name, &words)).map(|agent| agent.title)
    }

    #[test]
    fn processes() {
        for (name, words, expected) in [
            ("claude", &["claude", "-p", "x"][..], Some("Claude Code")),
            ("claude", &[], Some("Claude Code")),
            ("Claude.exe", &["C:\\Users\\u\\claude.exe"], Some("Claude Code")),
            ("node", &["node", "--no-warnings", "/usr/bin/gemini", "-p", "x"], Some("Gemini CLI")),
            ("MainThread", &["node", "/usr/lib/node_modules/@google/gemini-cli/dist/index.js"], Some("Gemini CLI")),
            ("node", &["/usr/bin/node", "/x/node_modules/@openai/codex/bin/codex.js"], Some("Codex")),
            ("python3.12", &["python3.12", "/home/u/.local/bin/aider"], Some("Aider")),
            ("sh", &["/tmp/x/claude", "-c", "tollgate init"], Some("Claude Code")),
            ("bash", &["bash", "-c", "claude -p x"], None),
            ("node", &["node", "server.js", "claude"], None),
            ("vim", &["vim", "claude"], None),
            ("code", &["code"], None),
            ("cursor", &["/opt/cursor/cursor"], None),
            ("gnome-terminal-", &["/usr/libexec/gnome-terminal-server"], None),
            ("", &[], None),
        ] {
            assert_eq!(title(name, words), expected, "{name} {words:?}");
        }
    }
}
