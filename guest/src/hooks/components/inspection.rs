//! Inspects a component: whether it can be a hook, and what it is.

use serde_json::Value;

use super::binary::{self, Malformed};
use super::features;
use super::manifest::HookManifest;
use super::sanitize::clean;
use super::{CONTRACT, Function, MANIFEST_SECTION, MAX_COMPONENT_BYTES};
use crate::digest::Digest;
use crate::json::object;

/// The interfaces of the hook contract that every hook may import.
const IMPORTABLE: &[&str] = &["types", "settings", "files", "log"];

/// Why a file cannot be a hook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ComponentFault {
    /// It is too long.
    #[error("it is longer than {} MiB", MAX_COMPONENT_BYTES >> 20)]
    TooLong,
    /// It is not a component.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// It was built against the former contract for hooks.
    #[error(
        "it is built against tollgate:hooks@0.1.0, which lets a hook do more than a third party may; build it against tollgate:hook@{CONTRACT}"
    )]
    OldContract,
    /// It is a gate, or something made from one.
    #[error("`{0}` is the gate's own contract; a hook implements tollgate:hook@{CONTRACT}")]
    GatesContract(String),
    /// It was built against a version that is not supported.
    #[error("`{0}` is not a supported version; build it against tollgate:hook@{CONTRACT}")]
    OtherVersion(String),
    /// It imports something that no hook gets.
    #[error(
        "it imports `{0}`, which is not available to hooks; it may import tollgate:hook/settings, files and log, and WASI 0.2, which has no effect"
    )]
    Import(String),
    /// It uses a feature that not every host supports.
    #[error("it uses {0}, which not every host supports; build it without them")]
    Feature(&'static str),
    /// It exports nothing that can be called.
    #[error("it exports none of tollgate:hook/pre-tool, post-tool, augment and events, so there is nothing to call")]
    NothingToCall,
    /// It has more than one manifest.
    #[error("it has more than one section `{MANIFEST_SECTION}`; a hook has one manifest")]
    TwoManifests,
    /// The manifest cannot be used.
    #[error("{0}")]
    Manifest(String),
}

/// What is known about a component.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspection {
    /// The digest of all its bytes.
    pub digest: Digest,
    /// The number of its bytes.
    pub bytes: u64,
    /// What it imports.
    pub imports: Vec<String>,
    /// The functions that can be called.
    pub functions: Vec<Function>,
    /// Its manifest.
    pub manifest: HookManifest,
}

impl Inspection {
    /// Inspects the bytes of a component.
    pub fn read(bytes: &[u8]) -> Result<Self, ComponentFault> {
        if bytes.len() as u64 > MAX_COMPONENT_BYTES {
            return Err(ComponentFault::TooLong);
        }
        let outer = binary::outer(bytes)?;
        for name in outer.imports.iter().chain(&outer.exports) {
            let (interface, version) = name.split_once('@').unwrap_or((name, ""));
            match interface.split_once('/') {
                Some(("tollgate:hooks", _)) if version == "0.1.0" => return Err(ComponentFault::OldContract),
                Some(("tollgate:hooks", _)) => return Err(ComponentFault::GatesContract(clean(name, 100))),
                Some(("tollgate:hook", _)) if version != CONTRACT => return Err(ComponentFault::OtherVersion(clean(name, 100))),
                _ => {}
            }
        }
        let is_lent = |name: &&&str| {
            let (interface, version) = name.split_once('@').unwrap_or((name, ""));
            match interface.split_once('/') {
                Some(("tollgate:hook", of)) => IMPORTABLE.contains(&of),
                // Versions of WASI after 0.2 wait by themselves, and nothing here does.
                Some((package, _)) => package.starts_with("wasi:") && version.starts_with("0.2."),
                None => false,
            }
        };
        if let Some(name) = outer.imports.iter().find(|name| !is_lent(name)) {
            return Err(ComponentFault::Import(clean(name, 100)));
        }
        let exports = |function: &Function| {
            let name = format!("tollgate:hook/{}@{CONTRACT}", function.as_str());
            outer.exports.iter().any(|export| **export == name)
        };
        let functions: Vec<Function> = Function::ALL.into_iter().filter(exports).collect();
        if functions.is_empty() {
            return Err(ComponentFault::NothingToCall);
        }
        if let Some(feature) = features::find_refused(bytes)? {
            return Err(ComponentFault::Feature(feature));
        }
        let manifests: Vec<&[u8]> =
            outer.custom.iter().filter(|(name, _)| *name == MANIFEST_SECTION).map(|(_, content)| *content).collect();
        let manifest = match manifests.as_slice() {
            [] => HookManifest::default(),
            [content] => HookManifest::parse(content).map_err(ComponentFault::Manifest)?,
            _ => return Err(ComponentFault::TwoManifests),
        };
        Ok(Self {
            digest: Digest::of(bytes),
            bytes: bytes.len() as u64,
            imports: outer.imports.iter().map(|name| clean(name, 100)).collect(),
            functions,
            manifest,
        })
    }

