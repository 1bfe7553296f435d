//! The keys of an intent.

/// The known keys.
pub(super) const FIELDS: [&str; 9] =
    ["id", "name", "description", "status", "owned_scope", "constraints", "acceptance_criteria", "created_at", "updated_at"];

/// The known key that an unknown one was probably meant to be.
pub(super) fn nearest<'k>(key: &str, known: &[&'k str]) -> Option<&'k str> {
    let plain = |key: &str| key.to_ascii_lowercase().replace(['_', '-', ' '], "");
    if key.len() > 40 {
        return None;
    }
    let key = plain(key);
    let holds = |known: &str| key.len() >= 4 && (known.contains(&key) || key.contains(known));
    let away = |known: &str| if holds(known) { 1 } else { distance(&key, known) };
    known
        .iter()
        .map(|known| (away(&plain(known)), *known))
        .filter(|(away, known)| *away <= 2 && away * 2 <= known.len())
        .min()
        .map(|(_, known)| known)
}

/// The edit distance: how many characters have to be changed, added or removed.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (before, c) in from.chars().enumerate() {
        let mut left = before + 1;
        let mut diagonal = before;
        for (cell, other) in row.iter_mut().skip(1).zip(to.chars()) {
            let changed = diagonal + usize::from(c != other);
            diagonal = *cell;
            left = changed.min(left + 1).min(*cell + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = before + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant() {
        for (key, meant) in [
            ("owned_scopes", Some("owned_scope")),
            ("ownedScope", Some("owned_scope")),
            ("scope", Some("owned_scope")),
            ("criteria", Some("acceptance_criteria")),
            ("descripton", Some("description")),
            ("Status", Some("status")),
            ("ID", Some("id")),
            ("nmae", Some("name")),
            ("created-at", Some("created_at")),
            ("owner", None),
            ("x", None),
            ("", None),
            (&"id".repeat(100), None),
        ] {
            assert_eq!(nearest(key, &FIELDS), meant, "{key}");
        }
    }

    #[test]
    fn distances() {
        for (from, to, expected) in [("", "", 0), ("a", "", 1), ("", "ab", 2), ("abc", "abd", 1), ("kitten", "sitting", 3)] {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }
}
