//! `tollgate-compose GATE.wasm HELPER.wasm OUTPUT.wasm`

use anyhow::{Context as _, Result, bail};

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [gate, helper, output] = words.as_slice() else { bail!("usage: tollgate-compose GATE.wasm HELPER.wasm OUTPUT.wasm") };
    let read = |path: &str| std::fs::read(path).with_context(|| format!("`{path}` cannot be read"));
    let composed = tollgate_compose::compose(&read(gate)?, &read(helper)?)?;
    std::fs::write(output, composed).with_context(|| format!("`{output}` cannot be written"))
}
