//! The contract's generated bindings. Private; what embedders need is re-exported by name.

#![allow(missing_docs)]

wasmtime::component::bindgen!({
    path: "../wit",
    world: "plugin",
    additional_derives: [Clone, PartialEq],
});

/// The component's exports for calling third-party hooks. They are separate because components from earlier releases lack them.
pub(crate) mod third_party {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "third-party",
        with: { "tollgate:hooks/types": crate::bindings::tollgate::hooks::types },
        additional_derives: [Clone, PartialEq],
    });
}

/// The contract that third-party hooks implement.
pub(crate) mod hook {
    wasmtime::component::bindgen!({ path: "../wit/hook", world: "hook" });
}
