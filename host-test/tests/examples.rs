//! The samples and the projects created by `tollgate new-hook` build and pass their own cases, in every language.
//!
//! If the tools of a language are not available, its tests are shown as ignored.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

#[cfg(unix)]
mod built;
#[cfg(unix)]
mod skip;

#[cfg(unix)]
fn main() {
    use built::{Language, SAMPLES, build, output_text, pack, sample, sh, tools};
    use libtest_mimic::{Arguments, Failed, Trial};
    use skip::report_skip;
    use std::path::Path;

    fn pass(built: &Path, project: &Path) -> Result<(), Failed> {
        let output = sh(&format!("tollgate test-hook {} cases.jsonl", built.display()), project);
        let told = output_text(&output);
        if output.status.success() && told.contains("ok") { Ok(()) } else { Err(told.into()) }
    }

    fn try_sample(name: &str, language: Language) -> Result<(), Failed> {
        pass(&sample(name, language)?, &built::repository().join("examples").join(name))
    }

    fn try_new(language: Language) -> Result<(), Failed> {
        let word = format!("{language:?}").to_lowercase();
        let folder = tempfile::tempdir().unwrap();
        let name = format!("first-{word}");
        let output = sh(&format!("tollgate new-hook {name} --lang {word}"), folder.path());
        if !output.status.success() {
            return Err(output_text(&output).into());
        }
        let project = folder.path().join(&name);
        let built = build(&project, language, &name)?;
        pack(&built, &project)?;
        pass(&built, &project)
    }

    let mut arguments = Arguments::from_args();
    // They share what they build.
    arguments.test_threads = Some(1);
    let mut trials = Vec::new();
    for language in [Language::Rust, Language::Js, Language::Python] {
        let missing = if arguments.list { None } else { tools(language).err() };
        if let Some(why) = &missing {
            report_skip(&format!("the tools for hooks in {language:?} cannot be had: {why}"));
        }
        let ignored = missing.is_some();
        for (name, _) in SAMPLES.into_iter().filter(|(_, of)| *of == language) {
            trials.push(Trial::test(format!("samples/{name}"), move || try_sample(name, language)).with_ignored_flag(ignored));
        }
        trials.push(Trial::test(format!("new-hook/{language:?}"), move || try_new(language)).with_ignored_flag(ignored));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

#[cfg(not(unix))]
fn main() {
    eprintln!("hooks are built by a shell and compiled here, so their tests need Unix");
}
