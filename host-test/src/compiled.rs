//! The component, compiled ahead of time, as it lies in this program.
//!
//! A command hook is a process for every call, and copying three megabytes takes it longer than everything else. So on Linux the
//! code is run where it lies: its pages are mapped from the program's file already, and only those that are needed are read.

use wasmtime::component::Component;
use wasmtime::{Config, Engine};

/// On a page of its own, so that it can be made executable without anything else.
#[repr(C, align(4096))]
struct Paged<T: ?Sized>(T);

static COMPILED: &Paged<[u8]> = &Paged(*include_bytes!(concat!(env!("OUT_DIR"), "/tollgate.cwasm")));

/// The compiled component in an engine.
pub(crate) struct Compiled {
    bytes: &'static [u8],
    in_place: bool,
}

impl Compiled {
    /// Decides how it is loaded, and tells the engine.
    pub(crate) fn new(config: &mut Config) -> Self {
        Self { bytes: &COMPILED.0, in_place: in_place::prepare(config) }
    }

    /// The small component that was built against contract 0.2.0, as it was released.
    #[cfg(test)]
    pub(crate) fn witness() -> Self {
        Self { bytes: include_bytes!(concat!(env!("OUT_DIR"), "/witness-0.2.0.cwasm")), in_place: false }
    }

    /// Loads it.
    #[allow(unsafe_code)]
    pub(crate) fn load(&self, engine: &Engine) -> wasmtime::Result<Component> {
        let bytes = self.bytes;
        // SAFETY: the bytes were made by `build.rs` with the same wasmtime and are part of this program, which never changes
        // them and never goes away. wasmtime itself refuses them where its version or the configuration differs.
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

    /// wasmtime knows code by its address, so it may lie there for one engine only. Further ones get a copy.
    static TAKEN: AtomicBool = AtomicBool::new(false);

    pub(super) fn prepare(config: &mut Config) -> bool {
        let free = !TAKEN.swap(true, Ordering::Relaxed);
        if free {
            config.with_custom_code_memory(Some(Arc::new(Here)));
        }
        free
    }

    struct Here;

    impl CustomCodeMemory for Here {
        fn required_alignment(&self) -> usize {
            4096
        }

        #[allow(unsafe_code)]
        fn publish_executable(&self, ptr: *const u8, len: usize) -> wasmtime::Result<()> {
            // SAFETY: these are whole pages of the static above, which nobody writes to before or after.
            let published = unsafe { mprotect(ptr.cast_mut().cast(), len, MprotectFlags::READ | MprotectFlags::EXEC) };
            published.map_err(|why| wasmtime::format_err!("the component cannot be made executable: {why}"))
        }

        fn unpublish_executable(&self, _: *const u8, _: usize) -> wasmtime::Result<()> {
            // It is no more writable than before, and goes with the process.
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
