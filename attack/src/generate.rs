//! Generates cases from the repertoire, the table of known attacks and ordinary commands.

use crate::case::Case;
use crate::dice::Dice;
use crate::grammar::{Grammar, quote};
use crate::mutate::mutate;
use crate::ordinary;
use crate::target::Target;
use crate::world::World;

/// Names in the repertoire that depend on the case's target.
pub const GIVEN: [&str; 7] = ["P", "T", "R", "X", "Tdir", "Tname", "ordinary"];

/// Generates cases.
pub struct Generator {
    grammar: Grammar,
    /// Known attacks.
    pub attacks: Vec<Case>,
    /// Ordinary commands that developers run.
    pub ordinary: Vec<String>,
}

impl Default for Generator {
    fn default() -> Self {
        Self {
            grammar: Grammar::parse(include_str!("../repertoire.txt")),
            attacks: attacks(),
            ordinary: ordinary::commands(include_str!("../../fixtures/ordinary_commands.txt")),
        }
    }
}

/// The table of known attacks. Invalid lines are skipped; a test reports them.
pub fn attacks() -> Vec<Case> {
    ATTACKS.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The table's text.
pub const ATTACKS: &str = include_str!("../attacks.jsonl");

impl Generator {
    /// The repertoire.
    pub fn grammar(&self) -> &Grammar {
        &self.grammar
    }

    /// The case with this number in the campaign of this seed.
    pub fn case(&self, seed: u64, number: u64) -> Case {
        let mut dice = Dice::new(seed, number);
        let dice = &mut dice;
        let target = Target::random(dice);
        let mut case = match dice.below(100) {
            0..=44 => self.compose_case("top", &target, dice),
            45..=54 => self.compose_case("traps", &target, dice),
            55..=61 => self.compose_case("links", &target, dice),
            62..=67 => self.compose_case("sequence", &target, dice),
            68..=77 => self.known_case(&target, dice),
            78..=94 => self.ordinary_case(&target, dice),
            _ => self.splice_cases(&target, dice),
        };
        if dice.once_in(6)
            && let Some(call) = case.calls.last_mut()
        {
            *call = mutate(call, dice, &mut |dice| self.random_piece(&target, dice));
            case.family.push_str(", mutated");
        }
        // Other shells parse some of it differently.
        if dice.once_in(8) {
            dice.word(&["dash", "sh"]).clone_into(&mut case.shell);
        }
        case.id = format!("{seed}-{number}");
        case
    }

    /// A text for a section of the repertoire.
    pub fn text(&self, section: &str, target: &Target, dice: &mut Dice) -> String {
        self.grammar.expand(section, dice, &mut |name, dice| self.expand_placeholder(name, target, dice))
    }

    fn expand_placeholder(&self, name: &str, target: &Target, dice: &mut Dice) -> Option<String> {
        Some(match name {
            "P" => target.random_spelling(dice),
            "T" => {
                if target.plain().starts_with('~') {
                    target.absolute()
                } else {
                    target.plain().to_owned()
                }
            }
            "R" => target.path_from_scope(),
            "X" => target.absolute(),
            "Tdir" => target.folder().to_owned(),
            "Tname" => target.name().to_owned(),
            "ordinary" => dice.pick(&self.ordinary).cloned().unwrap_or_default(),
            _ => return None,
        })
    }

    fn compose_case(&self, section: &str, target: &Target, dice: &mut Dice) -> Case {
        let alternatives = self.grammar.section(section);
        let alternative = dice.pick(alternatives).cloned().unwrap_or_default();
        let text = self.grammar.fill(&alternative, dice, &mut |name, dice| self.expand_placeholder(name, target, dice));
        let family: String = format!("{section}: {alternative}").chars().take(60).collect();
        let mut case = Case::single(&family.replace('\n', "⏎"), "");
        case.calls = text.split('⏭').map(|call| call.trim_matches(' ').to_owned()).collect();
        case.world = match section {
            "traps" => World::Traps,
            "links" => World::Links,
            "sequence" => *dice.pick(&World::ALL).unwrap_or(&World::Plain),
            _ if dice.once_in(8) => World::Links,
            _ => World::Plain,
        };
        case
    }

    /// A known attack with another target or wrapper.
    fn known_case(&self, target: &Target, dice: &mut Dice) -> Case {
        let Some(known) = dice.pick(&self.attacks) else { return self.compose_case("top", target, dice) };
        let mut case = known.clone();
        case.family = format!("known {}", case.id);
        if dice.once_in(2) {
            let to = target.random_spelling(dice);
            case.calls.iter_mut().for_each(|call| *call = call.replace("src/billing/pay.ts", &to));
        }
        if dice.once_in(3)
            && let Some(call) = case.calls.last_mut()
        {
            *call = self.wrap_command(call, target, dice);
        }
        case
    }

    fn wrap_command(&self, command: &str, target: &Target, dice: &mut Dice) -> String {
        let Some(around) = dice.pick(self.grammar.section("wrap")) else { return command.to_owned() };
        let around = around.replace("«cmd", "«inner");
        self.grammar.fill(&around, dice, &mut |name, dice| match name {
            "inner" => Some(command.to_owned()),
            name => self.expand_placeholder(name, target, dice),
        })
    }

    /// An ordinary command with an unusual insertion.
    fn ordinary_case(&self, target: &Target, dice: &mut Dice) -> Case {
        let command = dice.pick(&self.ordinary).cloned().unwrap_or_default();
        let text = match dice.below(10) {
            0 => self.wrap_command(&command, target, dice),
            1 => format!("{}{}{command}", self.text("act", target, dice), dice.word(&["; ", " && ", " || ", "\n", " | ", " & "])),
            2 => format!("{command}{}{}", dice.word(&["; ", " && ", " || ", "\n", " | ", " & "]), self.text("act", target, dice)),
            3 => format!("{} {command}", self.text("assignment", target, dice)),
            _ => mutate(&command, dice, &mut |dice| self.random_piece(target, dice)),
        };
        let family: String = format!("everyday: {command}").chars().take(60).collect();
        Case::single(&family.replace('\n', "⏎"), text)
    }

    fn splice_cases(&self, target: &Target, dice: &mut Dice) -> Case {
        let mut one = self.compose_case("top", target, dice);
        let other = self.compose_case("top", target, dice);
        let between = dice.word(&["; ", " && ", " || ", "\n", " | ", " & ", " $(", "\n#", " <<< ", " > "]);
        one.calls = vec![format!("{}{between}{}", one.calls.concat(), other.calls.concat())];
        one.family = format!("spliced: {} + {}", one.family, other.family);
        one
    }

    fn random_piece(&self, target: &Target, dice: &mut Dice) -> String {
        match dice.below(8) {
            0..=2 => target.random_spelling(dice),
            3 => self.text("option", target, dice),
            4 => quote(&target.random_spelling(dice), "d"),
            5 => self.text("act", target, dice),
            6 => format!("$({})", self.text("act", target, dice)),
            _ => self.text("snippet", target, dice),
        }
    }
}
