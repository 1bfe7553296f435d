//! Tools that do much, and the questions to them that change nothing.

use super::Call;

/// Tools that are asked about themselves, or whose first words only look.
const LOOKS: &[(&str, &[&str])] = &[
    (
        "npm",
        &[
            "ls", "list", "ll", "view", "info", "show", "outdated", "root", "prefix", "bin", "why", "explain", "ping", "whoami",
            "search",
        ],
    ),
    ("pnpm", &["ls", "list", "why", "outdated", "root", "bin"]),
    ("yarn", &["list", "why", "info", "outdated"]),
    ("pip", &["list", "show", "freeze", "check", "index"]),
    ("pip3", &["list", "show", "freeze", "check", "index"]),
    ("uv", &["tree"]),
    ("cargo", &["tree", "metadata", "search", "locate-project", "pkgid", "info", "read-manifest"]),
    ("rustup", &["show", "which"]),
    ("go", &["env", "list", "doc"]),
    ("docker", &["ps", "images", "logs", "inspect", "info", "top", "stats", "port", "history", "diff", "search", "events"]),
    ("kubectl", &["get", "describe", "logs", "explain", "top", "api-resources", "cluster-info"]),
    ("brew", &["list", "info", "search", "outdated", "deps"]),
    ("apt", &["list", "show", "search", "policy"]),
    ("apt-cache", &["search", "show", "policy"]),
    ("systemctl", &["status", "list-units", "is-active", "is-enabled", "show", "cat"]),
    ("gem", &["list", "info", "search"]),
    ("terraform", &["show", "output", "providers"]),
    (
        "gh",
        &[
            "pr view",
            "pr list",
            "pr status",
            "pr diff",
            "pr checks",
            "issue view",
            "issue list",
            "issue status",
            "run list",
            "run view",
            "repo view",
            "auth status",
            "release list",
            "release view",
            "search",
        ],
    ),
    ("node", &[]),
    ("deno", &[]),
    ("bun", &[]),
    ("python", &[]),
    ("python3", &[]),
    ("ruby", &[]),
    ("php", &[]),
    ("perl", &[]),
    ("java", &["-version"]),
    ("javac", &["-version"]),
    ("rustc", &["--print"]),
    ("gcc", &[]),
    ("g++", &[]),
    ("cc", &[]),
    ("clang", &[]),
    ("make", &[]),
    ("cmake", &[]),
    ("mvn", &[]),
    ("gradle", &[]),
    ("tsc", &[]),
    ("bash", &[]),
    ("zsh", &[]),
    ("npx", &[]),
    ("composer", &["show"]),
    ("bundle", &["list", "show", "info"]),
    ("dotnet", &["--info", "--list-sdks"]),
    ("swift", &[]),
    ("helm", &["list", "status", "history"]),
    ("aws", &[]),
    ("gcloud", &[]),
    ("sqlite3", &[]),
    ("psql", &[]),
    ("vim", &[]),
    ("tar", &[]),
    ("sed", &[]),
    ("awk", &[]),
    ("curl", &[]),
    ("wget", &[]),
    ("rsync", &[]),
    ("jest", &[]),
    ("eslint", &[]),
    ("prettier", &[]),
    ("black", &[]),
    ("ruff", &[]),
    ("pytest", &[]),
    ("mypy", &[]),
];

/// Whether a tool is only asked something.
pub(super) fn looks(call: &Call<'_>) -> bool {
    let words: Vec<&str> = call.args.iter().map(|arg| arg.text.as_str()).collect();
    let Some((_, looks)) = LOOKS.iter().find(|(name, _)| *name == call.name) else { return false };
    if matches!(words.as_slice(), ["--version" | "-version" | "-V" | "version" | "--help" | "-h" | "help"])
        || (matches!(words.as_slice(), ["-v"])
            && matches!(call.name, "node" | "npm" | "yarn" | "pnpm" | "java" | "bun" | "php" | "ruby"))
    {
        return true;
    }
    let first = words.first().copied().unwrap_or_default();
    let two = words.iter().take(2).copied().collect::<Vec<_>>().join(" ");
    looks.iter().any(|look| *look == first || *look == two)
}
