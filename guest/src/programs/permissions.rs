//! Reads from a program's own settings which MCP tools a person lets it run without asking.
//!
//! Only the user's own file is read here. A program also reads files of the workspace, but a repository can ship those, so they
//! say nothing about a person's wishes.

use serde_json::Value;

/// The longest name of a server or a tool that is looked for.
const MAX_NAME: usize = 256;

/// A tool of an MCP server, with the names under which server and tool are configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerTool {
    /// The server.
    pub server: String,
    /// Its tool.
    pub tool: String,
    /// How the program reaches the server, if it says so: the command and its arguments, or only the address.
    pub start: Option<Vec<String>>,
}

impl ServerTool {
    /// The tool that `mcp__SERVER__TOOL` names; `None` for other names, and for those that can be split in two ways.
    pub fn of_name(name: &str) -> Option<Self> {
        let (server, tool) = name.strip_prefix("mcp__")?.split_once("__")?;
        Self::new(server, tool).filter(|_| !tool.contains("__"))
    }

    /// The tool that `mcp__SERVER__TOOL` names, if the program says which server it means.
    pub fn of_server(server: &str, name: &str) -> Option<Self> {
        Self::new(server, name.strip_prefix(&format!("mcp__{}__", spell(server)))?)
    }

    /// A tool of a server; `None` if either name is empty or too long.
    pub fn new(server: &str, tool: &str) -> Option<Self> {
        let fits = |name: &str| !name.is_empty() && name.len() <= MAX_NAME;
        (fits(server) && fits(tool)).then(|| Self { server: server.to_owned(), tool: tool.to_owned(), start: None })
    }

    fn is_of(&self, server: &str) -> bool {
        spell(server) == spell(&self.server)
    }
}

/// A name as programs spell it for their models.
fn spell(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

/// Whether a person lets an MCP tool run, according to their own settings. What the server claims about itself is a
/// [`Claim`](crate::servers::Claim).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Permission {
    /// The settings do not say.
    #[default]
    Unspecified,
    /// The person wants to be asked, or does not want it to run.
    Against,
    /// The person lets the server's tools run without asking, including this one.
    Server,
    /// The person lets this tool run without asking.
    Tool,
}

/// Where a program stores a person's permissions.
#[derive(Debug, Clone, Copy)]
pub struct Permissions {
    /// The user's own file, below the home folder. Hosts give the gate read-only access to these files.
    pub file: &'static str,
    /// The format of the file.
    pub form: PermissionsFormat,
}

/// The format of a program's permissions.
#[derive(Debug, Clone, Copy)]
pub enum PermissionsFormat {
    /// JSON, comments allowed.
    Json(fn(&Value, &ServerTool) -> Permission),
    /// TOML.
    Toml(fn(&str, &ServerTool) -> Permission),
}

/// The rules of Claude Code: `permissions.allow`, `ask` and `deny`, with `mcp__SERVER` and `mcp__SERVER__*` for a whole server
/// and `mcp__SERVER__TOOL` for one tool. Claude Code ignores an allow rule with a wildcard anywhere but after the name of a
/// server.
pub(super) fn rules(settings: &Value, asked: &ServerTool) -> Permission {
    let server = format!("mcp__{}", spell(&asked.server));
    let behind = format!("{server}__");
    let name = format!("{behind}{}", spell(&asked.tool));
    let listed = |list: &str| settings.get("permissions")?.get(list)?.as_array();
    let rules = |list: &str| listed(list).into_iter().flatten().filter_map(Value::as_str);
    // Claude Code does not read what is in parentheses after the name of such a tool. For rules that make it stricter, the name
    // alone counts.
    let is_about = |rule: &str| {
        let rule = rule.split('(').next().unwrap_or_default();
        rule == server || has_stars(rule, &name)
    };
    if rules("deny").chain(rules("ask")).any(is_about) {
        Permission::Against
    } else if rules("allow").any(|rule| rule == name) {
        Permission::Tool
    } else if rules("allow").any(|rule| rule == server || (rule.starts_with(&behind) && has_stars(rule, &name))) {
        Permission::Server
    } else {
        Permission::Unspecified
    }
}

