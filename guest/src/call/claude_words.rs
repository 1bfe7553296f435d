//! Translates calls of any program into calls of Claude Code's tools.
//!
//! What a tool does and what its arguments mean is taken from the program's own record. A patch becomes one call for each of its
//! files. A call without a counterpart stays as it is, under its own name.

use serde_json::{Map, Value};

use super::patch;
use super::shell::quote;
use crate::effects::Access;
use crate::hooks::claude::call::ClaudeCall;
use crate::json;
use crate::programs::permissions::ServerTool;
use crate::programs::{self, Act, ArgumentMeaning as Kind, Tool};

/// Claude Code's names for arguments that other programs spell differently.
const ARGUMENTS: &[(&str, &[&str])] = &[
    ("content", &["content", "contents", "code", "file_text", "code_edit"]),
    ("old_string", &["old_string", "oldString", "old_str", "oldText", "search"]),
    ("new_string", &["new_string", "newString", "new_str", "newText", "replace"]),
    ("replace_all", &["replace_all", "replaceAll"]),
    ("pattern", &["pattern", "query", "regex", "glob_pattern"]),
    ("glob", &["glob", "include", "file_pattern"]),
    ("run_in_background", &["run_in_background", "is_background", "isBackground"]),
];

/// Claude Code's tools that do not work on files, with the names of such tools in other programs.
const NAMES: &[(&str, &[&str])] = &[
    ("WebFetch", &["webfetch", "web_fetch", "fetch", "fetch_webpage"]),
    ("WebSearch", &["websearch", "web_search", "google_web_search"]),
    ("Task", &["task", "agent", "runsubagent", "new_task"]),
    ("TodoWrite", &["todowrite", "write_todos", "manage_todo_list", "update_todo_list", "todo_write", "update_plan"]),
    ("Skill", &["skill", "activate_skill"]),
];

/// The translated calls of an event. `base` is the folder to which paths are relative.
pub fn calls(data: &Value, base: &str) -> Vec<ClaudeCall> {
    let (program, tool) = (json::text(data, "program"), json::text(data, "tool_name").unwrap_or_default());
    let args = data.get("args").and_then(Value::as_object).cloned().unwrap_or_default();
    let reader = Translator { program, tool, base, args: &args };
    reader.calls().unwrap_or_else(|| vec![reader.with_same_arguments(tool.to_owned())])
}

struct Translator<'c> {
    program: Option<&'c str>,
    tool: &'c str,
    base: &'c str,
    args: &'c Map<String, Value>,
}