    /// The inspection as JSON, to show and to keep.
    pub fn to_json(&self) -> Value {
        let functions: Vec<&str> = self.functions.iter().map(|function| function.as_str()).collect();
        object(&mut [
            ("digest", self.digest.to_string().into()),
            ("bytes", self.bytes.into()),
            ("contract", format!("tollgate:hook@{CONTRACT}").into()),
            ("exports", functions.into()),
            ("imports", self.imports.clone().into()),
            ("manifest", self.manifest.to_json()),
        ])
    }
}

impl HookManifest {
    /// The manifest as JSON, as [`HookManifest::read`] reads it.
    pub fn to_json(&self) -> Value {
        let mut fields: Vec<(&str, Value)> = Vec::new();
        for (name, text) in [("name", &self.name), ("version", &self.version), ("description", &self.description)] {
            if !text.is_empty() {
                fields.push((name, text.as_str().into()));
            }
        }
        fields.push(("read", self.read.clone().into()));
        fields.push(("rewrite", self.rewrite.into()));
        fields.push(("withhold", self.withhold.into()));
        fields.extend(self.settings.clone().map(|schema| ("settings", schema)));
        let limits = self.limits;
        let limits = object(&mut [
            ("cpu_ms", limits.cpu_ms.into()),
            ("wall_ms", limits.wall_ms.into()),
            ("memory_mb", (limits.memory_bytes >> 20).into()),
            ("lifted_kb", (limits.lifted_bytes >> 10).into()),
            ("read_mb", (limits.read_bytes >> 20).into()),
        ]);
        fields.push(("limits", limits));
        object(&mut fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A component with these imports and exports, each of which is a resource type; it cannot be run.
    pub(crate) fn component(imports: &[&str], exports: &[&str], manifests: &[&str]) -> Vec<u8> {
        let mut bytes = b"\0asm\x0d\0\x01\0".to_vec();
        let mut section = |id: u8, names: &[&str], tail: &[u8]| {
            let mut content = vec![u8::try_from(names.len()).unwrap()];
            for name in names {
                content.extend([0, u8::try_from(name.len()).unwrap()]);
                content.extend(name.as_bytes());
                content.extend(tail);
            }
            assert!(content.len() < 128 * 128);
            let length = content.len();
            bytes.extend([id, u8::try_from(length & 0x7f).unwrap() | 0x80, u8::try_from(length >> 7).unwrap()]);
            bytes.extend(content);
        };
        section(10, imports, &[3, 1]);
        section(11, exports, &[5, 0, 0]);
        for manifest in manifests {
            bytes.extend(binary::custom_section(MANIFEST_SECTION, manifest.as_bytes()));
        }
        bytes
    }

    const CHECKER: &str = "tollgate:hook/pre-tool@0.2.0";

    #[test]
    fn a_hook_is_told_from_its_names() {
        let imports = ["tollgate:hook/types@0.2.0", "tollgate:hook/files@0.2.0", "wasi:cli/stderr@0.2.6"];
        let exports = ["tollgate:hook/events@0.2.0", CHECKER, "init"];
        let bytes = component(&imports, &exports, &[r#"{"name":"n","read":["src/**"]}"#]);
        let found = Inspection::read(&bytes).unwrap();
        assert_eq!(found.functions, [Function::PreTool, Function::Events]);
        assert_eq!((found.bytes, found.digest), (bytes.len() as u64, Digest::of(&bytes)));
        assert_eq!(HookManifest::read(&found.to_json()["manifest"]).unwrap(), found.manifest);
        assert_eq!(found.to_json()["exports"], json!(["pre-tool", "events"]));
    }

    #[test]
    fn what_no_hook_may_have_is_refused_by_name() {
        for (imports, exports, manifests, said) in [
            (vec!["evil:corp/steal@1.0.0"], vec![CHECKER], vec![], "`evil:corp/steal@1.0.0`"),
            (vec!["steal"], vec![CHECKER], vec![], "`steal`"),
            (vec!["tollgate:hook/records@0.2.0"], vec![CHECKER], vec![], "`tollgate:hook/records@0.2.0`"),
            (vec!["wasi:cli/stdout@0.3.0"], vec![CHECKER], vec![], "`wasi:cli/stdout@0.3.0`"),
            (vec!["wasi:cli/stdout"], vec![CHECKER], vec![], "`wasi:cli/stdout`"),
            (vec!["tollgate:hooks/records@0.2.0"], vec![CHECKER], vec![], "the gate's own contract"),
            (vec![], vec!["tollgate:hooks/pre-tool@0.1.0"], vec![], "tollgate:hooks@0.1.0"),
            (vec![], vec!["tollgate:hook/pre-tool@0.3.0"], vec![], "`tollgate:hook/pre-tool@0.3.0`"),
            (vec![], vec!["run"], vec![], "nothing to call"),
            (vec![], vec![], vec![], "nothing to call"),
            (vec![], vec![CHECKER], vec!["{}", "{}"], "more than one section"),
            (vec![], vec![CHECKER], vec!["{"], "not valid JSON"),
        ] {
            let why = Inspection::read(&component(&imports, &exports, &manifests)).unwrap_err().to_string();
            assert!(why.contains(said), "{said}: {why}");
        }
    }
}
