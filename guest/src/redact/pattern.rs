//! Patterns that people configure, matched in linear time.
//!
//! A small language: text, `.`, classes, groups, alternatives, repetition, `^`, `$` and `\b`. What needs to look ahead or
//! back is refused by name. A pattern is run over the text once, all its ways at the same time, so that no pattern and no
//! text make it slow. Hidden is whatever any match covers: a wider net than a search that takes one match after the other.

use std::fmt;
use std::ops::Range;

/// Longer patterns are a mistake.
const LONGEST: usize = 1_000;
/// Repetition makes patterns larger than they look.
const MOST_STEPS: usize = 2_000;
/// Groups in groups.
const DEEPEST: usize = 40;

/// A pattern, ready to be looked for.
#[derive(Debug, Clone)]
pub struct Pattern {
    steps: Vec<Step>,
    classes: Vec<Class>,
}

/// What a pattern does next. Jumps are relative, so that a part can be repeated.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// One character of a class.
    Take(usize),
    /// Goes on here and there.
    Fork(isize, isize),
    /// Goes on there.
    Jump(isize),
    /// Goes on at the start of the text.
    Start,
    /// Goes on at the end of the text.
    End,
    /// Goes on at the edge of a word, or anywhere else.
    Edge(bool),
}

#[derive(Debug, Clone, Default)]
struct Class {
    ranges: Vec<(char, char)>,
    negated: bool,
    any_case: bool,
}

impl Class {
    fn has(&self, wanted: char) -> bool {
        let within = |wanted: char| self.ranges.iter().any(|(first, last)| (*first..=*last).contains(&wanted));
        let found =
            within(wanted) || self.any_case && (within(wanted.to_ascii_lowercase()) || within(wanted.to_ascii_uppercase()));
        found != self.negated
    }
}

/// Why a pattern cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternFault(&'static str);

impl fmt::Display for PatternFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0)
    }
}

type Steps = Result<Vec<Step>, PatternFault>;

struct Reader<'p> {
    rest: &'p str,
    classes: Vec<Class>,
    any_case: bool,
}

impl Pattern {
    /// Reads a pattern.
    pub fn compile(text: &str) -> Result<Self, PatternFault> {
        if text.len() > LONGEST {
            return Err(PatternFault("it is longer than 1,000 bytes"));
        }
        let mut reader = Reader { rest: text, classes: Vec::new(), any_case: false };
        let steps = reader.alternatives(0)?;
        match reader.next() {
            Some(_) => Err(PatternFault("a `)` closes nothing; write `\\)` for the character")),
            None => Ok(Self { steps, classes: reader.classes }),
        }
    }

    /// How much work it is for every character.
    pub fn size(&self) -> usize {
        self.steps.len()
    }

    /// Everything that a match covers, in order, as ranges of bytes.
    pub fn covers(&self, text: &str) -> Vec<Range<usize>> {
        let mut covered: Vec<Range<usize>> = Vec::new();
        let mut here = Ways::new(self.steps.len());
        let mut there = Ways::new(self.steps.len());
        let mut before = None;
        let ends = text.chars().map(Some).chain([None]);
        let mut at = 0;
        for next in ends {
            let edge = is_word(before) != is_word(next);
            here.go(self, 0, at, (at == 0, next.is_none(), edge));
            if let Some(start) = here.matched.take().filter(|start| *start < at) {
                // What this one covers swallows what was covered before and overlaps.
                while covered.last().is_some_and(|last| last.start >= start) {
                    covered.pop();
                }
                match covered.last_mut() {
                    Some(last) if last.end >= start => last.end = at,
                    _ => covered.push(start..at),
                }
            }
            let Some(taken) = next else { break };
            let after = text.get(at..).and_then(|rest| rest.chars().nth(1));
            let around = (false, after.is_none(), is_word(next) != is_word(after));
            at += taken.len_utf8();
            there.clear();
            for place in std::mem::take(&mut here.places) {
                let start = here.starts.get(place).copied().unwrap_or(NOWHERE);
                if let Some(Step::Take(class)) = self.steps.get(place)
                    && self.classes.get(*class).is_some_and(|class| class.has(taken))
                {
                    there.go(self, place + 1, start, around);
                }
            }
            here.clear();
            std::mem::swap(&mut here, &mut there);
            before = next;
        }
        covered
    }
}

fn is_word(character: Option<char>) -> bool {
    character.is_some_and(|character| character.is_ascii_alphanumeric() || character == '_')
}

