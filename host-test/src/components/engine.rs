//! The engine that third-party hooks run in, and the components loaded into it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use wasmtime::component::{Component, HasSelf, InstancePre, Linker};
use wasmtime::{Config, Engine};

use super::cache::Cache;
use super::compiling;
use super::hook_host::HookHost;
use super::wasi;
use crate::bindings::hook::Hook;
use crate::engine_config::engine_config;
use crate::runtime::tick;

/// How often deadlines are checked.
const TICK: Duration = Duration::from_millis(5);

/// The configuration of the engine; `tollgate-compiler` compiles hooks for the same configuration.
fn config() -> Config {
    engine_config(cfg!(windows))
}

/// The engine that third-party hooks run in.
pub(super) struct HookEngine {
    engine: Engine,
    loaded: HashMap<String, Arc<LoadedComponent>>,
}

/// A loaded and linked component, from which instances are started.
pub(super) struct LoadedComponent {
    pub(super) instance: InstancePre<HookHost>,
}

impl LoadedComponent {
    pub(super) fn engine(&self) -> &Engine {
        self.instance.component().engine()
    }
}

impl HookEngine {
    pub(super) fn new() -> wasmtime::Result<Self> {
        let engine = Engine::new(&config())?;
        tick(&engine, TICK)?;
        Ok(Self { engine, loaded: HashMap::new() })
    }

    /// Checks that a component can be loaded and linked.
    pub(super) fn check(cache: &Cache, digest: &str) -> Result<(), String> {
        let engine = Engine::new(&config()).map_err(|fault| format!("{fault:#}"))?;
        let component = cache
            .load(&engine, digest)?
            .ok_or("its native code cannot be loaded; install `tollgate-compiler` of this version")?;
        link(&component).map(drop).map_err(|fault| format!("{fault:#}"))
    }

    /// Loads the component with this digest. If it has not been compiled yet, starts compiling it in the background. The error
    /// says why the component cannot be called now.
    pub(super) fn load(&mut self, cache: &Cache, digest: &str, compiler: Option<&Path>) -> Result<Arc<LoadedComponent>, String> {
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

fn link(component: &Component) -> wasmtime::Result<LoadedComponent> {
    let mut linker = Linker::new(component.engine());
    Hook::add_to_linker::<_, HasSelf<_>>(&mut linker, |host| host)?;
    wasi::add(&mut linker, component)?;
    Ok(LoadedComponent { instance: linker.instantiate_pre(component)? })
}
