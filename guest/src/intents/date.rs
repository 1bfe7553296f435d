//! Dates in RFC 3339 format.

/// Whether a text is an RFC 3339 date, with or without a time.
pub(super) fn is_date(text: &str) -> bool {
    let mut rest = text;
    match date(&mut rest) {
        Some(()) if rest.is_empty() => true,
        Some(()) => time(&mut rest).is_some() && rest.is_empty(),
        None => false,
    }
}

fn date(rest: &mut &str) -> Option<()> {
    let year = number(rest, 4)?;
    sign(rest, &['-'])?;
    let month = number(rest, 2)?;
    sign(rest, &['-'])?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (1..=days).contains(&number(rest, 2)?).then_some(())
}

fn time(rest: &mut &str) -> Option<()> {
    sign(rest, &['T', 't', ' '])?;
    // A leap second is the sixty-first.
    for (most, begins) in [(23, None), (59, Some(':')), (60, Some(':'))] {
        if let Some(begins) = begins {
            sign(rest, &[begins])?;
        }
        number(rest, 2).filter(|number| *number <= most)?;
    }
    if sign(rest, &['.']).is_some() {
        let fraction = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        (fraction.len() < rest.len()).then_some(())?;
        *rest = fraction;
    }
    if sign(rest, &['Z', 'z']).is_some() {
        return Some(());
    }
    sign(rest, &['+', '-'])?;
    number(rest, 2).filter(|hours| *hours <= 23)?;
    sign(rest, &[':'])?;
    number(rest, 2).filter(|minutes| *minutes <= 59).map(drop)
}

fn sign(rest: &mut &str, any: &[char]) -> Option<()> {
    *rest = rest.strip_prefix(any)?;
    Some(())
}

fn number(rest: &mut &str, digits: usize) -> Option<u32> {
    let (number, after) = rest.split_at_checked(digits)?;
    *rest = after;
    number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (text, expected) in [
            ("2026-01-31", true),
            ("2026-01-31T12:00:00Z", true),
            ("2026-01-31t12:00:00.123456+05:30", true),
            ("2024-02-29 23:59:60-00:00", true),
            ("2000-02-29", true),
            ("1900-02-29", false),
            ("2026-02-29", false),
            ("2026-13-01", false),
            ("2026-00-01", false),
            ("2026-04-31", false),
            ("2026-1-1", false),
            ("2026-01-31T12:00:00", false),
            ("2026-01-31T24:00:00Z", false),
            ("2026-01-31T12:60:00Z", false),
            ("2026-01-31T12:00Z", false),
            ("2026-01-31T12:00:00.Z", false),
            ("2026-01-31T12:00:00Zx", false),
            ("2026-01-31T12:00:00+24:00", false),
            ("+026-01-31", false),
            ("31.01.2026", false),
            ("yesterday", false),
            ("ä026-01-31", false),
            ("", false),
        ] {
            assert_eq!(is_date(text), expected, "{text}");
        }
    }
}
