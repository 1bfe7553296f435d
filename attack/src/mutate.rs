//! Random edits of a command.

use crate::dice::Dice;

/// Texts that are inserted between two characters.
const INSERTED: [&str; 46] = [
    "'", "\"", "\\", "`", "$", "$(", ")", "${", "}", "(", "{", ";", "&", "|", "<", ">", ">>", "<<<", "&&", "||", "#", "!", "~",
    "*", "?", "[", "]", "=", "\n", "\\\n", "\t", " ", "  ", "-", "--", "/", "..", "$'", "$\"", "<(", ">&", "2>", "&>", "\r",
    "$@", "$IFS",
];

/// Replacements for a blank.
const BLANKS: [&str; 8] = ["\t", "  ", " \\\n", "${IFS}", "\n", " ; ", " | ", " -- "];

/// Splits a text into words and separators; joined, they are the text again.
pub fn tokens(text: &str) -> Vec<String> {
    #[derive(PartialEq, Clone, Copy)]
    enum Class {
        Word,
        Blank,
        Sign,
    }
    let class = |letter: char| match letter {
        _ if letter.is_alphanumeric() || "-_./~".contains(letter) => Class::Word,
        _ if letter.is_whitespace() => Class::Blank,
        _ => Class::Sign,
    };
    let mut tokens: Vec<String> = Vec::new();
    let mut last = None;
    for letter in text.chars() {
        let now = class(letter);
        match tokens.last_mut() {
            Some(token) if last == Some(now) && now != Class::Sign => token.push(letter),
            _ => tokens.push(letter.to_string()),
        }
        last = Some(now);
    }
    tokens
}

/// Applies a few random edits. `word` provides replacements for words: a path, an option, a piece of a command.
pub fn mutate(text: &str, dice: &mut Dice, word: &mut dyn FnMut(&mut Dice) -> String) -> String {
    let mut tokens = tokens(text);
    for _ in 0..=dice.below(3) {
        let at = dice.below(tokens.len());
        let Some(token) = tokens.get(at).cloned() else { break };
        match dice.below(12) {
            0 => drop(tokens.remove(at)),
            1 => tokens.insert(at, token),
            2 => {
                let other = dice.below(tokens.len());
                tokens.swap(at, other);
            }
            3 | 4 => {
                let places: Vec<usize> = token.char_indices().map(|(place, _)| place).collect();
                let place = dice.pick(&places).copied().unwrap_or(0);
                let (one, rest) = token.split_at_checked(place).unwrap_or(("", &token));
                set(&mut tokens, at, format!("{one}{}{rest}", dice.word(&INSERTED)));
            }
            5 => {
                let blanks: Vec<usize> = positions(&tokens, |token| token.trim().is_empty());
                if let Some(blank) = dice.pick(&blanks) {
                    set(&mut tokens, *blank, dice.word(&BLANKS).to_owned());
                }
            }
            6..=8 => {
                let words: Vec<usize> = positions(&tokens, |token| token.contains('/') || token.contains('.'));
                let place = dice.pick(&words).copied().unwrap_or(at);
                let replaced = word(dice);
                set(&mut tokens, place, replaced);
            }
            9 => {
                let added = word(dice);
                tokens.insert(at, format!(" {added} "));
            }
            10 => {
                let added = word(dice);
                tokens.push(format!(" {added}"));
            }
            _ => tokens.truncate(at.max(1)),
        }
    }
    tokens.concat()
}

fn positions(tokens: &[String], wanted: impl Fn(&str) -> bool) -> Vec<usize> {
    tokens.iter().enumerate().filter(|(_, token)| wanted(token)).map(|(at, _)| at).collect()
}

fn set(tokens: &mut [String], at: usize, text: String) {
    if let Some(token) = tokens.get_mut(at) {
        *token = text;
    }
}

#[cfg(test)]
mod tests {
    use super::tokens;

    #[test]
    fn tokens_are_the_text() {
        let text = "rm -f  'src/a b' && echo $x\n";
        assert_eq!(tokens(text).concat(), text);
        assert!(tokens(text).contains(&"src/a".to_owned()));
    }
}
