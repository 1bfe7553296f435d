//! Values that are stored elsewhere and referred to by name: `${settings.KEY}`.

use super::spec::ServerSource;

/// Minimum length of values that are hidden where they occur: too many words contain shorter ones.
pub(super) const MIN_HIDDEN: usize = 6;

const OPEN: &str = "${";
const SETTINGS: &str = "settings.";

/// Returns the value of a setting for the source of a server; `None` if it is not set.
pub type SettingLookup<'s> = dyn Fn(&ServerSource, &str) -> Option<String> + 's;

/// One piece of a value.
enum Piece<'v> {
    Text(&'v str),
    Key(&'v str),
}

/// Splits a value into its pieces; `None` if a reference cannot be read.
fn pieces(mut value: &str) -> Option<Vec<Piece<'_>>> {
    let mut pieces = Vec::new();
    while let Some((before, after)) = value.split_once(OPEN) {
        let (reference, rest) = after.split_once('}')?;
        let key = reference.strip_prefix(SETTINGS)?;
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if key.is_empty() || !key.bytes().all(fits) {
            return None;
        }
        pieces.extend([Piece::Text(before), Piece::Key(key)]);
        value = rest;
    }
    pieces.push(Piece::Text(value));
    Some(pieces)
}

/// Says what is wrong with the references in a value.
pub(super) fn check(value: &str) -> Result<(), String> {
    match pieces(value) {
        Some(_) => Ok(()),
        None => Err("has an invalid reference; write `${settings.KEY}`".to_owned()),
    }
}

/// The settings that a value refers to.
pub(super) fn keys(value: &str) -> impl Iterator<Item = &str> {
    let pieces = pieces(value).unwrap_or_default();
    pieces.into_iter().filter_map(|piece| match piece {
        Piece::Text(_) => None,
        Piece::Key(key) => Some(key),
    })
}

/// Fills in the settings that a value refers to, or returns the first that is missing. Only for the moment in which a server is
/// started: nothing that is shown, kept or logged contains the result.
pub fn resolve(value: &str, source: &ServerSource, settings: &SettingLookup<'_>) -> Result<String, String> {
    let mut resolved = String::new();
    for piece in pieces(value).unwrap_or_default() {
        match piece {
            Piece::Text(text) => resolved.push_str(text),
            Piece::Key(key) => resolved.push_str(&settings(source, key).ok_or_else(|| key.to_owned())?),
        }
    }
    Ok(resolved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references() {
        let settings = |_: &ServerSource, key: &str| (key == "token").then(|| "T".to_owned());
        for (value, expected) in [
            ("plain $HOME", Some(Ok("plain $HOME"))),
            ("Bearer ${settings.token}!", Some(Ok("Bearer T!"))),
            ("${settings.token}${settings.token}", Some(Ok("TT"))),
            ("${settings.none}", Some(Err("none"))),
            ("${settings.}", None),
            ("${env.X}", None),
            ("${settings.token", None),
        ] {
            let found = check(value).ok().map(|()| resolve(value, &ServerSource::User, &settings));
            let expected = expected.map(|expected| expected.map(str::to_owned).map_err(str::to_owned));
            assert_eq!(found, expected, "{value}");
        }
        assert_eq!(keys("${settings.a}${settings.b}").collect::<Vec<_>>(), ["a", "b"]);
    }
}
