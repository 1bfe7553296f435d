//! What a hook is granted: what its manifest asks for, as far as its declaration allows it.

use serde_json::Value;

use super::Limits;
use super::manifest::{HookManifest, globs};
use super::sanitize::clean;

/// What a declaration allows. If it says nothing, that is everything that the manifest asks for, which a person sees before
/// approving.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowed {
    /// The files that it may read at most; `None` means all that it asks for.
    read: Option<Vec<String>>,
    rewrite: Option<bool>,
    withhold: Option<bool>,
}

impl Allowed {
    /// Reads `allow` in a declaration.
    pub fn read(written: &Value) -> Result<Self, String> {
        let fields = written.as_object().ok_or("must be an object such as {\"read\": [\"src/**\"], \"rewrite\": false}")?;
        if let Some(key) = fields.keys().find(|key| !["read", "rewrite", "withhold"].contains(&key.as_str())) {
            return Err(format!("`{}` is not known; expected one of: read, rewrite, withhold", clean(key, 60)));
        }
        let flag = |key: &str| match fields.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_bool().map(Some).ok_or_else(|| format!("`{key}` must be true or false")),
        };
        let read = fields.get("read").map(|read| globs(Some(read), "`read`")).transpose()?;
        Ok(Self { read, rewrite: flag("rewrite")?, withhold: flag("withhold")? })
    }
}

/// What a hook is granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookGrant {
    /// The files that it may read: those that match a glob of every list.
    pub files: Vec<Vec<String>>,
    /// Whether the arguments that it returns replace those of a call.
    pub rewrite: bool,
    /// Whether it may have results withheld.
    pub withhold: bool,
    /// The limits of one call.
    pub limits: Limits,
}

impl HookGrant {
    /// Grants what is asked for, as far as it is allowed.
    pub fn of(asked: &HookManifest, allowed: &Allowed) -> Self {
        let files = match (&asked.read, &allowed.read) {
            (asked, _) if asked.is_empty() => Vec::new(),
            (_, Some(allowed)) if allowed.is_empty() => Vec::new(),
            (asked, Some(allowed)) if asked != allowed => vec![asked.clone(), allowed.clone()],
            (asked, _) => vec![asked.clone()],
        };
        Self {
            files,
            rewrite: asked.rewrite && allowed.rewrite.unwrap_or(true),
            withhold: asked.withhold && allowed.withhold.unwrap_or(true),
            limits: asked.limits,
        }
    }

    /// The grant in words, for a person who decides.
    pub fn in_words(&self) -> Vec<String> {
        let mut words = Vec::new();
        match self.files.as_slice() {
            [] => words.push("reads no files".to_owned()),
            [asked] => words.push(format!("reads {}", asked.join(", "))),
            [asked, allowed, ..] => words.push(format!("reads {}, limited to {}", asked.join(", "), allowed.join(", "))),
        }
        if self.rewrite {
            words.push("may rewrite arguments".to_owned());
        }
        if self.withhold {
            words.push("may withhold results".to_owned());
        }
        let (limits, usual) = (self.limits, Limits::default());
        if limits != usual {
            words.push(format!(
                "may use {} ms of processor time ({} ms in all) and {} MB of memory for a call",
                limits.cpu_ms,
                limits.wall_ms,
                limits.memory_bytes >> 20
            ));
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nothing_is_granted_that_was_not_asked_for_and_allowed() {
        let everything = json!({"read": ["src/**"], "rewrite": true, "withhold": true});
        for (asked, allowed, words) in [
            (json!({}), json!({}), vec!["reads no files"]),
            (everything.clone(), json!({}), vec!["reads src/**", "may rewrite arguments", "may withhold results"]),
            (everything.clone(), json!({"rewrite": false, "withhold": false, "read": []}), vec!["reads no files"]),
            (json!({}), everything.clone(), vec!["reads no files"]),
            (json!({"read": ["**"]}), json!({"read": ["docs/**"]}), vec!["reads **, limited to docs/**"]),
            (json!({"read": ["docs/**"]}), json!({"read": ["docs/**"]}), vec!["reads docs/**"]),
            (
                json!({"limits": {"cpu_ms": 500, "memory_mb": 128}}),
                json!({}),
                vec!["reads no files", "may use 500 ms of processor time (1000 ms in all) and 128 MB of memory for a call"],
            ),
        ] {
            let grant = HookGrant::of(&HookManifest::read(&asked).unwrap(), &Allowed::read(&allowed).unwrap());
            assert_eq!(grant.in_words(), words, "{asked} {allowed}");
        }
        for bad in [json!(1), json!({"write": true}), json!({"read": ["../x"]}), json!({"rewrite": "yes"})] {
            assert!(Allowed::read(&bad).is_err(), "{bad}");
        }
    }
}
