//! Determines which tools a hook matcher covers.

/// The tools that a matcher leaves out; `None` if that cannot be determined.
pub fn uncovered_tools<'a>(matcher: Option<&str>, tools: &[&'a str]) -> Option<Vec<&'a str>> {
    let matcher = matcher.unwrap_or_default().trim();
    if matches!(matcher, "" | "*" | ".*" | "^.*$") {
        return Some(Vec::new());
    }
    let ways: Vec<&str> = matcher.trim_start_matches("^(").trim_end_matches(")$").split('|').map(str::trim).collect();
    // Other syntax of patterns is not interpreted here.
    let plain = |way: &&str| {
        let name = way.trim_start_matches('^').trim_end_matches('$').trim_end_matches(".*").trim_start_matches(".*");
        name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-' || c == ':')
    };
    if !ways.iter().all(plain) {
        return None;
    }
    let meets = |way: &&str, tool: &str| {
        let way = way.trim_start_matches('^').trim_end_matches('$');
        match (way.strip_prefix(".*"), way.strip_suffix(".*")) {
            (Some(end), _) => tool.ends_with(end.trim_end_matches(".*")),
            (None, Some(start)) => tool.starts_with(start),
            (None, None) => tool == way,
        }
    };
    Some(tools.iter().copied().filter(|tool| !ways.iter().any(|way| meets(way, tool))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matchers() {
        let tools = ["Write", "Edit", "Bash"];
        for (matcher, expected) in [
            (None, Some(vec![])),
            (Some("*"), Some(vec![])),
            (Some(".*"), Some(vec![])),
            (Some("Write|Edit|Bash"), Some(vec![])),
            (Some("^(Write|Edit)$"), Some(vec!["Bash"])),
            (Some("Write|Ed.*"), Some(vec!["Bash"])),
            (Some("mcp__.*"), Some(vec!["Write", "Edit", "Bash"])),
            (Some("(?i)write"), None),
        ] {
            assert_eq!(uncovered_tools(matcher, &tools), expected, "{matcher:?}");
        }
    }
}
