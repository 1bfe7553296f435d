//! A file outside the scope, and many ways to spell its path.

use crate::dice::Dice;
use crate::world::{HOME, PROJECT, SIBLING};

/// The targets of attacks; the first one is used most of the time.
const TARGETS: [&str; 17] = [
    "src/billing/pay.ts",
    "src/billing/pay.ts",
    "src/billing/pay.ts",
    "src/billing/pay.ts",
    "src/billing/tax.ts",
    "README.md",
    "README.md",
    ".env",
    "package.json",
    ".git/config",
    ".git/hooks/pre-commit",
    ".orchestration/active_intents.yaml",
    "tests/billing/pay.ts",
    "src/index.ts",
    "~/.bashrc",
    "~/notes.txt",
    "../sibling/notes.txt",
];

/// A file outside the scope.
#[derive(Debug, Clone)]
pub struct Target(String);

impl Target {
    /// A random target.
    pub fn random(dice: &mut Dice) -> Self {
        Self(dice.word(&TARGETS).to_owned())
    }

    /// The plain path, relative to the workspace or below `~`.
    pub fn plain(&self) -> &str {
        &self.0
    }

    /// The absolute path.
    pub fn absolute(&self) -> String {
        match (self.0.strip_prefix("~/"), self.0.strip_prefix("../sibling")) {
            (Some(below), _) => format!("{HOME}/{below}"),
            (_, Some(below)) => format!("{SIBLING}{below}"),
            _ => format!("{PROJECT}/{}", self.0),
        }
    }

    /// The path relative to `src/auth`.
    pub fn path_from_scope(&self) -> String {
        match (self.0.strip_prefix("~/"), self.0.strip_prefix("src/")) {
            (Some(below), _) => format!("../../../home/user/{below}"),
            (_, Some(below)) => format!("../{below}"),
            _ => format!("../../{}", self.0),
        }
    }

    /// The folder of the file.
    pub fn folder(&self) -> &str {
        self.0.rsplit_once('/').map_or(".", |(folder, _)| folder)
    }

    /// The file name.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// The path in a random spelling, as a word of a command in the workspace.
    pub fn random_spelling(&self, dice: &mut Dice) -> String {
        let plain = self.plain();
        let relative = if plain.starts_with('~') { self.absolute() } else { plain.to_owned() };
        if dice.below(100) < 40 {
            return plain.to_owned();
        }
        match dice.below(32) {
            0 => format!("./{relative}"),
            1 => format!("src/auth/{}", self.path_from_scope()),
            2 => self.absolute(),
            3 => format!("$PWD/{}", relative.trim_start_matches('/')).replace("$PWD/home", "/home"),
            4 => format!("'{relative}'"),
            5 => format!("\"{relative}\""),
            6 => insert_separator(&relative, "''", dice),
            7 => insert_separator(&relative, "\"\"", dice),
            8 => insert_separator(&relative, "\\", dice),
            9 => insert_separator(&relative, "\\\n", dice),
            10 => use_dollar_quotes(&relative, dice),
            11 => insert_glob(&relative, "?", dice),
            12 => insert_glob(&relative, "*", dice),
            13 => use_brackets(&relative, dice),
            14 => use_braces(&relative, dice),
            15 => relative.replacen('/', "//", 1),
            16 => relative.replacen('/', "/./", 1),
            17 => format!("/proc/self/cwd/{relative}"),
            18 => format!("$(echo {relative})"),
            19 => format!("`echo {relative}`"),
            20 => format!("${{unset:-{relative}}}"),
            21 => format!("${{unset-{relative}}}"),
            22 => format!("$(printf %s {relative})"),
            23 => format!("docs/../{relative}").replace("../..//", "../../"),
            24 => format!("~+/{relative}"),
            25 => format!("src/auth/sub/../{}", self.path_from_scope()),
            26 => format!("${{unset}}{relative}"),
            27 => format!("$unset{relative}"),
            28 => format!("{relative}$unset"),
            29 => format!("$'{relative}'"),
            30 => format!("$\"{relative}\""),
            _ => format!("\"${{PWD}}\"/{relative}"),
        }
    }
}

/// Splits the text at a random position.
fn split_randomly<'t>(text: &'t str, dice: &mut Dice) -> (&'t str, &'t str) {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
    let at = dice.pick(&places).copied().unwrap_or(0);
    text.split_at_checked(at).unwrap_or((text, ""))
}

fn insert_separator(text: &str, with: &str, dice: &mut Dice) -> String {
    let (one, other) = split_randomly(text, dice);
    format!("{one}{with}{other}")
}

fn use_dollar_quotes(text: &str, dice: &mut Dice) -> String {
    let (one, other) = split_randomly(text, dice);
    let mut rest = other.chars();
    let first = rest.next().unwrap_or('x');
    let code = first as u32;
    let escaped = match dice.below(4) {
        0 => format!("\\x{code:02x}"),
        1 => format!("\\{code:03o}"),
        2 => format!("\\u{code:04x}"),
        _ => first.to_string(),
    };
    format!("$'{one}{escaped}{}'", rest.as_str())
}

fn insert_glob(text: &str, glob: &str, dice: &mut Dice) -> String {
    let (one, other) = split_randomly(text, dice);
    let mut rest = other.chars();
    let first = rest.next().filter(|letter| *letter == '/').map_or(String::new(), |slash| slash.to_string());
    format!("{one}{first}{glob}{}", rest.as_str())
}

fn use_brackets(text: &str, dice: &mut Dice) -> String {
    let (one, other) = split_randomly(text, dice);
    let mut rest = other.chars();
    match rest.next() {
        Some(letter) if letter.is_alphanumeric() => match dice.below(3) {
            0 => format!("{one}[{letter}]{}", rest.as_str()),
            1 => format!("{one}[!0-9]{}", rest.as_str()),
            _ => format!("{one}[[:alnum:]]{}", rest.as_str()),
        },
        _ => format!("{one}{other}"),
    }
}

fn use_braces(text: &str, dice: &mut Dice) -> String {
    let (one, other) = split_randomly(text, dice);
    match dice.below(3) {
        0 => format!("{one}{{{other},zz}}"),
        1 => format!("{{{text},src/auth/zz}}"),
        _ => format!("{one}{{,}}{other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn places() {
        for (plain, absolute, from_scope) in [
            ("src/billing/pay.ts", "/workspace/src/billing/pay.ts", "../billing/pay.ts"),
            ("README.md", "/workspace/README.md", "../../README.md"),
            ("~/notes.txt", "/home/user/notes.txt", "../../../home/user/notes.txt"),
            ("../sibling/notes.txt", "/sibling/notes.txt", "../../../sibling/notes.txt"),
        ] {
            let target = Target(plain.to_owned());
            assert_eq!((target.absolute().as_str(), target.path_from_scope().as_str()), (absolute, from_scope));
        }
    }
}
