//! Compiles WebAssembly components to native code that `tollgate` loads: the gate itself when `tollgate` is built, and hooks of third
//! parties, each in a process of the program `tollgate-compiler`.

use wasmtime::Engine;

#[path = "../../src/engine_config.rs"]
mod engine_config;

/// Compiles a component for a target, such as `x86_64-unknown-linux-gnu`, or for this machine and all that its processor can do.
pub fn compile(component: &[u8], target: Option<&str>) -> Result<Vec<u8>, String> {
    let precompile = || {
        let mut config = engine_config::engine_config(target.map_or(cfg!(windows), |target| target.contains("windows")));
        if let Some(target) = target {
            config.target(target)?;
        }
        Engine::new(&config)?.precompile_component(component)
    };
    precompile().map_err(|fault: wasmtime::Error| format!("{fault:#}"))
}
