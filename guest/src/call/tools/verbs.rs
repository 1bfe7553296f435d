//! Guesses what a tool without a record does from the words of its name.

use super::words::words;

/// What the name of a tool says that the tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    /// Reads its paths.
    Reads,
    /// Writes content to its paths.
    Writes,
    /// Deletes its paths.
    Deletes,
    /// Moves or renames a file.
    Moves,
    /// Copies a file.
    Copies,
    /// Creates folders.
    MakesFolders,
    /// Runs a command.
    Runs,
    /// Not known.
    Unclear,
}

const READS: &[&str] = &[
    "get",
    "list",
    "read",
    "search",
    "find",
    "query",
    "fetch",
    "show",
    "view",
    "describe",
    "status",
    "count",
    "check",
    "lookup",
    "grep",
    "head",
    "tail",
    "cat",
    "stat",
    "tree",
    "info",
    "browse",
    "explain",
    "summarize",
    "inspect",
    "diff",
    "blame",
    "history",
    "ls",
    "glob",
    "exists",
    "resolve",
    "analyze",
    "preview",
    "compare",
    "validate",
    "lint",
];

const WRITES: &[&str] = &[
    "write",
    "create",
    "edit",
    "update",
    "modify",
    "replace",
    "insert",
    "append",
    "save",
    "put",
    "set",
    "patch",
    "apply",
    "add",
    "overwrite",
    "rewrite",
    "format",
    "reformat",
    "fix",
    "touch",
    "truncate",
    "generate",
    "upload",
    "download",
    "export",
    "upsert",
    "change",
];

const DELETES: &[&str] = &["delete", "remove", "rm", "unlink", "erase", "trash", "drop", "purge", "destroy", "rmdir"];

const MOVES: &[&str] = &["move", "rename", "mv"];

const COPIES: &[&str] = &["copy", "cp", "duplicate", "clone"];

const RUNS: &[&str] = &["run", "exec", "execute", "shell", "command", "bash", "terminal", "eval", "script", "spawn", "invoke"];

/// Words for changing something, without saying what: a name with such a word does not count as reading, whatever else it
/// contains.
const OTHERS: &[&str] = &[
    "reset",
    "clear",
    "send",
    "post",
    "kill",
    "stop",
    "start",
    "restart",
    "close",
    "click",
    "type",
    "press",
    "submit",
    "push",
    "pull",
    "merge",
    "commit",
    "revert",
    "checkout",
    "rebase",
    "deploy",
    "publish",
    "install",
    "uninstall",
    "enable",
    "disable",
    "toggle",
    "approve",
    "reject",
    "assign",
    "lock",
    "unlock",
    "grant",
    "revoke",
    "cancel",
    "trigger",
    "stash",
    "restore",
    "init",
    "undo",
    "redo",
    "sync",
    "import",
    "build",
    "refactor",
    "extract",
    "unzip",
    "compress",
    "zip",
    "gzip",
    "migrate",
    "out",
    "stage",
    "unstage",
];

/// What a name says, without the name of the server if that can be separated.
pub(super) fn verb(tool: &str) -> Verb {
    let (server_known, tool) = strip_server(tool);
    let mut words = words(tool);
    // In `pull request`, `pull` is not a verb.
    if let Some(at) =
        words.windows(2).position(|pair| matches!(pair, [pull, request] if pull == "pull" && request.starts_with("request")))
    {
        words.remove(at);
    }
    if words == ["git", "log"] {
        return Verb::Reads;
    }
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let folder = has(&["directory", "directories", "dir", "folder", "folders"]);
    if has(&["mkdir", "makedir", "mkdirs"]) || (folder && has(&["create", "make", "new", "add"]) && !has(&["file", "files"])) {
        return Verb::MakesFolders;
    }
    // Renaming a symbol changes many files.
    if has(MOVES) && has(&["symbol", "symbols", "variable", "function", "method", "class", "identifier"]) {
        return Verb::Unclear;
    }
    for (list, verb) in [(MOVES, Verb::Moves), (DELETES, Verb::Deletes), (COPIES, Verb::Copies), (WRITES, Verb::Writes)] {
        if has(list) {
            return if has(OTHERS) { Verb::Unclear } else { verb };
        }
    }
    let is_in = |list: &[&str], word: &String| list.contains(&word.as_str());
    let acts = |word: &String| is_in(OTHERS, word) || is_in(RUNS, word);
    // `search_and_run` does both, whichever comes first.
    let joined = words.iter().position(|word| ["and", "then"].contains(&word.as_str()));
    let also_acts =
        joined.is_some_and(|at| words.iter().skip(at).any(acts)) || has(&["exec", "execute", "eval", "spawn", "invoke"]);
    match words.iter().position(|word| is_in(READS, word)).filter(|_| !also_acts) {
        // `get_pull_request` and `list_commands` read, whatever they read.
        Some(0) => Verb::Reads,
        // The name of a server may precede the verb.
        Some(at) if !server_known && !words.iter().take(at).any(acts) => Verb::Reads,
        // `directory_tree`, `file_read`.
        Some(at) if at + 1 == words.len() && !words.iter().any(acts) => Verb::Reads,
        _ if has(RUNS) && !has(OTHERS) => Verb::Runs,
        _ => Verb::Unclear,
    }
}