/// The trust of Gemini CLI: `mcpServers.SERVER.trust`, for the tools that `includeTools` and `excludeTools` leave. A workspace
/// can replace the user's server with one of its own, so the server must be the one that the user's settings start.
pub(super) fn server_trust(settings: &Value, asked: &ServerTool) -> Permission {
    let lists = |holder: &Value, list: &str, name: &str| {
        let listed = holder.get(list)?.as_array()?;
        let is_it = |item: &str| item == name || item.strip_prefix(name).is_some_and(|rest| rest.starts_with('('));
        Some(listed.iter().filter_map(Value::as_str).any(is_it))
    };
    let Some(server) = settings.get("mcpServers").and_then(|servers| servers.get(&asked.server)) else {
        return Permission::Unspecified;
    };
    let servers = settings.get("mcp").unwrap_or(&Value::Null);
    if lists(server, "excludeTools", &asked.tool) == Some(true) || lists(servers, "excluded", &asked.server) == Some(true) {
        return Permission::Against;
    }
    let is_included =
        lists(server, "includeTools", &asked.tool) != Some(false) && lists(servers, "allowed", &asked.server) != Some(false);
    let is_trusted = server.get("trust") == Some(&Value::Bool(true)) && is_included;
    if is_trusted && start_of_server(server).is_some_and(|start| asked.start.as_ref() == Some(&start)) {
        Permission::Server
    } else {
        Permission::Unspecified
    }
}

/// How a server is reached according to its entry: its command and arguments, or its address.
pub(super) fn start_of_server(server: &Value) -> Option<Vec<String>> {
    let text = |name: &str| server.get(name)?.as_str().map(str::to_owned);
    let Some(command) = text("command") else { return text("url").or_else(|| text("httpUrl")).map(|address| vec![address]) };
    let args = server.get("args").and_then(Value::as_array).into_iter().flatten();
    Some([command].into_iter().chain(args.map(|word| word.as_str().unwrap_or_default().to_owned())).collect())
}

/// The approvals of Codex: `approval_mode` in `[mcp_servers.SERVER.tools.TOOL]`, else `default_tools_approval_mode` in
/// `[mcp_servers.SERVER]`. Only `approve` lets a tool run without asking, whatever it does.
pub(super) fn approvals(config: &str, asked: &ServerTool) -> Permission {
    let (mut table, mut text) = (Some(Vec::new()), None);
    let (mut of_server, mut of_tool) = (None, None);
    for line in config.lines().map(str::trim) {
        // A line within a multi-line string is not a setting.
        if let Some(quotes) = text {
            text = (line.matches(quotes).count() % 2 == 0).then_some(quotes);
            continue;
        }
        text = ["\"\"\"", "'''"].into_iter().find(|quotes| line.matches(quotes).count() % 2 == 1);
        if let Some(header) = line.strip_prefix('[') {
            table = header.split_once(']').and_then(|(name, _)| keys(name));
            continue;
        }
        let Some((table, (name, value))) = table.as_ref().zip(line.split_once('=')) else { continue };
        let Some(name) = keys(name) else { continue };
        let path: Vec<&str> = table.iter().chain(&name).map(String::as_str).collect();
        let Some((&"mcp_servers", [server, path @ ..])) = path.split_first() else { continue };
        if !asked.is_of(server) {
            continue;
        }
        let value = value.split('#').next().unwrap_or_default().trim();
        match path {
            ["default_tools_approval_mode"] => of_server = Some(value),
            ["tools", tool, "approval_mode"] if spell(tool) == spell(&asked.tool) => of_tool = Some(value),
            // An inline table is not parsed, and may contain anything.
            [] | ["tools", ..] if value.starts_with('{') => return Permission::Unspecified,
            _ => {}
        }
    }
    match of_tool.or(of_server).map(|mode| mode.trim_matches(['"', '\''])) {
        Some("approve") if of_tool.is_some() => Permission::Tool,
        Some("approve") => Permission::Server,
        Some("prompt") => Permission::Against,
        _ => Permission::Unspecified,
    }
}

/// The parts of a dotted TOML key; `None` if the text is not a key.
fn keys(name: &str) -> Option<Vec<String>> {
    let (mut keys, mut rest) = (Vec::new(), name.trim());
    loop {
        let quote = rest.chars().next().filter(|c| ['"', '\''].contains(c));
        let (key, behind) = match quote {
            Some(quote) => rest.get(1..)?.split_once(quote)?,
            None => rest.split_at(rest.find('.').unwrap_or(rest.len())),
        };
        let key = if quote.is_some() { key } else { key.trim() };
        if key.is_empty() || (quote == Some('"') && key.contains('\\')) {
            return None;
        }
        keys.push(key.to_owned());
        match behind.trim_start().strip_prefix('.') {
            Some(next) => rest = next.trim_start(),
            None => return behind.trim().is_empty().then_some(keys),
        }
    }
}

