//! The component, compiled ahead of time and embedded in this program.
//!
//! A command hook starts one process per call, and copying three megabytes would take longer than everything else it does. So on
//! Linux the code runs in place: its pages are already mapped from the program file, and only those that are needed are read.

use wasmtime::component::Component;
use wasmtime::{Config, Engine};

/// Aligned to a page, so that it can be made executable separately.
#[repr(C, align(4096))]
struct PageAligned<T: ?Sized>(T);

static COMPILED: &PageAligned<[u8]> = &PageAligned(*include_bytes!(concat!(env!("OUT_DIR"), "/tollgate.cwasm")));

/// The compiled component, ready to be loaded into an engine.
pub(crate) struct Compiled {
    bytes: &'static [u8],
    in_place: bool,
}

impl Compiled {
    /// Decides how the code is loaded and configures the engine for it.
    pub(crate) fn new(config: &mut Config) -> Self {
        Self { bytes: &COMPILED.0, in_place: in_place::prepare(config) }
    }

    /// The small component that was built against contract 0.2.0 when that was released.
    #[cfg(test)]
    pub(crate) fn witness() -> Self {
        Self { bytes: include_bytes!(concat!(env!("OUT_DIR"), "/witness-0.2.0.cwasm")), in_place: false }
    }

    /// Loads the component into an engine.
    #[allow(unsafe_code)]
    pub(crate) fn load(&self, engine: &Engine) -> wasmtime::Result<Component> {
        let bytes = self.bytes;
        // SAFETY: the bytes were produced by `build.rs` with the same wasmtime and are part of this program's static data, so
        // they never change and are never freed. wasmtime itself rejects them if its version or the configuration differs.
        unsafe {
            if self.in_place { Component::deserialize_raw(engine, bytes.into()) } else { Component::deserialize(engine, bytes) }
        }
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod in_place {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::mm::{MprotectFlags, mprotect};
    use wasmtime::{Config, CustomCodeMemory};

    /// wasmtime identifies code by its address, so only one engine can use it in place. Other engines get a copy.
    static IN_USE: AtomicBool = AtomicBool::new(false);

    pub(super) fn prepare(config: &mut Config) -> bool {
        let free = !IN_USE.swap(true, Ordering::Relaxed);
        if free {
            config.with_custom_code_memory(Some(Arc::new(InPlaceMemory)));
        }
        free
    }

    struct InPlaceMemory;

    impl CustomCodeMemory for InPlaceMemory {
        fn required_alignment(&self) -> usize {
            4096
        }

        #[allow(unsafe_code)]
        fn publish_executable(&self, ptr: *const u8, len: usize) -> wasmtime::Result<()> {
            // SAFETY: these are whole pages of the static above, and nothing ever writes to them.
            let published = unsafe { mprotect(ptr.cast_mut().cast(), len, MprotectFlags::READ | MprotectFlags::EXEC) };
            published.map_err(|why| wasmtime::format_err!("the component cannot be made executable: {why}"))
        }

        fn unpublish_executable(&self, _: *const u8, _: usize) -> wasmtime::Result<()> {
            // The pages are not writable, and they go away with the process.
            Ok(())
        }
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod in_place {
    pub(super) fn prepare(_: &mut wasmtime::Config) -> bool {
        false
    }
}
