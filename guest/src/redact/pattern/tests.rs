#![allow(clippy::single_range_in_vec_init)]

use super::*;
use crate::redact::search::Budget;

fn cover(pattern: &str, text: &str) -> Result<Vec<Range<usize>>, Exhausted> {
    let (mut covered, mut budget) = (Vec::new(), Budget::new());
    budget.grant(text.len());
    let pattern = Pattern::compile(pattern).unwrap_or_else(|fault| panic!("{pattern}: {fault}"));
    pattern.cover(text, &mut covered, &mut budget)?;
    Ok(covered)
}

/// What matches cover, found by trying every part of the text with a full engine.
fn tried(pattern: &str, text: &str) -> Vec<bool> {
    // Our classes are limited to ASCII.
    let pattern = pattern.replace("[\\w-]", "[0-9A-Za-z_-]").replace("\\w", "[0-9A-Za-z_]").replace("\\d", "[0-9]");
    let pattern = pattern.replace("\\W", "[^0-9A-Za-z_]").replace("\\b", "(?-u:\\b)");
    let search = regex::Regex::new(&pattern).unwrap();
    let whole = regex::Regex::new(&format!("^(?:{pattern})$")).unwrap();
    // Look-around cannot be tried on a part of the text; successive searches have to do.
    let looks_around = pattern.contains("\\b") || pattern.starts_with('^') || pattern.ends_with('$');
    let mut covered = vec![false; text.len()];
    if looks_around {
        search.find_iter(text).for_each(|found| covered[found.range()].fill(true));
        return covered;
    }
    for start in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
        for end in (start + 1..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            if whole.is_match(text.get(start..end).unwrap()) {
                covered[start..end].fill(true);
            }
        }
    }
    covered
}

#[test]
fn covers_what_a_full_engine_finds() {
    let texts = [
        "",
        "a",
        "aab ab_b",
        "key-1234-zZ",
        "x=ab12;y=AB99\nab",
        "äöü-ß12",
        "((a))",
        "aaaaaaaaab",
        "1.2.3",
        "ababa",
        "abcbcbd",
        "aXbXXbaXb",
        "äab-12 ü",
    ];
    for pattern in [
        "a",
        "ab",
        "a*b",
        "a+",
        "(ab|a)b?",
        "a|ab",
        "aba",
        "a(bc)*|bcb",
        "bcb|cbd|abc",
        "a.{0,3}b|X",
        "[a-z]+\\d{2}",
        "(?i)ab\\d+",
        "[^a-z]",
        "\\W+\\d",
        ".",
        "a.b",
        "(.*a){2}",
        "(a|b)*a(a|b){2}",
        "\\w+-\\d+",
        "ä|ß",
        "a{2,3}",
        "a{2,}b",
        "(?:a|b)*b",
        "[\\w-]+",
        "\\.",
        "\\d(\\.\\d)+",
        "[]a]",
        "[a-]",
        "x=(?P<v>\\w+)",
        "\\bab\\b",
        "^a",
        "b$",
        "\\(+a",
        "a??b",
        "(?i:k)ey",
        "",
        "a*",
    ] {
        for text in texts {
            let mut covered = vec![false; text.len()];
            for range in cover(pattern, text).unwrap() {
                covered[range].fill(true);
            }
            assert_eq!(covered, tried(pattern, text), "{pattern} in {text:?}");
        }
    }
}

#[test]
fn signs_mean_themselves() {
    for (pattern, text, expected) in [
        ("\\<t\\>", "a<t>b", 1..4),
        // In a word of another script, only ASCII letters count as letters.
        ("\\bACME-\\d+", "üACME-12٣", 2..9),
    ] {
        assert_eq!(cover(pattern, text).as_deref(), Ok(&[expected][..]), "{pattern}");
    }
}

#[test]
fn what_cannot_be_used_is_said() {
    for (pattern, said) in [
        ("(a", "unclosed group at `(`, column 1"),
        ("a)", "unopened group at `)`, column 2"),
        ("[a", "unclosed character class"),
        ("*a", "repetition operator missing expression"),
        ("(?=a)b", "look-around, including look-ahead and look-behind, is not supported at `(?=`"),
        ("(?<!a)b", "look-around, including look-ahead and look-behind, is not supported"),
        ("(a)\\1", "backreferences are not supported at `\\1`"),
        ("a{5,2}", "invalid repetition count range"),
        ("[z-a]", "invalid character class range"),
        ("a{x}", "repetition quantifier expects a valid decimal"),
        ("\\", "incomplete escape sequence"),
        ("\\q", "unrecognized escape sequence at `\\q`"),
        ("((a{99}){99}){99}", "too large"),
        ("x\\p{Greek}", "Unicode classes are not supported; write out the characters at `\\p{Greek}`, column 2"),
        ("[a\\pL]", "Unicode classes"),
        ("(?-u:.)", "UTF-8"),
    ] {
        let fault = Pattern::compile(pattern).unwrap_err().to_string();
        assert!(fault.contains(said), "{pattern}: {fault}");
    }
    assert!(Pattern::compile(&"(".repeat(500)).is_err());
    assert!(Pattern::compile(&"a".repeat(1_001)).is_err());
}

/// The estimated size is sufficient.
#[test]
fn sizes_are_no_lower_than_what_is_built() {
    for pattern in ["a", "(.*a){20}", "[^a]{1000}", "(?i)key[-_]?[0-9a-f]{32,64}", "[äöü]+|ß{3,}", "(a|b)*a(a|b){20}", "\\bx\\B"]
    {
        let pattern = Pattern::compile(pattern).unwrap();
        let nfa = regex_automata::nfa::thompson::Compiler::new().build_from_hir(&pattern.tree).unwrap();
        // Every pattern is surrounded by a few states that find its beginning and report its end.
        assert!(nfa.states().len() <= 4 * pattern.size() + 16, "{}: {}", pattern.size(), nfa.states().len());
    }
}
