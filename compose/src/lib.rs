//! Joins the gate with the helper that serves its imports from `wasi:filesystem`: one component for hosts that offer plain WASI.

use anyhow::{Context as _, Result};
use wac_graph::types::Package;
use wac_graph::{CompositionGraph, EncodeOptions, plug};

/// Composes the gate's component with the helper. The result only imports WASI.
pub fn compose(gate: &[u8], helper: &[u8]) -> Result<Vec<u8>> {
    let mut graph = CompositionGraph::new();
    let package = |graph: &mut CompositionGraph, name: &str, bytes: &[u8]| {
        let package =
            Package::from_bytes(name, None, bytes.to_vec(), graph.types_mut()).with_context(|| format!("reading the {name}"))?;
        graph.register_package(package).with_context(|| format!("taking in the {name}"))
    };
    let (gate, helper) = (package(&mut graph, "tollgate:gate", gate)?, package(&mut graph, "tollgate:helper", helper)?);
    plug(&mut graph, vec![helper], gate).context("joining them")?;
    graph.encode(EncodeOptions::default()).context("writing the component")
}
