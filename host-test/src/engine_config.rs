//! How the engine compiles and runs the component. `build.rs` uses it too: what was compiled ahead of time runs only in an
//! engine that is configured alike.

use wasmtime::Config;

/// What has to be the same at build time and at run time. `on_windows` is about the system that it runs on.
pub(crate) fn engine_config(on_windows: bool) -> Config {
    let mut config = Config::new();
    config.wasm_component_model(true);
    // A guest that runs on and on is stopped at the next loop or call.
    config.epoch_interruption(true);
    // A trap is told by its code and the guest's own log; frames would cost every start.
    config.generate_address_map(false);
    config.wasm_backtrace_max_frames(None);
    // Nothing unwinds through the guest: it aborts, and what the host throws is caught where the host was called. Registering thousands
    // of frames would cost every start. Windows cannot do without.
    config.native_unwind_info(on_windows);
    config
}
