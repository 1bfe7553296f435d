//! Decides about text arguments that a tool may execute: SQL, and commands.

/// Words in statements that change something, in any common query language.
#[rustfmt::skip]
const CHANGES: &[&str] = &[
    "alter", "analyze", "attach", "begin", "call", "commit", "copy", "create", "declare", "delete", "deny", "detach", "drop",
    "dumpfile", "exec", "execute", "export", "flushall", "flushdb", "foreach", "grant", "import", "insert", "install",
    "into", "load", "lock", "merge", "outfile", "pragma", "put", "reindex", "remove", "rename", "replace", "restore",
    "revoke", "rollback", "set", "shutdown", "truncate", "unload", "update", "upsert", "vacuum", "write",
];

/// The beginnings of statements that change something: the first word, and what may follow it.
const STATEMENTS: &[(&str, &[&str])] = &[
    ("alter", &["table", "database", "schema", "view", "index", "role", "user", "system", "type", "sequence"]),
    ("attach", &["database"]),
    ("copy", &[]),
    ("create", &["table", "database", "schema", "view", "index", "role", "user", "function", "temp", "unique", "or", "trigger"]),
    ("delete", &["from"]),
    ("detach", &["database", "delete"]),
    ("drop", &["table", "database", "schema", "view", "index", "role", "user", "function", "column", "trigger"]),
    ("grant", &[]),
    ("insert", &["into", "or"]),
    ("pragma", &[]),
    ("replace", &["into"]),
    ("truncate", &["table"]),
    ("vacuum", &[]),
];

/// Functions that only compute.
#[rustfmt::skip]
const FUNCTIONS: &[&str] = &[
    "abs", "and", "as", "avg", "cast", "ceil", "coalesce", "concat", "count", "date", "date_trunc", "datetime", "distinct",
    "extract", "floor", "from", "group_concat", "having", "if", "ifnull", "iif", "in", "instr", "json_extract", "julianday",
    "left", "length", "like", "lower", "ltrim", "max", "min", "mod", "not", "now", "nullif", "on", "or", "over", "power",
    "rank", "right", "round", "row_number", "rtrim", "select", "sqrt", "strftime", "string_agg", "substr", "substring",
    "sum", "then", "trim", "upper", "using", "values", "when", "where",
];

/// Programs that a command may begin with.
#[rustfmt::skip]
const PROGRAMS: &[&str] = &[
    "awk", "bash", "cat", "cd", "chmod", "chown", "cmd", "cp", "curl", "dd", "del", "docker", "echo", "env", "eval", "exec",
    "find", "git", "kill", "ln", "make", "mkdir", "mv", "node", "npm", "npx", "perl", "php", "pip", "powershell", "printf",
    "pwsh", "python", "python3", "rm", "rmdir", "rsync", "ruby", "sed", "sh", "sudo", "tar", "tee", "touch", "truncate",
    "unzip", "wget", "xargs", "zsh",
];

/// Whether a text is a single `SELECT` that only reads: no other statement, no word that changes anything, no comment, and only
/// functions that are known to do nothing but compute.
pub(super) fn is_select(text: &str) -> bool {
    let text = text.trim().trim_end_matches(';');
    let words = words(text);
    let bare = text.bytes().all(|byte| byte.is_ascii_graphic() || b" \n\t".contains(&byte));
    let odd = [";", "--", "/*", "#", "\\", "`", "$", "@", "{", "\"", "[", "|&"].iter().any(|sign| text.contains(sign));
    bare && !odd
        && words.first().is_some_and(|word| word == "select")
        && !words.iter().any(|word| CHANGES.contains(&word.as_str()))
        && calls(text).iter().all(|name| FUNCTIONS.contains(&name.as_str()))
}

/// Whether a text consists of words and punctuation of an ordinary sentence or name, and no word changes anything in a query
/// language.
pub(super) fn is_prose(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || " .,?!'_/:-\n".contains(c);
    text.chars().all(plain) && !text.starts_with('-') && !words(text).iter().any(|word| CHANGES.contains(&word.as_str()))
}

/// Whether a text begins with a statement that changes something.
pub(super) fn is_statement(text: &str) -> bool {
    text.split(';').any(|statement| {
        let words = words(statement);
        let (first, second) = (words.first().map_or("", String::as_str), words.get(1).map_or("", String::as_str));
        let begins = |(word, next): &(&str, &[&str])| *word == first && (next.is_empty() || next.contains(&second));
        STATEMENTS.iter().any(begins) || (first == "update" && words.iter().any(|word| word == "set"))
    })
}

/// Whether a text could be a command: it begins with the name or path of a program, or has shell syntax.
pub(super) fn is_command(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    let program = first.rsplit('/').next().unwrap_or(first);
    let begins = PROGRAMS.contains(&program) && words.next().is_some();
    begins || ["`", "$(", "${", "&&", "||", ";", "|", ">", "<(", "\n", "\r"].iter().any(|sign| text.contains(sign))
}

/// The words of a text, in lower case.
fn words(text: &str) -> Vec<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.split(|c| !is_word(c)).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// The names before an opening parenthesis.
fn calls(text: &str) -> Vec<String> {
    let before = text.split('(').rev().skip(1);
    before
        .filter_map(|part| {
            words(part.trim_end()).pop().filter(|_| part.trim_end().ends_with(|c: char| c.is_alphanumeric() || c == '_'))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selects() {
        for (text, expected) in [
            ("SELECT * FROM users LIMIT 5", true),
            ("select count(*), lower(name) from users where id in (1, 2) and name like 'a%';", true),
            ("SELECT * FROM users WHERE name = 'x' ORDER BY created_at DESC", true),
            ("DROP TABLE x", false),
            ("VACUUM INTO 'src/billing/pay.ts'", false),
            ("SELECT 1; DROP TABLE x", false),
            ("SELECT * INTO y FROM x", false),
            ("SELECT * FROM x INTO OUTFILE '/tmp/x'", false),
            ("SELECT writefile('src/billing/pay.ts', 'x')", false),
            ("SELECT lo_export (1, 'x')", false),
            ("SELECT load_extension('x')", false),
            ("WITH x AS (DELETE FROM y RETURNING *) SELECT * FROM x", false),
            ("SELECT \"writefile\"('x')", false),
            ("SELECT 1 -- x", false),
            ("EXPLAIN ANALYZE DELETE FROM x", false),
            ("PRAGMA writable_schema = 1", false),
            ("", false),
        ] {
            assert_eq!(is_select(text), expected, "{text}");
        }
    }

    #[test]
    fn prose_statements_and_commands() {
        for (text, prose, statement, command) in [
            ("how do hooks work?", true, false, false),
            ("drop table x", false, true, false),
            ("x; delete from y", false, true, true),
            ("update x set y", false, true, false),
            ("update the readme", false, false, false),
            ("MATCH (n) DETACH DELETE n", false, false, false),
            ("rm -rf src", true, false, true),
            ("/bin/rm x", true, false, true),
            ("make", true, false, false),
            ("a $(rm x)", false, false, true),
            ("repo:a/b is:open", true, false, false),
        ] {
            assert_eq!((is_prose(text), is_statement(text), is_command(text)), (prose, statement, command), "{text}");
        }
    }
}
