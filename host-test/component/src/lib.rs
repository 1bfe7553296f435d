//! The gate as a WebAssembly component.

/// The bytes of the component, the same in every host.
pub const COMPONENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tollgate.wasm"));
