//! Which tools a matcher of Claude Code selects.
//!
//! | matcher | what it selects |
//! | --- | --- |
//! | none, `""`, `*` | everything |
//! | only letters, digits, `_`, `-`, blanks, `,` and `\|` | the names that it lists, exactly |
//! | anything else | names in which the regular expression finds a match |

use crate::redact::Pattern;

/// A matcher.
#[derive(Debug, Clone)]
pub enum Matcher {
    /// Everything.
    All,
    /// These names.
    Names(Vec<String>),
    /// Names in which the expression finds a match.
    Pattern(Pattern),
}

impl Matcher {
    /// Compiles a matcher, or says what is wrong with it.
    pub fn compile(text: &str) -> Result<Self, String> {
        if matches!(text, "" | "*") {
            return Ok(Self::All);
        }
        if text.chars().all(|c| c.is_ascii_alphanumeric() || "_- ,|".contains(c)) {
            let names = text.split(['|', ',']).map(str::trim).filter(|name| !name.is_empty());
            return Ok(Self::Names(names.map(str::to_owned).collect()));
        }
        // The expression is checked by itself first, so that an extra parenthesis cannot close the group.
        let checked = Pattern::compile(text).and_then(|_| Pattern::compile(&format!("^(?s:.*)(?:{text})(?s:.*)$")));
        checked.map(Self::Pattern).map_err(|fault| format!("is not a supported regular expression: {fault}"))
    }

    /// Whether it selects a name. A name that cannot be searched counts as selected: a guard runs once too often rather than
    /// never.
    pub fn selects(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Names(names) => names.iter().any(|known| known == name),
            Self::Pattern(pattern) => pattern.finds(name).unwrap_or(true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matchers() {
        for (matcher, selected) in [
            ("", "Bash Write Edit mcp__memory__add NotebookEdit"),
            ("*", "Bash Write Edit mcp__memory__add NotebookEdit"),
            ("Bash", "Bash"),
            ("Edit|Write", "Write Edit"),
            ("Edit, Write", "Write Edit"),
            ("mcp__memory", ""),
            ("mcp__memory__.*", "mcp__memory__add"),
            ("^Notebook", "NotebookEdit"),
            ("Edit$", "Edit NotebookEdit"),
            ("(Write|Bash)", "Bash Write"),
            ("x*", "Bash Write Edit mcp__memory__add NotebookEdit"),
            ("bash", ""),
        ] {
            let compiled = Matcher::compile(matcher).unwrap();
            let names = ["Bash", "Write", "Edit", "mcp__memory__add", "NotebookEdit"];
            let found: Vec<&str> = names.into_iter().filter(|name| compiled.selects(name)).collect();
            assert_eq!(found.join(" "), selected, "{matcher}");
        }
        for matcher in ["(?!Bash)", "(", "a)(b", "[z-a]"] {
            assert!(Matcher::compile(matcher).is_err(), "{matcher}");
        }
    }
}
