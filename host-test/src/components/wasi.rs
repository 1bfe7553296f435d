//! Stubs for WASI, for components whose language runtime imports it.
//!
//! There are no files, no environment and no connections; time stands still, random bytes are the same every time, and printed
//! output goes to the hook's log. Any other function traps, naming itself. The usual implementation is not used because it waits
//! in host calls, where no deadline can interrupt it.

use wasmtime::StoreContextMut;
use wasmtime::component::{Component, ComponentType, Lift, Linker, LinkerInstance, Lower, Resource};

use super::hook_host::HookHost;

/// The most bytes that can be printed at once.
const MAX_WRITE: u64 = 64 << 10;
/// The most random bytes that can be requested at once.
const MAX_RANDOM: u64 = 64 << 10;

/// The streams, by the number that a component knows them by.
const STDOUT: u32 = 0;
const STDERR: u32 = 1;
const STDIN: u32 = 2;

/// The type of every resource. The linker uses the same type for the imports that it fills in.
type Nothing = Resource<()>;

#[derive(ComponentType, Lift, Lower)]
#[component(variant)]
enum StreamError {
    #[component(name = "last-operation-failed")]
    #[allow(dead_code, reason = "the contract has it, and nothing here fails that way")]
    LastOperationFailed(Nothing),
    #[component(name = "closed")]
    Closed,
}

#[derive(Clone, Copy, ComponentType, Lift, Lower)]
#[component(record)]
struct Datetime {
    seconds: u64,
    nanoseconds: u32,
}

type Store<'a> = StoreContextMut<'a, HookHost>;
type Outcome<T> = wasmtime::Result<(T,)>;

/// Defines the WASI functions that a component imports. Those without a stub trap when they are called.
pub(super) fn add(linker: &mut Linker<HookHost>, component: &Component) -> wasmtime::Result<()> {
    // Imports were checked at approval: only WASI functions are still undefined here.
    linker.define_unknown_imports_as_traps(component)?;
    linker.allow_shadowing(true);
    let kind = component.component_type();
    for (name, item) in kind.imports(component.engine()) {
        let wasmtime::component::types::ComponentItem::ComponentInstance(found) = item.ty else { continue };
        let functions: Vec<String> = found.exports(component.engine()).map(|(name, _)| name.to_owned()).collect();
        let Some((interface, _)) = name.split_once('@') else { continue };
        let mut instance = linker.instance(name)?;
        for function in &functions {
            define(&mut instance, interface, function)?;
        }
    }
    Ok(())
}

