//! The engine with the loaded component: created once, shared by every workspace.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use wasmtime::component::{Component, ComponentType, Instance, InstancePre, Lift, Linker, Lower};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store, StoreContextMut};

use crate::bindings::third_party::ThirdPartyIndices;
use crate::bindings::{Plugin, PluginIndices};
use crate::compiled::Compiled;
use crate::engine_config::engine_config;
use crate::error::Error;
use crate::imports::Imports;

/// The version of this host and of the embedded component.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The SHA-256 of the component: `sha256:` and 64 hex digits. It is the same in the npm package of this version.
pub const DIGEST: &str = env!("TOLLGATE_DIGEST");

/// How often the epoch advances, which is the precision of deadlines.
const TICK: Duration = Duration::from_millis(10);

/// Limits for guests. Start with [`Limits::default`] and change fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Time limit for one call. It is short because the agent waits for the gate.
    pub call: Duration,
    /// Linear memory of one instance, in bytes. The component itself requests at most 256 MiB.
    pub memory_bytes: usize,
    /// How many workspaces can be open at the same time.
    pub instances: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { call: Duration::from_secs(5), memory_bytes: 256 << 20, instances: 16 }
    }
}

/// The engine with the loaded component. Clones are cheap and share everything.
#[derive(Clone)]
pub struct Runtime {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Engine,
    instance: InstancePre<Imports>,
    plugin: PluginIndices,
    /// `None` if the component was built before third-party hooks existed.
    third_party: Option<ThirdPartyIndices>,
    limits: Limits,
}

impl Runtime {
    /// Creates the engine. Nothing is compiled.
    pub fn new(limits: Limits) -> Result<Self, Error> {
        Self::with(limits, Compiled::new)
    }

    fn with(limits: Limits, compiled: impl FnOnce(&mut Config) -> Compiled) -> Result<Self, Error> {
        let set_up = || -> wasmtime::Result<Inner> {
            let mut config = engine_config(cfg!(windows));
            // Pooling pays off if instances come and go. A command hook has a single instance, and setting up a pool would cost
            // more than the instance itself.
            if limits.instances > 1 {
                config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(limits)));
            }
            let compiled = compiled(&mut config);
            let engine = Engine::new(&config)?;
            let component = compiled.load(&engine)?;
            let mut linker = Linker::new(&engine);
            Plugin::add_to_linker::<_, wasmtime::component::HasSelf<_>>(&mut linker, |imports| imports)?;
            linker.define_unknown_imports_as_traps(&component)?;
            linker.allow_shadowing(true);
            add_wasi(&mut linker, &component)?;
            let instance = linker.instantiate_pre(&component)?;
            let (plugin, third_party) = (PluginIndices::new(&instance)?, ThirdPartyIndices::new(&instance).ok());
            Ok(Inner { engine, instance, plugin, third_party, limits })
        };
        let inner = set_up().map_err(Error::Engine)?;
        tick(&inner.engine, TICK)
            .map_err(|fault| Error::Engine(wasmtime::Error::from(fault).context("cannot start the deadline thread")))?;
        Ok(Self { inner: Arc::new(inner) })
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// Starts the component.
    pub(crate) fn start(&self, store: &mut Store<Imports>) -> wasmtime::Result<(Plugin, Instance)> {
        let instance = self.inner.instance.instantiate(&mut *store)?;
        Ok((self.inner.plugin.load(&mut *store, &instance)?, instance))
    }

    /// The component's exports for calling third-party hooks.
    pub(crate) fn third_party(&self) -> Option<&ThirdPartyIndices> {
        self.inner.third_party.as_ref()
    }

    pub(crate) fn limits(&self) -> Limits {
        self.inner.limits
    }

    /// The deadline of a call, in ticks from now. The current tick is only partly left, so it does not count.
    pub(crate) fn deadline_ticks(&self) -> u64 {
        let ticks = self.inner.limits.call.as_millis().div_ceil(TICK.as_millis()) + 1;
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Runtime").field("limits", &self.inner.limits).finish_non_exhaustive()
    }
}

/// Preallocated slots for instances. The component consists of one core module and its shims.
fn pool(limits: Limits) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(limits.instances)
        .total_core_instances(limits.instances.saturating_mul(16))
        .total_memories(limits.instances)
        .total_tables(limits.instances.saturating_mul(4))
        .max_memory_size(limits.memory_bytes)
        .max_memories_per_component(1)
        .max_tables_per_component(4)
        .max_core_instances_per_component(16);
    pool
}

