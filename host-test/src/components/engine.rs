//! The engine that hooks run in, and components loaded into it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use wasmtime::component::{Component, HasSelf, InstancePre, Linker};
use wasmtime::{Config, Engine};

use super::cache::Cache;
use super::compiling;
use super::lent::Lent;
use super::wasi;
use crate::bindings::hook::Hook;
use crate::engine_config::engine_config;

/// How often deadlines are looked at.
const TICK: Duration = Duration::from_millis(5);

/// How hooks are compiled and run. Whoever compiles uses the same.
pub(super) fn config() -> Config {
    engine_config(cfg!(windows))
}

/// The engine that hooks run in.
pub(super) struct HookEngine {
    engine: Engine,
    loaded: HashMap<String, Arc<Loaded>>,
}

/// A component that can be started.
pub(super) struct Loaded {
    pub(super) instance: InstancePre<Lent>,
}

impl Loaded {
    pub(super) fn engine(&self) -> &Engine {
        self.instance.component().engine()
    }
}

impl HookEngine {
    pub(super) fn new() -> wasmtime::Result<Self> {
        let engine = Engine::new(&config())?;
        tick(&engine)?;
        Ok(Self { engine, loaded: HashMap::new() })
    }

    /// The component of a digest; else why it cannot be called now.
    pub(super) fn load(&mut self, cache: &Cache, digest: &str, compiler: Option<&Path>) -> Result<Arc<Loaded>, String> {
        if let Some(loaded) = self.loaded.get(digest) {
            return Ok(Arc::clone(loaded));
        }
        let Some(component) = cache.load(&self.engine, digest)? else {
            compiling::compile_in_background(cache, digest, compiler)?;
            return Err("it is being compiled".to_owned());
        };
        let loaded = Arc::new(link(&component).map_err(|fault| format!("it cannot be linked: {fault:#}"))?);
        self.loaded.insert(digest.to_owned(), Arc::clone(&loaded));
        Ok(loaded)
    }
}

fn link(component: &Component) -> wasmtime::Result<Loaded> {
    let mut linker = Linker::new(component.engine());
    Hook::add_to_linker::<_, HasSelf<_>>(&mut linker, |lent| lent)?;
    wasi::add(&mut linker, component)?;
    Ok(Loaded { instance: linker.instantiate_pre(component)? })
}

/// Links a component once, to find out whether that can be done.
#[cfg(feature = "compiler")]
pub(super) fn check(engine: &Engine, compiled: &[u8]) -> Result<(), String> {
    let component = super::cache::deserialize(engine, compiled).map_err(|fault| format!("{fault:#}"))?;
    link(&component).map(drop).map_err(|fault| format!("{fault:#}"))
}

/// Advances the epoch for as long as somebody holds the engine.
fn tick(engine: &Engine) -> std::io::Result<()> {
    let engine = engine.weak();
    let beat = move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            thread::sleep(TICK);
        }
    };
    thread::Builder::new().name("tollgate-hooks".to_owned()).spawn(beat).map(drop)
}
