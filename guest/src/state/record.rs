//! Records of kept files: numbers and texts as bytes, one after the other.

/// Writes the fields of a record one after the other.
#[derive(Default)]
pub(crate) struct RecordWriter(Vec<u8>);

impl RecordWriter {
    /// Adds a number.
    pub(crate) fn number(&mut self, number: usize) -> &mut Self {
        self.0.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
        self
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.number(text.len());
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    /// Adds a text that may be missing.
    pub(crate) fn option(&mut self, text: Option<&str>) -> &mut Self {
        self.number(usize::from(text.is_some()));
        if let Some(text) = text {
            self.text(text);
        }
        self
    }

    /// Adds several texts.
    pub(crate) fn texts<'t>(&mut self, texts: impl ExactSizeIterator<Item = &'t str>) -> &mut Self {
        self.number(texts.len());
        for text in texts {
            self.text(text);
        }
        self
    }

    /// The bytes of all fields.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Reads the fields of a record in the order in which they were written.
pub(crate) struct RecordReader<'r>(pub(crate) &'r [u8]);

impl RecordReader<'_> {
    /// Reads a number.
    pub(crate) fn number(&mut self) -> Option<usize> {
        let (number, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        usize::try_from(u32::from_le_bytes(*number)).ok()
    }

    /// Reads a text.
    pub(crate) fn text(&mut self) -> Option<String> {
        let length = self.number()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    /// Reads a text that may be missing.
    pub(crate) fn option(&mut self) -> Option<Option<String>> {
        match self.number()? {
            0 => Some(None),
            _ => self.text().map(Some),
        }
    }

    /// Reads several texts.
    pub(crate) fn texts(&mut self) -> Option<Vec<String>> {
        let count = self.number()?;
        (0..count).map(|_| self.text()).collect()
    }

    /// Reads several numbers.
    pub(crate) fn numbers(&mut self) -> Option<Vec<usize>> {
        let count = self.number()?;
        (0..count).map(|_| self.number()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_they_were_written() {
        let mut fields = RecordWriter::default();
        fields.text("a").option(None).option(Some("")).number(7).texts(["x", "ü"].into_iter()).number(1).number(9);
        let bytes = fields.into_bytes();
        let mut reader = RecordReader(&bytes);
        assert_eq!(reader.text().as_deref(), Some("a"));
        assert_eq!((reader.option(), reader.option(), reader.number()), (Some(None), Some(Some(String::new())), Some(7)));
        assert_eq!(reader.texts(), Some(vec!["x".to_owned(), "ü".to_owned()]));
        assert_eq!(reader.numbers(), Some(vec![9]));
        assert_eq!(reader.number(), None);
    }
}