const NOWHERE: usize = usize::MAX;

/// Where a pattern is at one place of the text: for every step the earliest start of a match that got there.
struct Ways {
    starts: Vec<usize>,
    places: Vec<usize>,
    seen: Vec<usize>,
    matched: Option<usize>,
}

impl Ways {
    fn new(steps: usize) -> Self {
        Self { starts: vec![NOWHERE; steps], places: Vec::new(), seen: Vec::new(), matched: None }
    }

    fn clear(&mut self) {
        for place in self.seen.drain(..) {
            if let Some(start) = self.starts.get_mut(place) {
                *start = NOWHERE;
            }
        }
        self.places.clear();
        self.matched = None;
    }

    /// Goes on from a step to all that can be reached without taking a character.
    fn go(&mut self, pattern: &Pattern, from: usize, start: usize, (first, last, edge): (bool, bool, bool)) {
        let mut ahead = vec![from];
        while let Some(place) = ahead.pop() {
            let Some(step) = pattern.steps.get(place) else {
                self.matched = Some(self.matched.map_or(start, |other| other.min(start)));
                continue;
            };
            match self.starts.get_mut(place) {
                Some(known) if *known > start => {
                    if *known == NOWHERE {
                        self.seen.push(place);
                        if matches!(step, Step::Take(_)) {
                            self.places.push(place);
                        }
                    }
                    *known = start;
                }
                _ => continue,
            }
            let holds = match step {
                Step::Take(_) => false,
                Step::Fork(one, other) => {
                    ahead.extend([place.wrapping_add_signed(*one), place.wrapping_add_signed(*other)]);
                    false
                }
                Step::Jump(to) => {
                    ahead.push(place.wrapping_add_signed(*to));
                    false
                }
                Step::Start => first,
                Step::End => last,
                Step::Edge(wanted) => edge == *wanted,
            };
            if holds {
                ahead.push(place + 1);
            }
        }
    }
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = self.rest.get(next.len_utf8()..).unwrap_or_default();
        Some(next)
    }

    fn eat(&mut self, text: &str) -> bool {
        let eaten = self.rest.strip_prefix(text);
        self.rest = eaten.unwrap_or(self.rest);
        eaten.is_some()
    }

    fn alternatives(&mut self, depth: usize) -> Steps {
        if depth > DEEPEST {
            return Err(PatternFault("its groups are nested too deeply"));
        }
        let mut steps = self.sequence(depth)?;
        while self.eat("|") {
            let other = self.sequence(depth)?;
            let mut both = vec![Step::Fork(1, ahead(steps.len()) + 2)];
            both.append(&mut steps);
            both.push(Step::Jump(ahead(other.len()) + 1));
            both.extend(other);
            steps = both;
            if steps.len() > MOST_STEPS {
                return Err(PatternFault("its repetitions make it too large"));
            }
        }
        Ok(steps)
    }

    fn sequence(&mut self, depth: usize) -> Steps {
        let mut steps = Vec::new();
        while !self.rest.is_empty() && !self.rest.starts_with(['|', ')']) {
            let part = self.part(depth)?;
            let part = self.repeated(part)?;
            steps.extend(part);
            if steps.len() > MOST_STEPS {
                return Err(PatternFault("its repetitions make it too large"));
            }
        }
        Ok(steps)
    }

    fn part(&mut self, depth: usize) -> Steps {
        let class = match self.next() {
            Some('(') => return self.group(depth),
            Some('^') => return Ok(vec![Step::Start]),
            Some('$') => return Ok(vec![Step::End]),
            Some('*' | '+' | '?' | '{') => return Err(PatternFault("a repetition stands behind nothing")),
            Some('.') => Class { ranges: vec![('\n', '\n')], negated: true, any_case: false },
            Some('[') => self.class()?,
            Some('\\') => match self.next() {
                Some('b') => return Ok(vec![Step::Edge(true)]),
                Some('B') => return Ok(vec![Step::Edge(false)]),
                Some('A') => return Ok(vec![Step::Start]),
                Some('z' | 'Z') => return Ok(vec![Step::End]),
                Some(letter) => escaped(letter)?,
                None => return Err(PatternFault("it ends with a `\\`")),
            },
            Some(character) => one(character),
            None => return Ok(Vec::new()),
        };
        Ok(vec![self.take(class)])
    }

    fn take(&mut self, class: Class) -> Step {
        self.classes.push(Class { any_case: self.any_case, ..class });
        Step::Take(self.classes.len() - 1)
    }

    fn group(&mut self, depth: usize) -> Steps {
        let outer = self.any_case;
        if self.eat("?") {
            if self.eat("i)") {
                // For what follows in the group around it.
                self.any_case = true;
                return Ok(Vec::new());
            }
            if self.eat("i:") {
                self.any_case = true;
            } else if self.eat("P<") || self.rest.starts_with('<') && !self.rest.starts_with("<=") && !self.rest.starts_with("<!")
            {
                while self.next().is_some_and(|character| character != '>') {}
            } else if !self.eat(":") {
                return Err(PatternFault(
                    "it looks ahead or back, or sets a flag other than `i`, which takes more than linear time",
                ));
            }
        }
        let steps = self.alternatives(depth + 1)?;
        self.any_case = outer;
        if self.eat(")") { Ok(steps) } else { Err(PatternFault("a `(` is not closed; write `\\(` for the character")) }
    }

    fn class(&mut self) -> Result<Class, PatternFault> {
        let mut class = Class { negated: self.eat("^"), ..Class::default() };
        let unclosed = PatternFault("a `[` is not closed; write `\\[` for the character");
        let mut first = true;
        loop {
            let Some(mut character) = self.next() else { return Err(unclosed) };
            if character == ']' && !first {
                return Ok(class);
            }
            first = false;
            if character == '[' && self.rest.starts_with(':') {
                return Err(PatternFault("names such as `[:alpha:]` are not known; write `a-zA-Z`"));
            }
            if character == '\\' {
                let Some(letter) = self.next() else { return Err(unclosed) };
                let meant = escaped(letter)?;
                match meant.ranges.as_slice() {
                    [(only, same)] if only == same && !meant.negated => character = *only,
                    _ if meant.negated => return Err(PatternFault("`\\D`, `\\S` and `\\W` cannot stand in a class")),
                    ranges => {
                        class.ranges.extend_from_slice(ranges);
                        continue;
                    }
                }
            }
            let mut last = character;
            if self.rest.starts_with('-') && !self.rest.starts_with("-]") {
                self.next();
                last = match self.next() {
                    Some('\\') => match self.next().map(escaped).transpose()?.as_ref().and_then(|class| class.ranges.first()) {
                        Some((last, _)) => *last,
                        None => return Err(unclosed),
                    },
                    Some(last) => last,
                    None => return Err(unclosed),
                };
            }
            if last < character {
                return Err(PatternFault("a range ends before it starts"));
            }
            class.ranges.push((character, last));
        }
    }

    fn repeated(&mut self, part: Vec<Step>) -> Steps {
        let mut part = part;
        loop {
            let (least, most) = match self.rest.chars().next() {
                Some('*') => (0, None),
                Some('+') => (1, None),
                Some('?') => (0, Some(1)),
                Some('{') => match self.counts()? {
                    Some(counts) => counts,
                    None => return Err(PatternFault("a `{` is no repetition such as `{2,5}`; write `\\{` for the character")),
                },
                _ => return Ok(part),
            };
            self.next();
            // Lazy or not, the same is covered.
            self.eat("?");
            let copies = most.unwrap_or(least + 1).max(least);
            if part.len().saturating_mul(copies + 1) > MOST_STEPS {
                return Err(PatternFault("its repetitions make it too large"));
            }
            let length = ahead(part.len());
            let mut steps = Vec::new();
            for _ in 0..least {
                steps.extend_from_slice(&part);
            }
            match most {
                None => {
                    steps.push(Step::Fork(1, length + 2));
                    steps.append(&mut part);
                    steps.push(Step::Jump(-length - 1));
                }
                Some(most) => {
                    for _ in least..most {
                        steps.push(Step::Fork(1, length + 1));
                        steps.extend_from_slice(&part);
                    }
                }
            }
            part = steps;
        }
    }

    /// `{2}`, `{2,}` or `{2,5}`, up to the closing brace.
    fn counts(&mut self) -> Result<Option<(usize, Option<usize>)>, PatternFault> {
        let Some((counts, _)) = self.rest.get(1..).unwrap_or_default().split_once('}') else { return Ok(None) };
        let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number <= MOST_STEPS);
        let found = match counts.split_once(',') {
            None => number(counts).map(|count| (count, Some(count))),
            Some((least, "")) => number(least).map(|least| (least, None)),
            Some((least, most)) => number(least).zip(number(most)).map(|(least, most)| (least, Some(most))),
        };
        if found.is_some_and(|(least, most)| most.is_some_and(|most| most < least)) {
            return Err(PatternFault("a repetition such as `{5,2}` ends before it starts"));
        }
        if found.is_some() {
            self.rest = self.rest.get(1 + counts.len()..).unwrap_or_default();
        }
        Ok(found)
    }
}