/// Whether a text matches a pattern in which `*` stands for any text.
fn has_stars(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(part) = last.replace(part) {
            let Some((_, behind)) = rest.split_once(part) else { return false };
            rest = behind;
        }
    }
    last.map_or(rest.is_empty(), |last| rest.ends_with(last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asked(server: &str, tool: &str) -> ServerTool {
        ServerTool::new(server, tool).unwrap()
    }

    #[test]
    fn names() {
        for (name, expected) in [
            ("mcp__github__create_issue", Some(("github", "create_issue"))),
            // There are two ways to split it.
            ("mcp__a__b__c", None),
            ("mcp__github__", None),
            ("mcp____x", None),
            ("mcp_github_x", None),
            ("Write", None),
        ] {
            let found = ServerTool::of_name(name);
            assert_eq!(found.as_ref().map(|found| (&*found.server, &*found.tool)), expected, "{name}");
        }
        assert_eq!(ServerTool::of_server("a.b", "mcp__a_b__c__d"), Some(asked("a.b", "c__d")));
        assert_eq!(ServerTool::of_server("a", "mcp__a_b__c"), None);
    }

    #[test]
    fn claude_code() {
        for (allow, ask, deny, expected) in [
            (json!(["mcp__github"]), json!([]), json!([]), Permission::Server),
            (json!(["mcp__github__*"]), json!([]), json!([]), Permission::Server),
            (json!(["mcp__github__create_*"]), json!([]), json!([]), Permission::Server),
            (json!(["mcp__github__*_issue"]), json!([]), json!([]), Permission::Server),
            (json!(["Bash", 3, "mcp__github__create_issue"]), json!([]), json!([]), Permission::Tool),
            (
                json!(["mcp__git", "mcp__github_", "mcp__github__create", "mcp__github__get_*"]),
                json!([]),
                json!([]),
                Permission::Unspecified,
            ),
            // Claude Code ignores these.
            (json!(["mcp__*", "*", "mcp__git*", "mcp__github*"]), json!([]), json!([]), Permission::Unspecified),
            (json!(["mcp__github__create_issue(title:*)"]), json!([]), json!([]), Permission::Unspecified),
            (json!("mcp__github"), json!([]), json!([]), Permission::Unspecified),
            // An ask rule takes precedence over an allow rule.
            (json!(["mcp__github__create_issue"]), json!(["mcp__github"]), json!([]), Permission::Against),
            (json!(["mcp__github__create_issue"]), json!(["mcp__*"]), json!([]), Permission::Against),
            (json!(["mcp__github"]), json!([]), json!(["mcp__github__create_issue(x)"]), Permission::Against),
            (json!(["mcp__github"]), json!([]), json!(["mcp__github__delete_*", "mcp__gitlab"]), Permission::Server),
            (json!(["mcp__github"]), json!([]), json!(["*"]), Permission::Against),
        ] {
            let settings = json!({"permissions": {"allow": allow, "ask": ask, "deny": deny}});
            assert_eq!(rules(&settings, &asked("github", "create_issue")), expected, "{settings}");
        }
        assert_eq!(rules(&Value::Null, &asked("github", "x")), Permission::Unspecified);
    }

    #[test]
    fn gemini() {
        let ours = ["node", "server.js"].map(str::to_owned).to_vec();
        let server = |more: Value| {
            let mut server = json!({"command": "node", "args": ["server.js"], "trust": true});
            server.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"mcpServers": {"s": server}})
        };
        for (settings, start, expected) in [
            (server(json!({})), Some(ours.clone()), Permission::Server),
            (server(json!({"trust": false})), Some(ours.clone()), Permission::Unspecified),
            (server(json!({"trust": "true"})), Some(ours.clone()), Permission::Unspecified),
            (server(json!({"includeTools": ["t", "u"]})), Some(ours.clone()), Permission::Server),
            (server(json!({"includeTools": ["t(x)"]})), Some(ours.clone()), Permission::Server),
            (server(json!({"includeTools": ["u", "tt"]})), Some(ours.clone()), Permission::Unspecified),
            (server(json!({"excludeTools": ["t"]})), Some(ours.clone()), Permission::Against),
            // A workspace replaced the server, or it is not known which server it is.
            (server(json!({})), Some(vec!["node".to_owned(), "other.js".to_owned()]), Permission::Unspecified),
            (server(json!({})), None, Permission::Unspecified),
            (
                json!({"mcpServers": {"s": {"httpUrl": "https://a", "trust": true}}}),
                Some(vec!["https://a".to_owned()]),
                Permission::Server,
            ),
            (json!({"mcpServers": {"s": {"trust": true}}}), None, Permission::Unspecified),
            (
                json!({"mcpServers": {"other": {"command": "node", "args": ["server.js"], "trust": true}}}),
                Some(ours.clone()),
                Permission::Unspecified,
            ),
        ] {
            let asked = ServerTool { start, ..asked("s", "t") };
            assert_eq!(server_trust(&settings, &asked), expected, "{settings} {asked:?}");
        }
        let mut settings = server(json!({}));
        settings["mcp"] = json!({"excluded": ["s"]});
        assert_eq!(server_trust(&settings, &ServerTool { start: Some(ours), ..asked("s", "t") }), Permission::Against);
    }

    #[test]
    fn codex() {
        for (config, expected) in [
            ("[mcp_servers.s]\ncommand = \"x\"\ndefault_tools_approval_mode = \"approve\" # always", Permission::Server),
            ("[mcp_servers.\"s\"]\ndefault_tools_approval_mode = 'approve'", Permission::Server),
            ("[mcp_servers]\ns.default_tools_approval_mode = \"approve\"", Permission::Server),
            ("mcp_servers.s.tools.t.approval_mode = \"approve\"", Permission::Tool),
            ("[mcp_servers.s.tools.t]\napproval_mode = \"approve\"", Permission::Tool),
            ("[mcp_servers.s.tools.\"t\"]\napproval_mode = \"approve\"", Permission::Tool),
            ("[mcp_servers.s]\ndefault_tools_approval_mode = \"prompt\"", Permission::Against),
            ("[mcp_servers.s]\ndefault_tools_approval_mode = \"auto\"", Permission::Unspecified),
            ("[mcp_servers.s]\ndefault_tools_approval_mode = \"writes\"", Permission::Unspecified),
            (
                "[mcp_servers.s]\ndefault_tools_approval_mode = \"approve\"\n[mcp_servers.s.tools.t]\napproval_mode = \"prompt\"",
                Permission::Against,
            ),
            (
                "[mcp_servers.s]\ndefault_tools_approval_mode = \"approve\"\ntools = { t = { approval_mode = \"prompt\" } }",
                Permission::Unspecified,
            ),
            ("[mcp_servers]\ns = { default_tools_approval_mode = \"approve\" }", Permission::Unspecified),
            ("[mcp_servers.other]\ndefault_tools_approval_mode = \"approve\"", Permission::Unspecified),
            ("[mcp_servers.s.tools.other]\napproval_mode = \"approve\"", Permission::Unspecified),
            ("[other.s]\ndefault_tools_approval_mode = \"approve\"", Permission::Unspecified),
            ("note = \"\"\"\n[mcp_servers.s]\ndefault_tools_approval_mode = \"approve\"\n\"\"\"", Permission::Unspecified),
            ("# [mcp_servers.s]\ndefault_tools_approval_mode = \"approve\"", Permission::Unspecified),
            ("[mcp_servers.s\ndefault_tools_approval_mode = \"approve\"", Permission::Unspecified),
            ("", Permission::Unspecified),
        ] {
            assert_eq!(approvals(config, &asked("s", "t")), expected, "{config}");
        }
        let spaced = "[mcp_servers.\"my server\"]\ndefault_tools_approval_mode = \"approve\"";
        assert_eq!(approvals(spaced, &asked("my_server", "t")), Permission::Server);
    }

    #[test]
    fn stars() {
        for (pattern, text, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("*b", "ab", true),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abde", false),
            ("a*a", "a", false),
            ("**", "", true),
            ("", "", true),
        ] {
            assert_eq!(has_stars(pattern, text), expected, "{pattern} {text}");
        }
    }
}
