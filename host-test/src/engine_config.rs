//! How the engine compiles and runs the component. `build.rs` uses it too: what was compiled ahead of time runs only in an
//! engine that is configured alike.

use wasmtime::Config;

/// What has to be the same at build time and at run time.
pub(crate) fn engine_config() -> Config {
    let mut config = Config::new();
    config.wasm_component_model(true);
    // A guest that runs on and on is stopped at the next loop or call.
    config.epoch_interruption(true);
    // A trap is told by its code and the guest's own log; frames would cost every start.
    config.generate_address_map(false);
    config.wasm_backtrace_max_frames(None);
    config
}