/// No pattern is so long that it would not fit.
fn ahead(steps: usize) -> isize {
    isize::try_from(steps).unwrap_or(isize::MAX)
}

fn one(character: char) -> Class {
    Class { ranges: vec![(character, character)], ..Class::default() }
}

fn escaped(letter: char) -> Result<Class, PatternFault> {
    let (ranges, negated): (&[(char, char)], bool) = match letter {
        'd' => (&[('0', '9')], false),
        'D' => (&[('0', '9')], true),
        'w' => (&[('a', 'z'), ('A', 'Z'), ('0', '9'), ('_', '_')], false),
        'W' => (&[('a', 'z'), ('A', 'Z'), ('0', '9'), ('_', '_')], true),
        's' => (&[(' ', ' '), ('\t', '\r')], false),
        'S' => (&[(' ', ' '), ('\t', '\r')], true),
        'n' => (&[('\n', '\n')], false),
        'r' => (&[('\r', '\r')], false),
        't' => (&[('\t', '\t')], false),
        '1'..='9' => return Err(PatternFault("it refers back to a group, which takes more than linear time")),
        letter if letter.is_ascii_alphanumeric() => return Err(PatternFault("a letter behind a `\\` means nothing here")),
        sign => return Ok(one(sign)),
    };
    Ok(Class { ranges: ranges.to_vec(), negated, any_case: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What some match covers, by trying every part of the text with a full engine.
    fn tried(pattern: &str, text: &str) -> Vec<bool> {
        // Our classes know ASCII alone.
        let pattern = pattern.replace("[\\w-]", "[0-9A-Za-z_-]").replace("\\w", "[0-9A-Za-z_]").replace("\\d", "[0-9]");
        let search = regex::Regex::new(&pattern).unwrap();
        let whole = regex::Regex::new(&format!("^(?:{pattern})$")).unwrap();
        // What looks around cannot be tried on a part of the text; one search after the other has to do.
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
        let texts = ["", "a", "aab ab_b", "key-1234-zZ", "x=ab12;y=AB99\nab", "äöü-ß12", "((a))", "aaaaaaaaab", "1.2.3"];
        for pattern in [
            "a",
            "ab",
            "a*b",
            "a+",
            "(ab|a)b?",
            "[a-z]+\\d{2}",
            "(?i)ab\\d+",
            "[^a-z]",
            ".",
            "a.b",
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
        ] {
            let compiled = Pattern::compile(pattern).unwrap_or_else(|fault| panic!("{pattern}: {fault}"));
            for text in texts {
                let mut covered = vec![false; text.len()];
                for range in compiled.covers(text) {
                    covered[range].fill(true);
                }
                assert_eq!(covered, tried(pattern, text), "{pattern} in {text:?}");
            }
        }
    }

    #[test]
    fn what_cannot_be_used_is_said() {
        for (pattern, said) in [
            ("(a", "not closed"),
            ("a)", "closes nothing"),
            ("[a", "not closed"),
            ("*a", "behind nothing"),
            ("(?=a)b", "looks ahead"),
            ("(?<!a)b", "looks ahead or back"),
            ("(a)\\1", "refers back"),
            ("a{5,2}", "ends before"),
            ("[z-a]", "ends before"),
            ("a{x}", "no repetition"),
            ("\\", "ends with"),
            ("\\q", "means nothing"),
            ("((a{99}){99}){99}", "too large"),
            ("[[:alpha:]]", "not known"),
        ] {
            let fault = Pattern::compile(pattern).unwrap_err().to_string();
            assert!(fault.contains(said), "{pattern}: {fault}");
        }
        assert!(Pattern::compile(&"(".repeat(500)).is_err());
        assert!(Pattern::compile(&"a".repeat(1_001)).is_err());
    }

    /// Patterns on which searches that go back take for ever.
    #[test]
    fn no_pattern_is_slow() {
        let text = format!("{}!", "a".repeat(20_000));
        for pattern in ["(a+)+b", "(a|aa)*c", "(a*)*b", "a.*b|a"] {
            let covered = Pattern::compile(pattern).unwrap().covers(&text);
            assert!(covered.len() <= 1, "{pattern}: {covered:?}");
        }
    }
}