impl Translator<'_> {
    fn calls(&self) -> Option<Vec<ClaudeCall>> {
        if self.program.is_some_and(|program| programs::find(program).is_some_and(|known| known.has_name("claude-code"))) {
            return None;
        }
        let records = programs::tools(self.program, self.tool);
        let Some(tool) = records.first() else { return self.server_call(None) };
        let folded = self.tool.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| folded.contains(word));
        let call = match tool.act {
            Act::Shell => self.command(tool, "Bash")?,
            Act::PowerShell => self.command(tool, "PowerShell")?,
            Act::Edits if self.function(tool) == Some("view") => self.on_file(tool, "Read"),
            Act::Writes | Act::Diffs | Act::Edits => {
                let name = if self.is_edit(tool) { "Edit" } else { "Write" };
                let listed = self.listed_paths(tool);
                if !listed.is_empty() {
                    return Some(listed.iter().map(|path| self.call_for_file(tool, name, path)).collect());
                }
                self.on_file(tool, name)
            }
            Act::Reads if has(&["grep", "search"]) => self.on_folder(tool, "Grep"),
            Act::Reads if has(&["glob", "find"]) => self.on_folder(tool, "Glob"),
            Act::Reads if has(&["list", "directory"]) || folded == "ls" => self.on_folder(tool, "LS"),
            Act::Reads if self.path(tool).is_some() => self.on_file(tool, "Read"),
            Act::Patches => return self.patch(tool),
            Act::Deletes => self.to_shell_command(tool, "rm -rf --"),
            Act::MakesFolders => self.to_shell_command(tool, "mkdir -p --"),
            Act::CallsServer => return self.server_call(Some(tool)),
            _ => {
                let named = NAMES.iter().find(|(_, others)| others.contains(&folded.as_str()));
                self.with_same_arguments(named.map_or(self.tool, |(name, _)| name).to_owned())
            }
        };
        Some(vec![call])
    }

    /// A call with the same arguments, under the given name.
    fn with_same_arguments(&self, name: String) -> ClaudeCall {
        let keys = self.args.keys().map(|key| (key.clone(), key.clone())).collect();
        ClaudeCall { name, input: self.args.clone(), keys: Some(keys) }
    }

    /// A call of an MCP tool, under the name that Claude Code gives it.
    fn server_call(&self, tool: Option<&Tool>) -> Option<Vec<ClaudeCall>> {
        let text = |kind: Kind| tool?.arguments(kind).find_map(|name| self.args.get(name)?.as_str());
        let Some(found) = text(Kind::Server).zip(text(Kind::ServerTool)).and_then(|(server, tool)| ServerTool::new(server, tool))
        else {
            // This is Claude Code's own form, or that of an unknown program.
            return None;
        };
        let given = tool.into_iter().flat_map(|tool| tool.arguments(Kind::ServerArguments)).find_map(|name| self.args.get(name));
        let given = match given {
            Some(Value::String(text)) => json::value(text).unwrap_or_default(),
            given => given.cloned().unwrap_or_default(),
        };
        let input = given.as_object().cloned().unwrap_or_default();
        Some(vec![ClaudeCall { name: format!("mcp__{}__{}", found.server, found.tool), input, keys: None }])
    }

    fn command(&self, tool: &Tool, name: &str) -> Option<ClaudeCall> {
        let mut call = self.translate_arguments(tool, name);
        let text = tool.arguments(Kind::Command).find_map(|key| Some((key, self.args.get(key)?.as_str()?.to_owned())));
        let words = || {
            let (key, words) = tool.arguments(Kind::Words).find_map(|key| Some((key, self.args.get(key)?.as_array()?)))?;
            let words: Option<Vec<String>> = words.iter().map(|word| word.as_str().map(quote)).collect();
            Some((key, words?.join(" ")))
        };
        let (key, command) = match text {
            Some(found) => {
                call.add_argument("command", found.0, found.1.clone().into());
                found
            }
            // A list of words cannot be reconstructed from a single string.
            None => {
                let found = words()?;
                call.keys = None;
                found
            }
        };
        call.input.shift_remove(key);
        call.input.insert("command".to_owned(), command.into());
        Some(call)
    }

    fn on_file(&self, tool: &Tool, name: &str) -> ClaudeCall {
        let mut call = self.translate_arguments(tool, name);
        if let Some((key, path)) = self.path(tool) {
            call.input.shift_remove(key);
            call.add_argument("file_path", key, self.absolute(path).into());
        }
        call
    }

    fn on_folder(&self, tool: &Tool, name: &str) -> ClaudeCall {
        let mut call = self.translate_arguments(tool, name);
        if let Some((key, path)) = self.path(tool) {
            call.input.shift_remove(key);
            call.add_argument("path", key, self.absolute(path).into());
        }
        call
    }

    /// The call for one file of a call that writes several.
    fn call_for_file(&self, tool: &Tool, name: &str, path: &str) -> ClaudeCall {
        let mut call = self.translate_arguments(tool, name);
        call.keys = None;
        call.input.insert("file_path".to_owned(), self.absolute(path).into());
        call
    }

    /// The paths in a list of paths, or of objects that contain paths.
    fn listed_paths(&self, tool: &Tool) -> Vec<String> {
        let path = |item: &Value| {
            let held = || ["filePath", "file_path", "path"].iter().find_map(|key| json::text(item, key));
            item.as_str().or_else(held).map(str::to_owned)
        };
        let lists = tool.arguments(Kind::Paths).filter_map(|key| self.args.get(key)?.as_array());
        lists.flatten().filter_map(path).collect()
    }

    /// An action that Claude Code has no tool for and that becomes a shell command.
    fn to_shell_command(&self, tool: &Tool, command: &str) -> ClaudeCall {
        let mut words = vec![command.to_owned()];
        let single = tool.arguments(Kind::Path).filter_map(|key| self.args.get(key)?.as_str().map(str::to_owned));
        words.extend(single.chain(self.listed_paths(tool)).map(|path| quote(&self.absolute(&path))));
        let input = Map::from_iter([("command".to_owned(), words.join(" ").into())]);
        ClaudeCall { name: "Bash".to_owned(), input, keys: None }
    }

    /// One call for each file of a patch.
    fn patch(&self, tool: &Tool) -> Option<Vec<ClaudeCall>> {
        let text = tool.arguments(Kind::Patch).find_map(|key| self.args.get(key)?.as_str())?;
        // Hooks that guard edits also get patches that cannot be read.
        let unread = || Some(vec![ClaudeCall { name: "Edit".to_owned(), input: self.args.clone(), keys: None }]);
        let Ok(changes) = patch::changes(text, programs::dialect(self.program)) else { return unread() };
        let call = |change: &patch::PatchedFile| {
            let path = self.absolute(&change.path);
            let (name, key, value) = match change.access {
                Access::Delete | Access::DeleteTree => ("Bash", "command", format!("rm -rf -- {}", quote(&path))),
                _ => ("Edit", "file_path", path),
            };
            let mut input = Map::from_iter([(key.to_owned(), value.into())]);
            if name == "Edit" {
                input.insert("patch".to_owned(), text.into());
            }
            ClaudeCall { name: name.to_owned(), input, keys: None }
        };
        if changes.is_empty() { unread() } else { Some(changes.iter().map(call).collect()) }
    }

    /// Translates all arguments, with Claude Code's names for those that it knows.
    fn translate_arguments(&self, tool: &Tool, name: &str) -> ClaudeCall {
        let mut call = ClaudeCall { name: name.to_owned(), input: Map::new(), keys: Some(Vec::new()) };
        for (key, value) in self.args {
            let is_text = !matches!(tool.meaning_of(key), Some(Kind::Path | Kind::Command | Kind::Words));
            let known = ARGUMENTS.iter().find(|(_, others)| is_text && others.contains(&key.as_str()));
            call.add_argument(known.map_or(key.as_str(), |(known, _)| known), key, value.clone());
        }
        call
    }

    /// The first path among the tool's arguments, and the name of that argument.
    fn path(&self, tool: &Tool) -> Option<(&'static str, &str)> {
        let mut keys = [Kind::Path, Kind::WrittenPath, Kind::ReadPath].into_iter().flat_map(|kind| tool.arguments(kind));
        keys.find_map(|key| Some((key, self.args.get(key)?.as_str()?)))
    }

    fn function(&self, tool: &Tool) -> Option<&str> {
        tool.arguments(Kind::Function).find_map(|key| self.args.get(key)?.as_str())
    }

    /// Whether only a part of a file is replaced.
    fn is_edit(&self, tool: &Tool) -> bool {
        let is_part = |key: &String| {
            let replaces = ["old_string", "new_string"]
                .iter()
                .any(|name| ARGUMENTS.iter().any(|(known, others)| known == name && others.contains(&key.as_str())));
            replaces || matches!(key.as_str(), "edits" | "diff" | "replacements" | "operations" | "insert_line")
        };
        let writes_whole = matches!(self.function(tool), Some("view" | "create"));
        !writes_whole && (tool.act == Act::Diffs || self.args.keys().any(is_part))
    }

    fn absolute(&self, path: &str) -> String {
        let is_absolute = path.starts_with(['/', '~']) || path.get(1..2) == Some(":");
        if is_absolute || self.base.is_empty() {
            return path.to_owned();
        }
        format!("{}/{}", self.base.trim_end_matches('/'), path.strip_prefix("./").unwrap_or(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn translated_calls(program: &str, tool: &str, args: Value) -> Vec<String> {
        let data = json!({"program": program, "tool_name": tool, "args": args});
        calls(&data, "/w").iter().map(|call| format!("{} {}", call.name, Value::Object(call.input.clone()))).collect()
    }

    #[test]
    fn calls_in_claude_codes_words() {
        let patch =
            "*** Begin Patch\n*** Add File: a.txt\n+x\n*** Update File: b.txt\n@@\n-x\n+y\n*** Delete File: c.txt\n*** End Patch";
        for (program, tool, args, expected) in [
            (
                "opencode",
                "write",
                json!({"filePath": "a.ts", "content": "x"}),
                vec![r#"Write {"content":"x","file_path":"/w/a.ts"}"#],
            ),
            (
                "opencode",
                "edit",
                json!({"filePath": "/w/a.ts", "oldString": "a", "newString": "b"}),
                vec![r#"Edit {"old_string":"a","new_string":"b","file_path":"/w/a.ts"}"#],
            ),
            (
                "opencode",
                "bash",
                json!({"command": "ls", "description": "d"}),
                vec![r#"Bash {"description":"d","command":"ls"}"#],
            ),
            ("opencode", "read", json!({"filePath": "a"}), vec![r#"Read {"file_path":"/w/a"}"#]),
            ("opencode", "grep", json!({"pattern": "x", "path": "src"}), vec![r#"Grep {"pattern":"x","path":"/w/src"}"#]),
            ("opencode", "webfetch", json!({"url": "u"}), vec![r#"WebFetch {"url":"u"}"#]),
            (
                "gemini",
                "write_file",
                json!({"file_path": "a", "content": "x"}),
                vec![r#"Write {"content":"x","file_path":"/w/a"}"#],
            ),
            (
                "gemini",
                "replace",
                json!({"file_path": "a", "old_string": "x", "new_string": "y"}),
                vec![r#"Edit {"old_string":"x","new_string":"y","file_path":"/w/a"}"#],
            ),
            ("gemini", "run_shell_command", json!({"command": "ls"}), vec![r#"Bash {"command":"ls"}"#]),
            ("codex", "shell", json!({"command": ["rm", "a b"]}), vec![r#"Bash {"command":"rm 'a b'"}"#]),
            (
                "copilot",
                "create_file",
                json!({"filePath": "a", "content": ""}),
                vec![r#"Write {"content":"","file_path":"/w/a"}"#],
            ),
            ("cursor", "Delete", json!({"path": "a b"}), vec![r#"Bash {"command":"rm -rf -- '/w/a b'"}"#]),
            ("claude-code", "Write", json!({"file_path": "a"}), vec![r#"Write {"file_path":"a"}"#]),
            ("claude-code", "mcp__x__y", json!({"q": 1}), vec![r#"mcp__x__y {"q":1}"#]),
            (
                "roo",
                "use_mcp_tool",
                json!({"server_name": "x", "tool_name": "y", "arguments": "{\"q\":1}"}),
                vec![r#"mcp__x__y {"q":1}"#],
            ),
            ("opencode", "frobnicate", json!({"a": 1}), vec![r#"frobnicate {"a":1}"#]),
        ] {
            assert_eq!(translated_calls(program, tool, args), expected, "{program} {tool}");
        }
        let parts = translated_calls("opencode", "apply_patch", json!({"patchText": patch}));
        let starts =
            [r#"Edit {"file_path":"/w/a.txt","#, r#"Edit {"file_path":"/w/b.txt","#, r#"Bash {"command":"rm -rf -- /w/c.txt""#];
        assert_eq!(parts.len(), 3);
        assert!(parts.iter().zip(starts).all(|(part, start)| part.starts_with(start)), "{parts:?}");
    }

    #[test]
    fn what_a_hook_wants_is_told_back() {
        let args = json!({"filePath": "a.ts", "content": "x", "more": 1});
        let data = json!({"program": "opencode", "tool_name": "write", "args": args});
        let call = calls(&data, "/w").remove(0);
        let wanted = |wanted: Value| call.merge_wanted(&args, wanted.as_object().unwrap());
        let same = json!({"file_path": "/w/a.ts", "content": "x", "more": 1});
        assert_eq!(wanted(same), Some(args.clone()));
        let other = json!({"file_path": "/w/b.ts", "content": "y", "more": 1});
        assert_eq!(wanted(other), Some(json!({"filePath": "/w/b.ts", "content": "y", "more": 1})));
        assert_eq!(wanted(json!({"file_path": "/w/a.ts", "content": "x", "more": 1, "new": 1})), None);
        let patch = json!({"program": "codex", "tool_name": "shell", "args": {"command": ["ls"]}});
        assert_eq!(calls(&patch, "")[0].merge_wanted(&json!({}), &Map::new()), None);
    }
}
