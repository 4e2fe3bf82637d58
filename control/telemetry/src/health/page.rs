//! `show roce`, for people.

use super::verdict::{Cause, ClassHealth, Health};
use crate::table::{Columns, Table};
use textwrap::WordSplitter;
use units::human::{bytes, duration, percent, thousands};

/// The longest line of prose, with its indentation: that of a terminal.
const WIDTH: usize = 80;

/// The page: a verdict with its cause, a row for each class, and the findings, the cause first.
pub fn render(health: &Health) -> String {
    let since = if health.since_start { " since the start" } else { "" };
    let verdict = health.verdict.name().to_uppercase();
    let over = duration(health.over_ns);
    let cause = health.cause.as_ref().map_or_else(String::new, |it| format!(": {}", it.finding.rule));
    let mut page = String::new();
    wrap(
        &mut page,
        &format!("Gateway \"{}\" is {verdict} over {over}{since}{cause}", health.gateway),
        "",
        "  ",
    );
    for table in [pauses(health), levels(health)].iter().filter(|it| !it.is_empty()) {
        page.push('\n');
        table.write_to(&mut page);
    }
    let findings = health.ranked();
    if findings.is_empty() {
        page.push_str("\nNo rule finds anything wrong.\n");
    }
    for (finding, classes) in findings {
        page.push('\n');
        write_cause(&mut page, &Cause::new(finding, &classes));
    }
    page
}

/// A finding: its rule and where that holds, what was seen, what to do next.
pub fn write_cause(page: &mut String, Cause { finding, at }: &Cause) {
    let verdict = format!("{} ({})", finding.rule, finding.verdict.name());
    let heading: Vec<_> = std::iter::once(&verdict).chain(at).map(String::as_str).collect();
    wrap(page, &heading.join(", "), "", "  ");
    wrap(page, &finding.found, "  ", "  ");
    wrap(page, &format!("Next: {}", finding.next), "  ", "  ");
}

fn pauses(health: &Health) -> Table {
    let columns: Columns<'_, &ClassHealth> = &[
        ("port", |it| it.port.clone()),
        ("prio", |it| it.priority.to_string()),
        ("verdict", |it| it.verdict.name().into()),
        ("we pause", |it| percent(it.pauses_sent_share)),
        ("peer pauses", |it| percent(it.pauses_received_share)),
        ("marked", |it| thousands(it.marked)),
    ];
    Table::of(3, columns, &health.classes)
}

fn levels(health: &Health) -> Table {
    let columns: Columns<'_, &ClassHealth> = &[
        ("port", |it| it.port.clone()),
        ("prio", |it| it.priority.to_string()),
        ("in", |it| bytes(it.in_bytes)),
        ("out", |it| bytes(it.out_bytes)),
        ("inside", |it| bytes(it.occupancy_bytes)),
        ("headroom", |it| bytes(it.headroom_used_bytes)),
        ("of", |it| bytes(it.headroom_bytes)),
    ];
    Table::of(2, columns, &health.classes)
}

/// Writes `text` in lines of at most [`WIDTH`], the first indented by `first` and the others by `others`.
fn wrap(page: &mut String, text: &str, first: &str, others: &str) {
    let options = textwrap::Options::new(WIDTH).initial_indent(first).subsequent_indent(others);
    let options = options.word_splitter(WordSplitter::NoHyphenation).break_words(false);
    page.push_str(&textwrap::fill(text, options));
    page.push('\n');
}
