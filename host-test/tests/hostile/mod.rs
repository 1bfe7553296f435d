//! Hooks written as text: turns a core module into a component of the hook contract and puts it in a governed workspace.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate::Tollgate;
use tollgate::components::{Cache, CompileError, compile_now};
use tollgate::hooks::{Hooks, Options};
use tollgate_guest::hooks::components::MANIFEST_SECTION;
use tollgate_guest::hooks::components::binary::custom_section;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// The compiler, which `cargo xtask build` puts next to the command.
pub(crate) fn compiler() -> PathBuf {
    let program =
        Path::new(env!("CARGO_BIN_EXE_tollgate")).with_file_name(format!("tollgate-compiler{}", std::env::consts::EXE_SUFFIX));
    assert!(program.is_file(), "`{}` is missing; `cargo xtask build` builds it", program.display());
    program
}

/// Turns a module into a component of a world of the contract.
pub(crate) fn component(world: &str, module: &str, manifest: &Value) -> Vec<u8> {
    let mut core = wat::parse_str(module).unwrap_or_else(|why| panic!("{why}\n{module}"));
    let mut resolve = Resolve::default();
    let contract = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit/hook");
    let (package, _) = resolve.push_dir(contract).unwrap();
    let world = resolve.select_world(&[package], Some(world)).unwrap();
    embed_component_metadata(&mut core, &resolve, world, StringEncoding::UTF8).unwrap();
    let mut bytes = ComponentEncoder::default().module(&core).unwrap().encode().unwrap();
    bytes.extend(custom_section(MANIFEST_SECTION, manifest.to_string().as_bytes()));
    bytes
}

/// A module that exports `check` with this body. The body returns the address of the answer; address 64 holds an empty answer.
pub(crate) fn checker(body: &str) -> String {
    module("", "", body)
}

/// Like [`checker`], with imports and additional functions.
pub(crate) fn module(imports: &str, more: &str, body: &str) -> String {
    format!(
        r#"(module
  {imports}
  (memory (export "memory") 4)
  (global $top (mut i32) (i32.const 65536))
  (func $alloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $top) (i32.const 15)) (i32.const -16)))
    (global.set $top (i32.add (local.get $at) (local.get 3)))
    (loop $grow
      (if (i32.gt_u (global.get $top) (i32.mul (memory.size) (i32.const 65536)))
        (then (if (i32.eq (memory.grow (i32.const 16)) (i32.const -1)) (then unreachable)) (br $grow))))
    (local.get $at))
  {more}
  (func (export "tollgate:hook/pre-tool@0.2.0#check")
    (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (local $i i32)
    (global.set $top (i32.const 65536))
    {body})
  (func (export "cabi_post_tollgate:hook/pre-tool@0.2.0#check") (param i32))
)"#
    )
}

/// A workspace with one hook, approved and compiled.
pub(crate) struct HookWorkspace {
    folder: TempDir,
    pub(crate) hooks: Hooks<Tollgate>,
}

impl HookWorkspace {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self::try_new(bytes, json!({})).unwrap()
    }

    /// Like `new`, but returns the reason if the hook could not be approved or compiled.
    pub(crate) fn try_new(bytes: &[u8], more: Value) -> Result<Self, String> {
        let folder = tempfile::tempdir().unwrap();
        let (root, home) = (folder.path().join("work"), folder.path().join("home"));
        for made in [root.join(".orchestration"), root.join(".tollgate"), root.join("src"), root.join("hooks"), home.clone()] {
            fs::create_dir_all(made).unwrap();
        }
        let intents = "[{id: INT-1, name: Login, status: IN_PROGRESS, owned_scope: ['src/**']}]";
        fs::write(root.join(".orchestration/active_intents.yaml"), intents).unwrap();
        fs::write(root.join("src/a.txt"), "granted").unwrap();
        fs::write(root.join("secret.txt"), "not granted").unwrap();
        fs::write(root.join("hooks/h.wasm"), bytes).unwrap();
        let mut hook = json!({"id": "h", "component": "hooks/h.wasm"});
        hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        fs::write(root.join(".tollgate/hooks.json"), json!({"hooks": [hook]}).to_string()).unwrap();
        let gate = Tollgate::builder().workspace(&root).home(&home).open().unwrap();
        let mut workspace = Self { folder, hooks: Hooks::new(gate, Options::new().compiler(compiler())) };
        workspace.perform(&json!({"op": "select-intent", "session": "s1", "intent": "INT-1"}));
        let answer = workspace.perform(&json!({"op": "hooks", "do": "approve", "id": "h"}));
        let Some(digest) = answer["component"].as_str() else { return Err(answer["error"]["message"].to_string()) };
        workspace.compile(digest).map_err(|why| why.to_string())?;
        Ok(workspace)
    }

    pub(crate) fn compile(&self, digest: &str) -> Result<(), CompileError> {
        compile_now(&Cache::new(&self.home()), digest, Some(&compiler()), |_| ())
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("home")
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub(crate) fn perform(&mut self, line: &Value) -> Value {
        serde_json::from_slice(&self.hooks.perform(line.to_string().as_bytes()).unwrap()).unwrap()
    }

    /// Makes one call. Returns the ruling and how long it took.
    pub(crate) fn write(&mut self, path: &str) -> (Value, Duration) {
        let start = Instant::now();
        let call =
            json!({"op": "pre-tool", "session": "s1", "call": "c1", "tool": "write", "args": {"path": path, "content": "x"}});
        (self.perform(&call), start.elapsed())
    }

    /// The newest record of the hook.
    pub(crate) fn record(&mut self) -> Value {
        self.perform(&json!({"op": "hooks", "do": "history", "limit": 1}))["records"][0].clone()
    }
}
