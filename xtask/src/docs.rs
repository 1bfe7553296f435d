//! Checks the Markdown pages: every link works, and the index lists every page.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::repository::{command, root};

/// Checks the links of every Markdown file in the repository, and that `docs/README.md` lists every page in its folder.
pub(crate) fn check() -> Result<()> {
    let pages = pages()?;
    ensure!(pages.len() > 5, "only {} pages were found; this check would pass anything", pages.len());
    let mut faults = Vec::new();
    let mut links = 0;
    for page in &pages {
        let text = fs::read_to_string(root().join(page)).with_context(|| format!("reading {}", page.display()))?;
        for target in targets(&text) {
            links += 1;
            if let Some(fault) = fault(page, &text, target) {
                faults.push(format!("{}: {fault}", page.display()));
            }
        }
    }
    faults.extend(missing_from_index(&pages)?);
    ensure!(faults.is_empty(), "links in the docs:\n  {}", faults.join("\n  "));
    println!("docs: {} pages, {links} links, all valid", pages.len());
    Ok(())
}

/// The Markdown files that are in the repository or could be added to it.
fn pages() -> Result<Vec<PathBuf>> {
    let listed = command("git", &["ls-files", "--cached", "--others", "--exclude-standard", "*.md"]).output()?;
    ensure!(listed.status.success(), "git ls-files: {}", String::from_utf8_lossy(&listed.stderr));
    let listed = String::from_utf8_lossy(&listed.stdout);
    Ok(listed.lines().map(PathBuf::from).filter(|page| root().join(page).exists()).collect())
}

fn missing_from_index(pages: &[PathBuf]) -> Result<Vec<String>> {
    let text = fs::read_to_string(root().join("docs/README.md")).context("reading docs/README.md")?;
    let named: BTreeSet<PathBuf> = targets(&text).map(|target| Path::new("docs").join(without_anchor(target))).collect();
    let is_missing = |page: &&PathBuf| page.starts_with("docs") && !page.ends_with("docs/README.md") && !named.contains(*page);
    Ok(pages.iter().filter(is_missing).map(|page| format!("docs/README.md does not list {}", page.display())).collect())
}

/// The link targets in a text, outside of code. `[text](target)` is the only form in use.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    let is_prose = |(number, line): &(usize, &str)| !is_fenced(text, *number) && !line.trim_start().starts_with("```");
    text.lines().enumerate().filter(is_prose).flat_map(|(_, line)| {
        let outside_code = line.split('`').step_by(2);
        outside_code.flat_map(|part| part.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target)))
    })
}

/// Whether a line is in a code block.
fn is_fenced(text: &str, number: usize) -> bool {
    text.lines().take(number).filter(|line| line.trim_start().starts_with("```")).count() % 2 == 1
}

fn without_anchor(target: &str) -> &str {
    target.split('#').next().unwrap_or(target)
}

/// The problem with a link, if there is one.
fn fault(page: &Path, text: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let at = root().join(page).parent()?.join(path);
    if !path.is_empty() && !at.exists() {
        return Some(format!("`{target}` does not exist"));
    }
    let anchor = anchor?;
    let there = if path.is_empty() { text.to_owned() } else { fs::read_to_string(&at).ok()? };
    let has_heading = there.lines().filter(|line| line.starts_with('#')).any(|line| slug(line) == anchor);
    (!has_heading).then(|| format!("`{target}` is not a heading"))
}

/// The anchor of a heading.
fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn every_page_is_named_and_every_link_leads_somewhere() {
        check().unwrap();
    }

    #[test]
    fn links_are_found_outside_of_code() {
        let text = "See [one](a.md) and [two](b.md#part).\n\n```\n[no](c.md)\n```\n`[no](d.md)` [three](e.md)\n";
        assert_eq!(targets(text).collect::<Vec<_>>(), ["a.md", "b.md#part", "e.md"]);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_noticed() {
        let page = Path::new("docs/README.md");
        for (target, is_fine) in [
            ("ledger.md", true),
            ("../README.md", true),
            ("https://example.org/x", true),
            ("#a-heading", true),
            ("../README.md#allow-deny", true),
            ("no_such_page.md", false),
            ("#no-such-heading", false),
            ("../README.md#no-such-heading", false),
        ] {
            let fault = fault(page, "## A heading\n", target);
            assert_eq!(fault.is_none(), is_fine, "{target}: {fault:?}");
        }
    }
}
