//! The outer layer of a component's bytes: names of imports and exports, and custom sections.
//!
//! Only names are read here. Whether the bytes are a valid component is found out when they are compiled. No library is used:
//! this needs only a handful of tags, and a full parser would be a fifth of the gate's size.

/// The names in a component's outer layer.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outer<'b> {
    /// What it imports, in order.
    pub imports: Vec<&'b str>,
    /// What it exports, in order.
    pub exports: Vec<&'b str>,
    /// Custom sections: name and content.
    pub custom: Vec<(&'b str, &'b [u8])>,
}

/// Why bytes are not a component.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Other bytes altogether: text, an archive, compiled code.
    #[error("it is not a WebAssembly component: it does not begin with `\\0asm`")]
    NotWasm,
    /// A core module.
    #[error("it is a core WebAssembly module, not a component; turn it into a component with `wasm-tools component new`")]
    CoreModule,
    /// A version of the format that is not supported.
    #[error("its version of the component format is not supported")]
    Version,
    /// The bytes end in the middle of something, or say something impossible.
    #[error("it is damaged at byte {0}")]
    Damaged(usize),
}

const MAGIC: &[u8] = b"\0asm";
const COMPONENT: &[u8] = &[0x0d, 0, 1, 0];
const MODULE: &[u8] = &[1, 0, 0, 0];

/// Maximum number of names; more are a mistake, or an attack.
const MAX_NAMES: usize = 4_096;

/// Reads the outer layer.
pub fn outer(bytes: &[u8]) -> Result<Outer<'_>, Malformed> {
    let body = bytes.strip_prefix(MAGIC).ok_or(Malformed::NotWasm)?;
    match body.get(..4) {
        Some(COMPONENT) => {}
        Some(MODULE) => return Err(Malformed::CoreModule),
        Some(_) => return Err(Malformed::Version),
        None => return Err(Malformed::Damaged(bytes.len())),
    }
    let mut reader = ByteReader { bytes, at: 8 };
    let mut outer = Outer::default();
    while reader.at < bytes.len() {
        let (id, size) = (reader.byte()?, reader.number()?);
        let content = reader.take(size)?;
        let mut section = ByteReader { bytes, at: reader.at - content.len() };
        match id {
            0 => {
                let name = section.text()?;
                let rest = bytes.get(section.at..reader.at).ok_or(Malformed::Damaged(section.at))?;
                outer.custom.push((name, rest));
            }
            10 => section.imports(&mut outer.imports)?,
            11 => section.exports(&mut outer.exports)?,
            1..=9 | 12 => continue,
            _ => return Err(section.damaged()),
        }
        // A section that claims to be shorter than its content would hide the rest.
        if section.at > reader.at || id != 0 && section.at != reader.at {
            return Err(section.damaged());
        }
        if outer.imports.len() + outer.exports.len() + outer.custom.len() > MAX_NAMES {
            return Err(section.damaged());
        }
    }
    Ok(outer)
}

/// A custom section, to be appended to a component's bytes.
pub fn custom_section(name: &str, content: &[u8]) -> Vec<u8> {
    let mut inner = leb128(name.len());
    inner.extend_from_slice(name.as_bytes());
    inner.extend_from_slice(content);
    let mut section = vec![0];
    section.extend(leb128(inner.len()));
    section.extend(inner);
    section
}

fn leb128(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(number & 0x7f).unwrap_or_default();
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

/// Reads bytes from a position onwards.
pub(super) struct ByteReader<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) at: usize,
}