/// Whether the name suggests running something, among other things.
pub(super) fn suggests_running(tool: &str) -> bool {
    words(strip_server(tool).1).iter().any(|word| RUNS.contains(&word.as_str()))
}

/// The tool's own name, and whether the name of a server was removed: `mcp__server__tool`, `server:tool`, `server.tool`.
fn strip_server(name: &str) -> (bool, &str) {
    if let Some((_, tool)) = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        return (true, tool);
    }
    match name.rsplit_once([':', '.', '/']) {
        Some((_, tool)) if !tool.is_empty() => (true, tool),
        _ => (false, name.strip_prefix("mcp_").unwrap_or(name)),
    }
}

/// Whether the name suggests that a shell runs what the tool is given.
pub(super) fn suggests_shell(tool: &str) -> bool {
    const SHELLS: &[&str] = &["sh", "bash", "zsh", "shell", "terminal", "command", "cmd"];
    words(strip_server(tool).1).iter().any(|word| SHELLS.contains(&word.as_str()))
}

/// Whether a word says that something is done, and not only read.
pub(super) fn is_action(word: &str) -> bool {
    [WRITES, DELETES, MOVES, COPIES, RUNS, OTHERS].iter().any(|list| list.contains(&word))
        || ["force", "overwrite", "persist", "cleanup", "prune", "confirm", "yes", "autofix"].contains(&word)
}

/// Whether the name suggests a search, so that its text is searched for and not executed.
pub(super) fn suggests_search(tool: &str) -> bool {
    const SEARCHES: &[&str] = &["search", "find", "grep", "lookup", "glob"];
    let words = words(strip_server(tool).1);
    words.iter().any(|word| SEARCHES.contains(&word.as_str())) && !suggests_queries(tool)
}

/// Whether the name suggests databases or query languages, so that its text may be executed.
pub(super) fn suggests_queries(tool: &str) -> bool {
    const QUERIES: &[&str] = &[
        "bigquery",
        "clickhouse",
        "cypher",
        "database",
        "db",
        "duckdb",
        "mariadb",
        "mongo",
        "mongodb",
        "mysql",
        "neo4j",
        "postgres",
        "postgresql",
        "query",
        "redis",
        "select",
        "snowflake",
        "sparql",
        "sql",
        "sqlite",
        "statement",
        "supabase",
    ];
    words(tool).iter().any(|word| QUERIES.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (tool, expected) in [
            ("mcp__fs__write_file", Verb::Writes),
            ("mcp__fs__read_text_file", Verb::Reads),
            ("mcp__fs__directory_tree", Verb::Reads),
            ("mcp__fs__move_file", Verb::Moves),
            ("mcp__fs__create_directory", Verb::MakesFolders),
            ("mcp__get__nuke", Verb::Unclear),
            ("mcp__everything__echo", Verb::Unclear),
            ("mcp_fs_delete_file", Verb::Deletes),
            ("fs_copy_file", Verb::Copies),
            ("everything_get-sum", Verb::Reads),
            ("fs:readFile", Verb::Reads),
            ("MCP:fs:write", Verb::Writes),
            ("fs.listFiles", Verb::Reads),
            ("mcp__x__execute_shell_command", Verb::Runs),
            ("reset_count", Verb::Unclear),
            ("git_checkout", Verb::Unclear),
            ("git_status", Verb::Reads),
            ("mcp__git__git_log", Verb::Reads),
            ("log_message", Verb::Unclear),
            ("mcp__git__git_add", Verb::Writes),
            ("mcp__jira__create_issue", Verb::Writes),
            ("mcp__github__get_pull_request", Verb::Reads),
            ("github_list_commits", Verb::Reads),
            ("github_merge_pull_request", Verb::Unclear),
            ("mcp__ide__search_in_files", Verb::Reads),
            ("mcp__ide__replace_text_in_file", Verb::Writes),
            ("find_and_replace", Verb::Writes),
            ("mcp__serena__rename_symbol", Verb::Unclear),
            ("search_and_run", Verb::Runs),
            ("fetch_then_install", Verb::Unclear),
            ("query_exec", Verb::Runs),
            ("mcp__github__get_workflow_run", Verb::Reads),
            ("mcp__x__getTerminalOutput", Verb::Reads),
            ("pull_request_read", Verb::Reads),
            ("mcp__github__pull_request_review_write", Verb::Writes),
            ("deploy_get", Verb::Unclear),
            ("mcp__x__deploy_status", Verb::Unclear),
        ] {
            assert_eq!(verb(tool), expected, "{tool}");
        }
    }
}
