//! Finds the tools that a name may mean, in the records of all programs.

use super::{Act, AgentProgram, PROGRAMS, PatchDialect, Tool, own_tools};

/// The tools that a call may mean: the program's own tools, spelled exactly or else ignoring case; if the program is not known or
/// has no such tool, those of all programs. Empty if no record knows the name.
pub fn tools(host: Option<&str>, name: &str) -> Vec<&'static Tool> {
    if let Some(own) = own_tools::record(name) {
        return vec![own];
    }
    let own: Vec<&AgentProgram> =
        PROGRAMS.iter().copied().filter(|program| host.is_some_and(|host| program.has_name(host))).collect();
    let exact = |known: &str| known == name;
    let loosely = |known: &str| known.eq_ignore_ascii_case(name);
    let mut found = matching_tools(&own, exact);
    if found.is_empty() {
        found = matching_tools(&own, loosely);
    }
    if found.is_empty() {
        found = matching_tools(PROGRAMS, loosely);
    }
    found
}

fn matching_tools(programs: &[&'static AgentProgram], fits: impl Fn(&str) -> bool) -> Vec<&'static Tool> {
    let mut found: Vec<&Tool> = Vec::new();
    for tool in programs.iter().flat_map(|program| program.tools) {
        let same = |other: &&Tool| (other.act, other.args) == (tool.act, tool.args);
        if tool.names.iter().any(|name| fits(name)) && !found.iter().any(same) {
            found.push(tool);
        }
    }
    found
}

/// What a tool does; `None` if it is unknown or if the programs that have it disagree.
pub fn act(host: Option<&str>, name: &str) -> Option<Act> {
    let tools = tools(host, name);
    let first = tools.first()?.act;
    tools.iter().all(|tool| tool.act == first).then_some(first)
}

/// Which parser reads a program's patches.
pub fn dialect(host: Option<&str>) -> PatchDialect {
    let known = PROGRAMS.iter().find(|program| host.is_some_and(|host| program.has_name(host)));
    known.map_or(PatchDialect::Any, |program| program.dialect)
}

#[cfg(test)]
mod tests {
    use super::super::ArgumentMeaning;
    use super::*;

    #[test]
    fn names() {
        for (host, tool, expected) in [
            (None, "write_to_file", Some(Act::Writes)),
            (None, "WRITE_TO_FILE", Some(Act::Writes)),
            (Some("opencode"), "apply_patch", Some(Act::Patches)),
            (Some("claude-code"), "write_to_file", Some(Act::Writes)),
            (Some("Claude-Code"), "bash", Some(Act::Shell)),
            (Some("somebody"), "Bash", Some(Act::Shell)),
            (Some("roo"), "select_active_intent", Some(Act::Inert)),
            (Some("claude-code"), "mcp__tollgate__intent_context", Some(Act::Inert)),
            (Some("claude-code"), "mcp__other__intent_context", None),
            (Some("codex"), "multi_agent_v1wait_agent", Some(Act::Inert)),
            (None, "launch", None),
        ] {
            assert_eq!(act(host, tool), expected, "{host:?} {tool}");
        }
    }

    /// Without a host, a call may be one of any program's tools of that name, so the name is only useful if all programs agree.
    #[test]
    fn no_two_programs_disagree_about_what_a_tool_does() {
        for tool in PROGRAMS.iter().flat_map(|program| program.tools) {
            for name in tool.names {
                assert_eq!(act(None, name), Some(tool.act), "{name}");
            }
        }
    }

    #[test]
    fn records_are_whole() {
        for program in PROGRAMS {
            for tool in program.tools {
                let has = |kinds: &[ArgumentMeaning]| tool.args.iter().any(|(_, kind)| kinds.contains(kind));
                let whole = match tool.act {
                    Act::Writes | Act::Deletes | Act::MakesFolders => {
                        has(&[ArgumentMeaning::Path, ArgumentMeaning::Paths, ArgumentMeaning::WrittenPath])
                    }
                    Act::Shell | Act::PowerShell => has(&[ArgumentMeaning::Command, ArgumentMeaning::Words]),
                    Act::Patches | Act::Diffs => has(&[ArgumentMeaning::Patch]),
                    Act::Types => has(&[ArgumentMeaning::Typed]),
                    Act::Edits => has(&[ArgumentMeaning::Function]) && has(&[ArgumentMeaning::Path]),
                    Act::CallsServer => has(&[ArgumentMeaning::ServerTool]) && has(&[ArgumentMeaning::ServerArguments]),
                    Act::Reads | Act::Inert | Act::Executes | Act::Opaque => true,
                };
                assert!(whole, "{:?} of {:?}", tool.names, program.names);
            }
            let mut names: Vec<&str> = program.tools.iter().flat_map(|tool| tool.names).copied().collect();
            names.sort_unstable();
            let count = names.len();
            names.dedup();
            assert_eq!(names.len(), count, "{:?} names a tool twice", program.names);
        }
    }
}