impl<'b> ByteReader<'b> {
    /// Reads a module or a component, starting after the bytes that say which it is.
    pub(super) fn after_header(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 8 }
    }

    /// The next section: its kind and its content.
    pub(super) fn section(&mut self) -> Result<Option<(u8, &'b [u8])>, Malformed> {
        if self.at >= self.bytes.len() {
            return Ok(None);
        }
        let (id, size) = (self.byte()?, self.number()?);
        Ok(Some((id, self.take(size)?)))
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn damaged(&self) -> Malformed {
        Malformed::Damaged(self.at)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Malformed> {
        let byte = self.bytes.get(self.at).copied().ok_or_else(|| self.damaged())?;
        self.at += 1;
        Ok(byte)
    }

    fn take(&mut self, length: usize) -> Result<&'b [u8], Malformed> {
        let end = self.at.checked_add(length).ok_or_else(|| self.damaged())?;
        let taken = self.bytes.get(self.at..end).ok_or_else(|| self.damaged())?;
        self.at = end;
        Ok(taken)
    }

    /// A 32-bit number, or a type that is written as one.
    pub(super) fn number(&mut self) -> Result<usize, Malformed> {
        let mut number: u64 = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(number).ok().and_then(|number| usize::try_from(number).ok()).ok_or_else(|| self.damaged());
            }
        }
        Err(self.damaged())
    }

    pub(super) fn text(&mut self) -> Result<&'b str, Malformed> {
        let length = self.number()?;
        let bytes = self.take(length)?;
        std::str::from_utf8(bytes).map_err(|_| self.damaged())
    }

    /// The name of an import or an export, after the byte that says how it is written.
    fn name(&mut self) -> Result<&'b str, Malformed> {
        match self.byte()? {
            0 | 1 => self.text(),
            _ => Err(self.damaged()),
        }
    }

    fn imports(&mut self, names: &mut Vec<&'b str>) -> Result<(), Malformed> {
        for _ in 0..self.number()?.min(MAX_NAMES) {
            names.push(self.name()?);
            self.description()?;
        }
        Ok(())
    }

    fn exports(&mut self, names: &mut Vec<&'b str>) -> Result<(), Malformed> {
        for _ in 0..self.number()?.min(MAX_NAMES) {
            names.push(self.name()?);
            if self.byte()? == 0 {
                self.byte()?;
            }
            self.number()?;
            match self.byte()? {
                0 => {}
                1 => self.description()?,
                _ => return Err(self.damaged()),
            }
        }
        Ok(())
    }

    /// Skips the type after a name. Only its end is needed.
    fn description(&mut self) -> Result<(), Malformed> {
        match self.byte()? {
            // A core module.
            0 => {
                self.byte()?;
                self.number()?;
            }
            // A function, a component, an instance.
            1 | 4 | 5 => {
                self.number()?;
            }
            // A value: the same as another, or of a type.
            2 => {
                self.byte()?;
                self.number()?;
            }
            // A type: the same as another, or a resource.
            3 => {
                if self.byte()? == 0 {
                    self.number()?;
                }
            }
            _ => return Err(self.damaged()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(sections: &[&[u8]]) -> Vec<u8> {
        let mut bytes = [MAGIC, COMPONENT].concat();
        sections.iter().for_each(|section| bytes.extend_from_slice(section));
        bytes
    }

    #[test]
    fn the_released_witness_is_read() {
        let bytes = include_bytes!("../../../../wit/released/0.2.0/witness.wasm");
        let outer = outer(bytes).unwrap();
        assert!(outer.imports.contains(&"tollgate:hooks/workspace@0.2.0"), "{:?}", outer.imports);
        assert!(outer.exports.contains(&"tollgate:hooks/pre-tool@0.2.0"), "{:?}", outer.exports);
    }

    #[test]
    fn a_custom_section_comes_back() {
        let content = "x".repeat(300);
        let bytes = component(&[&custom_section("tollgate:hook", content.as_bytes())]);
        assert_eq!(outer(&bytes).unwrap().custom, [("tollgate:hook", content.as_bytes())]);
    }

    #[test]
    fn other_bytes_are_told_apart() {
        for (bytes, why) in [
            (b"(component)".to_vec(), Malformed::NotWasm),
            (Vec::new(), Malformed::NotWasm),
            (b"\x7fELF\x02\x01\x01\0".to_vec(), Malformed::NotWasm),
            (b"\0asm\x01\0\0\0".to_vec(), Malformed::CoreModule),
            (b"\0asm\x0e\0\x01\0".to_vec(), Malformed::Version),
            (b"\0asm\x0d".to_vec(), Malformed::Damaged(5)),
            (component(&[&[10, 200]]), Malformed::Damaged(10)),
            (component(&[&[99, 0]]), Malformed::Damaged(10)),
            // An import section that ends before its import does, and one that holds more than it counts.
            (component(&[&[10, 2, 1, 0]]), Malformed::Damaged(12)),
            (component(&[&[10, 3, 0, 1, 1]]), Malformed::Damaged(11)),
        ] {
            assert_eq!(outer(&bytes), Err(why), "{bytes:?}");
        }
    }

    #[test]
    fn no_bytes_are_too_much() {
        let witness = include_bytes!("../../../../wit/released/0.2.0/witness.wasm");
        for cut in (0..witness.len()).step_by(97) {
            let _ = outer(witness.get(..cut).unwrap_or_default());
        }
        let mut bytes = witness.to_vec();
        for at in (8..bytes.len()).step_by(61) {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 0xff;
            }
            let _ = outer(&bytes);
        }
    }
}
