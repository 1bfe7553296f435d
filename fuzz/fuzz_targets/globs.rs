//! No pattern makes the gate panic, and patterns mean the same as in globset.

#![no_main]

use globset::GlobBuilder;
use libfuzzer_sys::fuzz_target;
use tollgate_guest::glob::Glob;

/// Text that both interpret alike: ASCII, no empty names, and no character classes, which may match `/` in globset.
fn is_comparable(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/*?{},.-_".contains(&byte);
    text.len() <= 64 && text.bytes().all(is_plain) && text.split('/').all(|name| !name.is_empty())
}

fuzz_target!(|text: &str| {
    let Some((pattern, path)) = text.split_once('\n') else { return };
    let Ok(ours) = Glob::compile(pattern) else { return };
    let matches = ours.matches(path);
    assert_eq!(matches, Glob::compile(pattern).is_ok_and(|again| again.matches(path)));
    if !is_comparable(pattern) || !is_comparable(path) {
        return;
    }
    let theirs = GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).empty_alternates(true).build();
    if let Ok(theirs) = theirs {
        assert_eq!(matches, theirs.compile_matcher().is_match(path), "{pattern:?} on {path:?}");
    }
});
