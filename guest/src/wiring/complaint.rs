//! Extracts the reason for a failure from the output of a command.

/// How many characters of a reason are shown.
const MAX_CHARS: usize = 300;

/// How many lines are searched.
const MAX_LINES: usize = 400;

/// The line that states the reason; `None` if nothing was printed. Runtimes print a stack trace, source code and their version
/// around it.
pub fn reason(printed: &str) -> Option<String> {
    let lines: Vec<&str> = printed.lines().map(str::trim).filter(|line| !line.is_empty()).take(MAX_LINES).collect();
    let panicked = lines.iter().position(|line| line.starts_with("thread '") && line.contains("panicked at"));
    let after_panic = panicked.and_then(|at| lines.get(at + 1));
    let named = lines.iter().find(|line| names_an_error(line));
    let plain = lines.iter().rev().find(|line| !is_noise(line));
    let found = after_panic.or(named).or(plain).or(lines.last())?;
    Some(found.chars().take(MAX_CHARS).collect())
}

/// `TypeError: …`, `Error [ERR_X]: …`, `error: …`, `tollgate: error: …`.
fn names_an_error(line: &str) -> bool {
    let Some((before, _)) = line.split_once(": ") else { return false };
    let word = before.rsplit(' ').find(|word| !word.starts_with('[')).unwrap_or_default();
    let is_name = word.ends_with("Error") || word.ends_with("Exception") || word.eq_ignore_ascii_case("error");
    is_name && !line.starts_with("at ")
}

/// Whether a line is printed around a reason but is not part of it.
fn is_noise(line: &str) -> bool {
    let is_mark = |line: &str| line.chars().all(|character| "^~{}[]();, ".contains(character));
    line.starts_with("at ")
        || line.starts_with("Node.js v")
        || line.starts_with("Bun v")
        || line.starts_with("note: ")
        || line.starts_with("node:internal")
        || line.starts_with("file://")
        || line.starts_with("code: ")
        || is_mark(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_not_the_last_line() {
        for (printed, expected) in [
            ("", None),
            ("  \n\n", None),
            ("sh: 1: tollgate: not found\n", Some("sh: 1: tollgate: not found")),
            (
                "node:internal/modules/package_json_reader:316\n  throw new ERR_MODULE_NOT_FOUND(packageName, fileURLToPath(base), null);\n        ^\n\nError [ERR_MODULE_NOT_FOUND]: Cannot find package 'tollgate' imported from /w/.opencode/plugin/tollgate.js\n    at Object.getPackageJSONURL (node:internal/modules/package_json_reader:316:9)\n    at packageResolve (node:internal/modules/esm/resolve:768:81) {\n  code: 'ERR_MODULE_NOT_FOUND'\n}\n\nNode.js v24.11.1\n",
                Some(
                    "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'tollgate' imported from /w/.opencode/plugin/tollgate.js",
                ),
            ),
            (
                "file:///w/plugin.js:1\nthis is no JavaScript\n     ^^\n\nSyntaxError: Unexpected identifier 'is'\n    at compileSourceTextModule (node:internal/modules/esm/utils:346:16)\n\nNode.js v24.11.1\n",
                Some("SyntaxError: Unexpected identifier 'is'"),
            ),
            (
                "error: Cannot find package 'tollgate' from '/w/x.js'\n\nBun v1.3.0 (Linux x64)\n",
                Some("error: Cannot find package 'tollgate' from '/w/x.js'"),
            ),
            (
                "Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\nModuleNotFoundError: No module named 'x'\n",
                Some("ModuleNotFoundError: No module named 'x'"),
            ),
            (
                "thread 'main' panicked at src/main.rs:1:5:\nthe disk is full\nnote: run with `RUST_BACKTRACE=1`\n",
                Some("the disk is full"),
            ),
            ("one\ntwo\n", Some("two")),
            ("at x\nNode.js v24\n", Some("Node.js v24")),
        ] {
            assert_eq!(reason(printed).as_deref(), expected, "{printed}");
        }
        assert_eq!(reason(&"x".repeat(10_000)).unwrap().len(), MAX_CHARS);
    }
}
