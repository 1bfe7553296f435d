//! The contract's generated bindings. Private; what embedders need is re-exported by name.

#![allow(missing_docs)]

wasmtime::component::bindgen!({
    path: "../wit",
    world: "plugin",
    additional_derives: [Clone, PartialEq],
});