fn define(linker: &mut LinkerInstance<'_, HookHost>, interface: &str, function: &str) -> wasmtime::Result<()> {
    match (interface, function) {
        ("wasi:cli/environment", "get-environment") => {
            linker.func_wrap(function, |_: Store<'_>, (): ()| Ok((Vec::<(String, String)>::new(),)))
        }
        ("wasi:cli/environment", "get-arguments") => {
            linker.func_wrap(function, |_: Store<'_>, (): ()| Ok((Vec::<String>::new(),)))
        }
        ("wasi:cli/environment", "initial-cwd") => linker.func_wrap(function, |_: Store<'_>, (): ()| Ok((None::<String>,))),
        ("wasi:cli/stdin", "get-stdin") => linker.func_wrap(function, |_: Store<'_>, (): ()| Ok((Nothing::new_own(STDIN),))),
        ("wasi:cli/stdout", "get-stdout") => linker.func_wrap(function, |_: Store<'_>, (): ()| Ok((Nothing::new_own(STDOUT),))),
        ("wasi:cli/stderr", "get-stderr") => linker.func_wrap(function, |_: Store<'_>, (): ()| Ok((Nothing::new_own(STDERR),))),
        ("wasi:cli/terminal-stdin", "get-terminal-stdin")
        | ("wasi:cli/terminal-stdout", "get-terminal-stdout")
        | ("wasi:cli/terminal-stderr", "get-terminal-stderr") => {
            linker.func_wrap(function, |_: Store<'_>, (): ()| Ok((None::<Nothing>,)))
        }
        ("wasi:filesystem/preopens", "get-directories") => {
            linker.func_wrap(function, |_: Store<'_>, (): ()| Ok((Vec::<(Nothing, String)>::new(),)))
        }
        ("wasi:clocks/wall-clock", "now" | "resolution") => {
            linker.func_wrap(function, |_: Store<'_>, (): ()| Ok((Datetime { seconds: 0, nanoseconds: 0 },)))
        }
        ("wasi:clocks/monotonic-clock", "now") => linker.func_wrap(function, read_clock),
        ("wasi:clocks/monotonic-clock", "resolution") => linker.func_wrap(function, |_: Store<'_>, (): ()| Ok((1_u64,))),
        ("wasi:random/random" | "wasi:random/insecure", "get-random-bytes" | "get-insecure-random-bytes") => {
            linker.func_wrap(function, |_: Store<'_>, (length,): (u64,)| {
                wasmtime::ensure!(length <= MAX_RANDOM, "the hook requests {length} random bytes at once");
                Ok((vec![4_u8; usize::try_from(length)?],))
            })
        }
        ("wasi:random/random" | "wasi:random/insecure", "get-random-u64" | "get-insecure-random-u64") => {
            linker.func_wrap(function, |_: Store<'_>, (): ()| Ok((4_u64,)))
        }
        ("wasi:random/insecure-seed", "insecure-seed") => {
            linker.func_wrap(function, |_: Store<'_>, (): ()| Ok(((4_u64, 4_u64),)))
        }
        ("wasi:io/streams", "[method]output-stream.check-write") => {
            linker.func_wrap(function, |_: Store<'_>, (_,): (Nothing,)| Ok((Ok::<u64, StreamError>(MAX_WRITE),)))
        }
        ("wasi:io/streams", "[method]output-stream.write" | "[method]output-stream.blocking-write-and-flush") => {
            linker.func_wrap(function, write)
        }
        ("wasi:io/streams", "[method]output-stream.flush" | "[method]output-stream.blocking-flush") => {
            linker.func_wrap(function, |_: Store<'_>, (_,): (Nothing,)| Ok((Ok::<(), StreamError>(()),)))
        }
        ("wasi:io/streams", "[method]input-stream.read" | "[method]input-stream.blocking-read") => {
            linker.func_wrap(function, |_: Store<'_>, (_, _): (Nothing, u64)| Ok((Err::<Vec<u8>, _>(StreamError::Closed),)))
        }
        ("wasi:io/streams", "[method]output-stream.subscribe" | "[method]input-stream.subscribe") => {
            linker.func_wrap(function, |_: Store<'_>, (_,): (Nothing,)| Ok((Nothing::new_own(0),)))
        }
        // Streams are always ready; there is nothing else to wait for.
        ("wasi:io/poll", "[method]pollable.ready") => linker.func_wrap(function, |_: Store<'_>, (_,): (Nothing,)| Ok((true,))),
        ("wasi:io/poll", "[method]pollable.block") => linker.func_wrap(function, |_: Store<'_>, (_,): (Nothing,)| Ok(())),
        _ => Ok(()),
    }
}

/// Reads the clock, which stands still except that each read advances it a little, so that a loop that waits for a later time
/// ends.
fn read_clock(mut store: Store<'_>, (): ()) -> Outcome<u64> {
    let host = store.data_mut();
    host.clock_reads += 1;
    Ok((host.clock_reads,))
}

fn write(mut store: Store<'_>, (stream, bytes): (Nothing, Vec<u8>)) -> Outcome<Result<(), StreamError>> {
    let stream = if stream.rep() == STDERR { 1 } else { 0 };
    store.data_mut().print(stream, &bytes);
    Ok((Ok(()),))
}