/// Advances the epoch at this interval, as long as the engine exists.
pub(crate) fn tick(engine: &Engine, interval: Duration) -> std::io::Result<()> {
    let engine = engine.weak();
    let beat = move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            thread::sleep(interval);
        }
    };
    thread::Builder::new().name("tollgate-ticker".to_owned()).spawn(beat).map(drop)
}

/// A time of day, as WASI defines it.
#[derive(Clone, Copy, ComponentType, Lift, Lower)]
#[component(record)]
struct Datetime {
    seconds: u64,
    nanoseconds: u32,
}

/// Defines the time of day and random bytes of WASI. Everything else that Rust's standard library imports is only declared: a
/// guest that calls it traps.
fn add_wasi(linker: &mut Linker<Imports>, component: &Component) -> wasmtime::Result<()> {
    let kind = component.component_type();
    let imports: Vec<String> = kind.imports(component.engine()).map(|(name, _)| name.to_owned()).collect();
    for name in &imports {
        // Any patch release of WASI 0.2 will do.
        match name.split_once('@').map_or(name.as_str(), |(interface, _)| interface) {
            "wasi:clocks/wall-clock" => linker.instance(name)?.func_wrap("now", wall_clock)?,
            "wasi:random/random" => {
                let mut random = linker.instance(name)?;
                random.func_wrap("get-random-bytes", random_bytes)?;
                random.func_wrap("get-random-u64", random_number)?;
            }
            "wasi:random/insecure-seed" => linker.instance(name)?.func_wrap("insecure-seed", hash_seed)?,
            _ => {}
        }
    }
    Ok(())
}

fn wall_clock(store: StoreContextMut<'_, Imports>, (): ()) -> wasmtime::Result<(Datetime,)> {
    let now = store.data().now();
    Ok((Datetime { seconds: now.as_secs(), nanoseconds: now.subsec_nanos() },))
}

fn random_bytes(mut store: StoreContextMut<'_, Imports>, (length,): (u64,)) -> wasmtime::Result<(Vec<u8>,)> {
    Ok((store.data_mut().random(length)?,))
}

fn random_number(mut store: StoreContextMut<'_, Imports>, (): ()) -> wasmtime::Result<(u64,)> {
    Ok((store.data_mut().random_number()?,))
}

fn hash_seed(mut store: StoreContextMut<'_, Imports>, (): ()) -> wasmtime::Result<((u64, u64),)> {
    Ok((store.data_mut().seed()?,))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};

    use super::*;
    use crate::{Outcome, Tollgate, ToolCall};

    /// A case of an enum, as the contract spells it.
    fn name(case: &dyn std::fmt::Debug) -> String {
        format!("{case:?}").rsplit("::").next().unwrap_or_default().to_lowercase()
    }

    /// These bytes were released with contract 0.2.0 and are never rebuilt: a host that no longer runs them has broken the
    /// contract.
    #[test]
    fn the_component_of_contract_0_2_0_runs() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("work space");
        fs::create_dir_all(workspace.join("notes/deep")).unwrap();
        fs::write(workspace.join("notes/a.txt"), "abcdefgh").unwrap();
        fs::write(workspace.join("notes/deep/b.txt"), "b").unwrap();
        let home = folder.path().join("home");
        fs::create_dir(&home).unwrap();
        let runtime = Runtime::with(Limits::default(), |_| Compiled::witness()).unwrap();
        let mut gate = Tollgate::builder().workspace(&workspace).home(&home).runtime(runtime).open().unwrap();
        let expected: Value = serde_json::from_str(include_str!("../../wit/released/0.2.0/witness.json")).unwrap();
        let call = ToolCall::new("s", "c", "t", &json!({"ask": 1})).unwrap();
        let ruling = gate.pre_tool(&call).unwrap();
        let effects: Vec<Value> =
            ruling.effects.iter().map(|effect| json!({"path": effect.path, "operation": name(&effect.operation)})).collect();
        let found = json!({
            "verdict": name(&ruling.verdict), "code": ruling.code, "reason": ruling.reason, "effects": effects,
        });
        assert_eq!(found, expected["check"]);
        let settled = gate.post_tool(&call, &Outcome::Failed("why".to_owned())).unwrap();
        assert_eq!(settled.notice.as_deref(), expected["notice"].as_str());
        assert_eq!(gate.select_intent("s", "W-1").unwrap().id, "W-1");
        assert!(matches!(gate.select_intent("s", "none"), Err(Error::Refused { code: "unknown_intent", .. })));
        assert_eq!(gate.context("s", 12).unwrap(), expected["context"]);
        assert_eq!(gate.perform(b"abc").unwrap(), b"cba");
    }
}
