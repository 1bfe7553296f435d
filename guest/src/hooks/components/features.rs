//! Finds features of core modules that not every host runs alike: a component that uses any of them is refused before it runs.
//!
//! Only the shapes of modules are read, never their code. Anything else that is invalid is found out when the component is
//! compiled.

use super::binary::{ByteReader, Malformed};

/// Maximum depth of components in components.
const MAX_NESTING: usize = 16;

/// Searches all modules of a component. Returns the first feature that no hook may use.
pub fn find_refused(bytes: &[u8]) -> Result<Option<&'static str>, Malformed> {
    component(ByteReader::after_header(bytes), 0)
}

fn component(mut reader: ByteReader<'_>, nesting: usize) -> Result<Option<&'static str>, Malformed> {
    if nesting > MAX_NESTING {
        return Ok(Some("components that are nested too deeply"));
    }
    while let Some((id, content)) = reader.section()? {
        let found = match id {
            1 => module(ByteReader::after_header(content))?,
            4 => component(ByteReader::after_header(content), nesting + 1)?,
            _ => None,
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

const GC: &str = "reference types and garbage-collected types";

fn module(mut reader: ByteReader<'_>) -> Result<Option<&'static str>, Malformed> {
    while let Some((id, content)) = reader.section()? {
        let mut section = ByteReader { bytes: content, at: 0 };
        let found = match id {
            1 => types(&mut section)?,
            2 => imports(&mut section)?,
            4 => repeat(&mut section, |section| if section.peek() == Some(0x40) { Ok(Some(GC)) } else { table(section) })?,
            5 => repeat(&mut section, memory)?,
            13 => Some("exceptions"),
            0 | 3 | 6..=12 => None,
            _ => Some("unknown sections"),
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

type Look<'b> = fn(&mut ByteReader<'b>) -> Result<Option<&'static str>, Malformed>;

fn repeat<'b>(section: &mut ByteReader<'b>, look: Look<'b>) -> Result<Option<&'static str>, Malformed> {
    for _ in 0..section.number()? {
        let found = look(section)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

fn types(section: &mut ByteReader<'_>) -> Result<Option<&'static str>, Malformed> {
    repeat(section, |section| {
        if section.byte()? != 0x60 {
            return Ok(Some(GC));
        }
        for _ in 0..2 {
            for _ in 0..section.number()? {
                if !is_plain(section.byte()?) {
                    return Ok(Some(GC));
                }
            }
        }
        Ok(None)
    })
}

/// Numbers and vectors, as opposed to references.
fn is_plain(kind: u8) -> bool {
    matches!(kind, 0x7b..=0x7f)
}

fn imports(section: &mut ByteReader<'_>) -> Result<Option<&'static str>, Malformed> {
    repeat(section, |section| {
        section.text()?;
        section.text()?;
        match section.byte()? {
            0 => section.number().map(|_| None),
            1 => table(section),
            2 => memory(section),
            3 => {
                let is_plain = is_plain(section.byte()?);
                section.byte()?;
                Ok((!is_plain).then_some(GC))
            }
            4 => Ok(Some("exceptions")),
            _ => Ok(Some("unknown kinds of imports")),
        }
    })
}

fn table(section: &mut ByteReader<'_>) -> Result<Option<&'static str>, Malformed> {
    const FUNCTIONS: u8 = 0x70;
    if section.byte()? != FUNCTIONS {
        return Ok(Some(GC));
    }
    limits(section, "tables")
}

fn memory(section: &mut ByteReader<'_>) -> Result<Option<&'static str>, Malformed> {
    limits(section, "memories")
}

fn limits(section: &mut ByteReader<'_>, of: &str) -> Result<Option<&'static str>, Malformed> {
    let flags = section.byte()?;
    if flags > 1 {
        return Ok(Some(if of == "tables" {
            "64-bit tables"
        } else {
            "memories that are shared, 64-bit or of an unusual page size"
        }));
    }
    for _ in 0..=flags {
        section.number()?;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(module: &[u8]) -> Vec<u8> {
        let wrap = |id: u8, content: &[u8]| {
            let mut bytes = b"\0asm\x0d\0\x01\0".to_vec();
            bytes.extend([id, u8::try_from(content.len()).unwrap()]);
            bytes.extend(content);
            bytes
        };
        let core = [b"\0asm\x01\0\0\0", module].concat();
        wrap(4, &wrap(1, &core))
    }

    #[test]
    fn what_only_some_engines_run_is_found_in_nested_modules() {
        for (module, found) in [
            (&[][..], None),
            (&[1, 5, 1, 0x60, 1, 0x7f, 0], None),
            (&[1, 5, 1, 0x60, 1, 0x6f, 0], Some(GC)),
            (&[1, 3, 1, 0x5f, 0], Some(GC)),
            (&[4, 4, 1, 0x70, 0, 1], None),
            (&[4, 4, 1, 0x6f, 0, 1], Some(GC)),
            (&[4, 9, 1, 0x40, 0, 0x70, 0, 1, 0xd0, 0x70, 0x0b], Some(GC)),
            (&[5, 4, 1, 1, 1, 2], None),
            (&[5, 4, 1, 3, 1, 2], Some("memories that are shared, 64-bit or of an unusual page size")),
            (&[5, 3, 1, 4, 1], Some("memories that are shared, 64-bit or of an unusual page size")),
            (&[13, 1, 0], Some("exceptions")),
            (&[2, 8, 1, 1, b'a', 1, b'b', 3, 0x7f, 0], None),
            (&[2, 8, 1, 1, b'a', 1, b'b', 3, 0x6f, 0], Some(GC)),
        ] {
            assert_eq!(find_refused(&nested(module)), Ok(found), "{module:?}");
        }
        assert!(find_refused(&nested(&[1, 9])).is_err());
    }
}
