//! `precompile COMPONENT CODE [TARGET]`: compiles the gate when `tollgate` is built, for a target or for this machine. It is not shipped.

use std::error::Error;
use std::ffi::OsString;
use std::fs;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let (component, code, target) = match words.as_slice() {
        [component, code] => (component, code, None),
        [component, code, target] => (component, code, target.to_str()),
        _ => return Err("usage: precompile COMPONENT CODE [TARGET]".into()),
    };
    let bytes = fs::read(component).map_err(|why| format!("`{}` cannot be read: {why}", component.display()))?;
    let native = tollgate_compiler::compile(&bytes, target)
        .map_err(|why| format!("`{}` cannot be compiled: {why}", component.display()))?;
    fs::write(code, native).map_err(|why| format!("`{}` cannot be written: {why}", code.display()))?;
    Ok(())
}
