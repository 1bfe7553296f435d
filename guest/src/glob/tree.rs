//! Whether a glob covers or can match inside a whole folder.

use super::{CharPattern, Glob, MAX_PATH_BYTES, NamePattern, Steps, leads_to, matches_pieces};

impl Glob {
    /// Whether the pattern matches everything that is or could be below a folder, at any depth.
    ///
    /// True if the pattern ends in `**` and what precedes `**` matches the folder or a folder above it. When in doubt, the answer
    /// is false.
    pub fn covers_tree(&self, folder: &str) -> bool {
        if folder.len() > MAX_PATH_BYTES {
            return false;
        }
        let (folder, steps) = (names(folder), Steps::new());
        self.alternatives.iter().any(|pattern| {
            let pattern = match pattern.as_slice() {
                [.., NamePattern::AnyNames] => pattern,
                [pattern @ .., NamePattern::One(any)] if matches!(any.as_slice(), [CharPattern::AnyChars]) => pattern,
                _ => return false,
            };
            matches!(pattern, [.., NamePattern::AnyNames]) && leads_to(pattern, &folder, &steps)
        })
    }

    /// Whether the folder is, or is above, the folder that the pattern names before its first wildcard.
    pub fn leads_through(&self, folder: &str) -> bool {
        let (folder, steps) = (names(folder), Steps::new());
        self.alternatives.iter().any(|pattern| {
            // The last name is the name of a file, or matches files.
            let folders = pattern.get(..pattern.len().saturating_sub(1)).unwrap_or_default();
            let literal = |name: &NamePattern, expected: &str| match name {
                NamePattern::AnyNames => false,
                NamePattern::One(pieces) => {
                    pieces.iter().all(|piece| matches!(piece, CharPattern::Char(_))) && matches_pieces(pieces, expected, &steps)
                }
            };
            folder.len() <= folders.len() && folders.iter().zip(&folder).all(|(name, expected)| literal(name, expected))
        })
    }
}

fn names(folder: &str) -> Vec<&str> {
    folder.split('/').filter(|name| *name != ".").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees() {
        for (pattern, folder, covered, through) in [
            ("src/auth/**", "src/auth", true, true),
            ("src/auth/**", "src/auth/x/y", true, false),
            ("src/auth/**", "src", false, true),
            ("src/auth/**", ".", false, true),
            ("src/auth/**", "src/authX", false, false),
            ("src/auth/**/*", "src/auth", true, true),
            ("src/auth/*", "src/auth", false, true),
            ("src/auth/**/*.ts", "src/auth", false, true),
            ("**", ".", true, true),
            ("**", "a/b", true, false),
            ("**/test/**", "a/test", true, false),
            ("**/test/**", "a", false, false),
            ("packages/*/src/**", "packages/new/src", true, false),
            ("packages/*/src/**", "packages/new", false, false),
            ("packages/*/src/**", "packages", false, true),
            ("tests/billing/*.ts", "tests/billing", false, true),
            ("docs/auth.md", "docs", false, true),
            ("docs/auth.md", "docs/auth.md", false, false),
            ("{a,b}/**", "b", true, true),
        ] {
            let glob = Glob::compile(pattern).unwrap();
            assert_eq!(glob.covers_tree(folder), covered, "{pattern} covers {folder}");
            assert_eq!(glob.leads_through(folder), through, "{pattern} leads through {folder}");
        }
    }
}
