//! What kind of change an entry records.

use serde::{Deserialize, Serialize};

use crate::effects::Operation;

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MutationClass {
    /// Structure changed, behaviour did not.
    AstRefactor,
    /// New behaviour.
    IntentEvolution,
    /// A defect was corrected.
    BugFix,
    /// Documents only.
    Documentation,
    /// Configuration only.
    Configuration,
    /// A new file.
    FileCreation,
    /// A file removed.
    FileDeletion,
}

impl MutationClass {
    /// Classifies a change by what changed and, if that leaves it open, by what the agent claims.
    pub fn of(operation: Operation, path: &str, claim: Option<Self>) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
        match operation {
            Operation::Create => Self::FileCreation,
            Operation::Delete => Self::FileDeletion,
            _ if matches!(&*ending, "md" | "mdx" | "rst" | "adoc" | "txt") => Self::Documentation,
            _ if matches!(&*ending, "json" | "jsonc" | "yaml" | "yml" | "toml" | "ini" | "cfg" | "conf" | "env") => {
                Self::Configuration
            }
            _ => claim.unwrap_or(Self::IntentEvolution),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_is_read_as_it_is_written() {
        use MutationClass::*;
        for class in [AstRefactor, IntentEvolution, BugFix, Documentation, Configuration, FileCreation, FileDeletion] {
            let written = serde_json::to_value(class).unwrap();
            assert_eq!(MutationClass::deserialize(&written).unwrap(), class);
        }
        assert!(MutationClass::deserialize(serde_json::Value::from("bug_fix")).is_err());
    }

    #[test]
    fn classes() {
        use MutationClass::*;
        for (operation, path, claim, expected) in [
            (Operation::Create, "a.md", None, FileCreation),
            (Operation::Delete, "a.md", Some(BugFix), FileDeletion),
            (Operation::Modify, "docs/A.MD", Some(BugFix), Documentation),
            (Operation::Modify, "tsconfig.json", None, Configuration),
            (Operation::Modify, ".env", None, Configuration),
            (Operation::Modify, "src/a.rs", None, IntentEvolution),
            (Operation::Modify, "src/a.rs", Some(AstRefactor), AstRefactor),
        ] {
            assert_eq!(MutationClass::of(operation, path, claim), expected, "{operation} {path}");
        }
    }
}
