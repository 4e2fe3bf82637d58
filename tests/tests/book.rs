//! The book: its list has every page, and every link leads to a page and a heading that are there.

#[allow(dead_code, reason = "other tests read Rust")]
mod source_tree;

use source_tree::{files_under, root, shown};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The prose of a page: its lines without code blocks and comments.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !is_fence && !in_code && !line.starts_with("    ")
    })
}

/// `line` without what stands between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// The targets of the links in a page to files and headings of this repository.
fn targets(text: &str) -> Vec<String> {
    let lines: Vec<_> = prose(text).map(without_code).collect();
    let all = lines.join("\n");
    let targets = all.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://")).map(str::to_owned).collect()
}

/// The anchor that GitHub and mdBook give to a heading.
fn anchor(heading: &str) -> String {
    // A link is shown as its text.
    let shown: String =
        heading.split("](").map(|part| part.split_once(')').map_or(part, |(_, rest)| rest)).collect();
    let shown = if heading.contains("](") { shown } else { heading.to_owned() };
    let kept = shown.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase()
}

/// The anchors of a page. A heading that comes again has a number behind it.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen = BTreeMap::new();
    let headings = prose(text).filter(|line| line.starts_with('#'));
    let mut numbered = |heading: &str| {
        let anchor = anchor(heading.trim_start_matches('#'));
        let before = seen.entry(anchor.clone()).or_insert(0);
        *before += 1;
        if *before == 1 { anchor } else { format!("{anchor}-{}", *before - 1) }
    };
    headings.map(&mut numbered).collect()
}

fn pages() -> Vec<PathBuf> {
    files_under(root(), |path| path.extension().is_some_and(|extension| extension == "md"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("a page is UTF-8")
}

#[test]
fn the_list_of_the_book_has_every_page_of_docs_once() {
    let docs = root().join("docs");
    let listed = targets(&read(&docs.join("SUMMARY.md")));
    let once: BTreeSet<_> = listed.iter().cloned().collect();
    assert_eq!(once.len(), listed.len(), "docs/SUMMARY.md lists a page twice");
    let name = |path: &Path| path.strip_prefix(&docs).ok().map(|name| name.display().to_string());
    let written = pages().iter().filter_map(|page| name(page)).collect::<BTreeSet<_>>();
    let missing: Vec<_> =
        written.iter().filter(|page| *page != "SUMMARY.md" && !once.contains(*page)).collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md lacks {missing:?}");
}

#[test]
fn every_line_of_the_list_says_what_its_page_is_for() {
    let list = read(&root().join("docs/SUMMARY.md"));
    for line in list.lines().filter(|line| line.starts_with("- ")) {
        assert!(
            line.split_once("): ").is_some_and(|(_, reason)| reason.contains(' ')),
            "docs/SUMMARY.md: {line}"
        );
    }
}

#[test]
fn every_link_leads_to_a_file_and_a_heading_of_it() {
    let mut broken = Vec::new();
    for page in pages() {
        let text = read(&page);
        let directory = page.parent().expect("a file is in a directory");
        for target in targets(&text) {
            let (file, heading) = target.split_once('#').unwrap_or((&target, ""));
            let file = if file.is_empty() { page.clone() } else { directory.join(file) };
            let is_page = file.extension().is_some_and(|extension| extension == "md");
            if !file.exists() || (!heading.is_empty() && is_page && !anchors(&read(&file)).contains(heading))
            {
                broken.push(format!("{}: {target}", shown(&page)));
            }
        }
    }
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
}

#[test]
fn anchors_and_links_are_those_that_readers_of_markdown_see() {
    let page =
        "# `[port.lscc]`, and *more*\n## A [link](b.md#c) here\n## Twice\n## Twice\n```\n# code\n```\n";
    let expected = ["portlscc-and-more", "a-link-here", "twice", "twice-1"].map(str::to_owned);
    assert_eq!(anchors(page), BTreeSet::from(expected));
    let text =
        "see [a](a.md#b), `[no](no.md)`\n[two\nlines](b.md) and [far](https://a.example)\n    [code](c.md)\n";
    assert_eq!(targets(text), ["a.md#b", "b.md"]);
}
