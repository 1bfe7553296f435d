//! Options and operands, by the conventions that GNU programs share.

use super::value::Arg;

/// Which options of a program take a value.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spec {
    /// Letters.
    pub(super) letters: &'static str,
    /// Long names.
    pub(super) names: &'static [&'static str],
    /// Whether the first operand ends the options, as it does where a command follows.
    pub(super) operand_ends: bool,
}

impl Spec {
    pub(super) const fn new(letters: &'static str, names: &'static [&'static str]) -> Self {
        Self { letters, names, operand_ends: false }
    }

    pub(super) const fn before_command(letters: &'static str, names: &'static [&'static str]) -> Self {
        Self { letters, names, operand_ends: true }
    }
}

#[derive(Debug)]
struct Given {
    name: String,
    value: Option<Arg>,
}

/// A program's arguments, sorted.
#[derive(Debug, Default)]
pub(super) struct Flags {
    given: Vec<Given>,
    /// What is no option and no option's value.
    pub(super) operands: Vec<Arg>,
}

impl Flags {
    pub(super) fn parse(args: &[Arg], spec: Spec) -> Self {
        let mut flags = Self::default();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            if arg.text == "--" {
                flags.operands.extend(rest.cloned());
                break;
            }
            if let Some(long) = arg.after("--") {
                let (name, value) = match long.text.split_once('=') {
                    Some((name, _)) => (name.to_owned(), long.after(&format!("{name}="))),
                    None => (long.text.clone(), None),
                };
                // A name may be cut short as long as it stays the only one.
                let mut meant = spec.names.iter().filter(|known| known.starts_with(&name) && name.len() > 1);
                let name = match (meant.next(), meant.next()) {
                    (Some(known), None) => (*known).to_owned(),
                    _ => name,
                };
                let takes = spec.names.contains(&name.as_str());
                let value = if value.is_none() && takes { rest.next().cloned() } else { value };
                flags.given.push(Given { name, value });
            } else if arg.text.starts_with('-') && arg.text.len() > 1 {
                let mut letters = arg.text.chars();
                letters.next();
                while let Some(letter) = letters.next() {
                    let attached = letters.as_str();
                    let value = match (spec.letters.contains(letter), attached.is_empty()) {
                        (false, _) => None,
                        (true, true) => rest.next().cloned(),
                        (true, false) => Some(Arg::plain(attached)),
                    };
                    let ends = value.is_some();
                    flags.given.push(Given { name: letter.to_string(), value });
                    if ends {
                        break;
                    }
                }
            } else {
                flags.operands.push(arg.clone());
                if spec.operand_ends {
                    flags.operands.extend(rest.cloned());
                    break;
                }
            }
        }
        flags
    }

    /// Whether one of these options is given: a letter, or a long name that may be cut short.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.given.iter().any(|given| is_one_of(&given.name, names))
    }

    /// The last value given to one of these options.
    pub(super) fn value(&self, names: &[&str]) -> Option<&Arg> {
        self.given.iter().rev().filter(|given| is_one_of(&given.name, names)).find_map(|given| given.value.as_ref())
    }

    /// All values given to one of these options.
    pub(super) fn values<'f>(&'f self, names: &'f [&str]) -> impl Iterator<Item = &'f Arg> {
        self.given.iter().filter(|given| is_one_of(&given.name, names)).filter_map(|given| given.value.as_ref())
    }
}

fn is_one_of(given: &str, names: &[&str]) -> bool {
    let cut_short = |name: &str| given.len() > 3 && name.strip_prefix(given).is_some_and(|rest| !rest.starts_with('-'));
    names.iter().any(|name| *name == given || cut_short(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_operands() {
        let spec = Spec::new("t", &["target-directory"]);
        for (line, recursive, target, operands) in [
            ("-r a b", true, None, "a b"),
            ("a -r b", true, None, "a b"),
            ("-rt d a", true, Some("d"), "a"),
            ("-rtd a", true, Some("d"), "a"),
            ("--target-directory=d a", false, Some("d"), "a"),
            ("--target d a", false, Some("d"), "a"),
            ("--recurs a", true, None, "a"),
            ("-- -r a", false, None, "-r a"),
            ("- a", false, None, "- a"),
        ] {
            let args: Vec<Arg> = line.split(' ').map(Arg::plain).collect();
            let flags = Flags::parse(&args, spec);
            assert_eq!(flags.has(&["r", "R", "recursive"]), recursive, "{line}");
            assert_eq!(flags.value(&["t", "target-directory"]).map(|arg| arg.text.as_str()), target, "{line}");
            assert_eq!(flags.operands.iter().map(|arg| arg.text.as_str()).collect::<Vec<_>>().join(" "), operands, "{line}");
        }
    }
}
