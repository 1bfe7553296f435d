//! The command line for attacks on the gate, which `cargo xtask fuzz` uses.

use std::process::ExitCode;

#[cfg(not(unix))]
fn main() -> ExitCode {
    eprintln!("attack: this needs Linux, because commands run in a namespace");
    ExitCode::FAILURE
}

#[cfg(unix)]
fn main() -> ExitCode {
    match unix::run() {
        Ok(code) => code,
        Err(fault) => {
            eprintln!("attack: {fault:#}");
            ExitCode::from(2)
        }
    }
}

#[cfg(unix)]
mod unix {
    use std::env;
    use std::process::ExitCode;
    use std::time::{Instant, SystemTime};

    use anyhow::{Context as _, Result, bail};
    use tollgate_attack::case::Case;
    use tollgate_attack::generate::Generator;
    use tollgate_attack::trial::{Bench, Severity};
    use tollgate_attack::world::World;
    use tollgate_attack::{campaign, generate, inside, sandbox};

    const HELP: &str = "\
attack fuzz [--seed N] [--count N]   try generated commands against the gate; findings are printed as rows for attacks.jsonl
attack show [--seed N] [--count N]   only print the commands
attack rows                          try the table of known attacks, and print the result of each row
attack probe                         report whether a namespace can be created here: exit 0 if so, 3 if not
attack try [--world plain|links|traps] COMMAND...   try one case; each argument is one call
";

    pub(super) fn run() -> Result<ExitCode> {
        let words: Vec<String> = env::args().skip(1).collect();
        let (Some(first), rest) = (words.first(), words.get(1..).unwrap_or_default()) else {
            print!("{HELP}");
            return Ok(ExitCode::SUCCESS);
        };
        match first.as_str() {
            sandbox::INSIDE => inside::serve().map(|()| ExitCode::SUCCESS),
            "fuzz" => fuzz(rest),
            "show" => show(rest),
            "rows" => run_rows(),
            "probe" => Ok(probe()),
            "try" => attempt(rest),
            other => bail!("`{other}` is not a command; there are:\n{HELP}"),
        }
    }

    fn parse_numbers(words: &[String]) -> Result<(u64, u64)> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let (mut seed, mut count) = (now.as_secs(), 20_000);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut number = || -> Result<u64> {
                let value = words.next().with_context(|| format!("`{word}` needs a number"))?;
                value.parse().with_context(|| format!("`{value}` is not a number"))
            };
            match word.as_str() {
                "--seed" => seed = number()?,
                "--count" => count = number()?,
                other => bail!("`{other}` is not an option; there are --seed and --count"),
            }
        }
        Ok((seed, count))
    }

    fn fuzz(words: &[String]) -> Result<ExitCode> {
        let (seed, count) = parse_numbers(words)?;
        let generator = Generator::default();
        let repertoire = generator.grammar().count();
        println!(
            "seed {seed}, {count} commands from a repertoire of {repertoire} pieces and {} attacks",
            generator.attacks.len()
        );
        let runner = env::current_exe()?;
        let since = Instant::now();
        let tally = campaign::run_generated(&runner, &generator, seed, count)?;
        println!("{} ({} s)", tally.summary(), since.elapsed().as_secs());
        let mut bench = Bench::open(&runner)?;
        let silent = tally.render_findings(Severity::Silent, Some(&mut bench))?;
        let in_sight = tally.render_findings(Severity::InPlainSight, Some(&mut bench))?;
        println!("\nSilent changes:\n{silent}\nChanges in plain sight, allowed as a program:\n{in_sight}");
        println!("seed {seed}; {}", tally.summary());
        let clean = silent.is_empty() && in_sight.is_empty();
        Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn probe() -> ExitCode {
        match sandbox::refusal() {
            None => ExitCode::SUCCESS,
            Some(refusal) => {
                println!("{refusal}");
                ExitCode::from(3)
            }
        }
    }

    fn run_rows() -> Result<ExitCode> {
        let rows = generate::attacks();
        let tally = campaign::run_table(&env::current_exe()?, &rows)?;
        for finding in &tally.findings {
            println!("{:?} {} {}: {}", finding.severity, finding.case.id, finding.code, finding.changed.join(", "));
        }
        println!("{}", tally.summary());
        let clean = tally.findings_of(Severity::Silent).is_empty() && tally.findings_of(Severity::InPlainSight).is_empty();
        Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn show(words: &[String]) -> Result<ExitCode> {
        let (seed, count) = parse_numbers(words)?;
        let generator = Generator::default();
        (0..count).for_each(|number| println!("{}", generator.case(seed, number).row()));
        Ok(ExitCode::SUCCESS)
    }

    fn attempt(words: &[String]) -> Result<ExitCode> {
        let mut case = Case::single("by hand", "");
        let calls = match words {
            [option, world, calls @ ..] if option == "--world" => {
                case.world = World::ALL
                    .into_iter()
                    .find(|known| format!("{known:?}").eq_ignore_ascii_case(world))
                    .with_context(|| format!("there is no world `{world}`; there are plain, links and traps"))?;
                calls
            }
            calls => calls,
        };
        case.calls = calls.to_vec();
        let outcome = Bench::open(&env::current_exe()?)?.attempt(&case)?;
        println!("{outcome:#?}");
        Ok(if outcome.finding.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
