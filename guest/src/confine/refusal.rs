//! Detects from a command's output that the kernel denied something, and writes the advice for the model.

/// What programs print, in the words of system messages and of language runtimes.
const WORDS: &[&str] = &[
    "permission denied",
    "operation not permitted",
    "access is denied",
    "eacces",
    "eperm",
    "permissionerror",
    "permissiondenied",
    "accessdeniedexception",
    // A file cannot be moved or linked from a place that may be changed to one that may not.
    "invalid cross-device link",
    "exdev",
    "read-only file system",
    "erofs",
];

/// How many bytes at the end of an output are searched: what stopped a command is there.
const MAX_BYTES: usize = 64 << 10;

/// Whether an output says that something was not permitted.
pub fn mentions_refusal(output: &str) -> bool {
    let from = output.len().saturating_sub(MAX_BYTES);
    let from = (from..=output.len()).find(|at| output.is_char_boundary(*at)).unwrap_or_default();
    let output = output.get(from..).unwrap_or_default().to_ascii_lowercase();
    WORDS.iter().any(|words| output.contains(words))
}

/// The message to a model whose command was denied something.
pub fn advice(tool: &str, intent: &str, scope: &str) -> String {
    format!(
        "`{tool}` ran confined to the scope of {intent}, which owns: {scope}; if it was denied a file, the kernel did that: keep to these \
         files, put temporary files in `$TMPDIR`, create files in the workspace's root with your file tools, run `git` in a separate call, or \
         select the intent that owns the file"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_recognised() {
        for (output, expected) in [
            ("bash: line 1: README.md: Permission denied\n", true),
            ("PermissionError: [Errno 13] Permission denied: 'x'", true),
            ("Error: EACCES: permission denied, open '/x'", true),
            ("mv: cannot move 'a' to 'b': Invalid cross-device link", true),
            ("fatal: Unable to create '/w/.git/index.lock': Permission denied", true),
            ("error[E0425]: cannot find value", false),
            ("", false),
        ] {
            assert_eq!(mentions_refusal(output), expected, "{output}");
        }
        let long = format!("Permission denied\n{}", "ü".repeat(MAX_BYTES));
        assert!(!mentions_refusal(&long));
        assert!(mentions_refusal(&format!("{long}: Permission denied")));
    }
}
