//! The contract's generated bindings. Private; what embedders need is re-exported by name.

#![allow(missing_docs)]

wasmtime::component::bindgen!({
    path: "../wit",
    world: "plugin",
    additional_derives: [Clone, PartialEq],
});

/// What a gate exports that calls hooks of third parties. Apart, because gates that were built before do not.
pub(crate) mod third_party {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "third-party",
        with: { "tollgate:hooks/types": crate::bindings::tollgate::hooks::types },
        additional_derives: [Clone, PartialEq],
    });
}

/// What hooks of third parties implement.
pub(crate) mod hook {
    wasmtime::component::bindgen!({ path: "../wit/hook", world: "hook" });
}
