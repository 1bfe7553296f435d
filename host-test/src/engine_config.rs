//! The configuration of the engine. `tollgate-compiler` includes this file too, because precompiled code only runs in an engine with
//! the same configuration.

use wasmtime::Config;

/// The settings that must match between build time and run time. `on_windows` is about the target system.
pub(crate) fn engine_config(on_windows: bool) -> Config {
    let mut config = Config::new();
    config.wasm_component_model(true);
    // Stops a guest that runs too long at the next loop or call.
    config.epoch_interruption(true);
    // Errors carry a trap code and the guest's own log; stack frames would slow down every start.
    config.generate_address_map(false);
    config.wasm_backtrace_max_frames(None);
    // Nothing unwinds through the guest: it aborts, and errors of the host are caught where the host was called. Registering
    // thousands of frames would slow down every start. Windows requires it.
    config.native_unwind_info(on_windows);
    config
}
