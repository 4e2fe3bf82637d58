//! `show roce`, for people.

use super::verdict::{ClassHealth, Finding, Health};
use crate::table::{Columns, Table, bytes, duration, thousands};

/// The longest line of prose.
const WIDTH: usize = 100;

/// The page: a verdict, a row for each class, and the findings, worst first.
pub fn render(health: &Health) -> String {
    if health.classes.is_empty() {
        return "No priority is lossless.\n".into();
    }
    let since = if health.since_start { " since the start" } else { "" };
    let verdict = health.verdict.name().to_uppercase();
    let mut page = format!(
        "Gateway \"{}\" is {verdict}: its lossless classes over {}{since}\n\n",
        health.gateway,
        duration(health.over_ns)
    );
    classes(health).write_to(&mut page);
    let findings = grouped(health);
    if findings.is_empty() {
        page.push_str("\nNo rule finds anything wrong.\n");
    }
    for (finding, places) in findings {
        page.push_str(&format!("\n{} ({}), {}\n", finding.rule, finding.verdict.name(), places.join(", ")));
        wrap(&mut page, &finding.found);
        wrap(&mut page, &format!("Next: {}", finding.next));
    }
    page
}

fn classes(health: &Health) -> Table {
    let columns: Columns<'_, &ClassHealth> = &[
        ("port", |it| it.port.clone()),
        ("prio", |it| it.priority.to_string()),
        ("verdict", |it| it.verdict.name().into()),
        ("in", |it| bytes(it.in_bytes)),
        ("out", |it| bytes(it.out_bytes)),
        ("inside", |it| bytes(it.occupancy_bytes)),
        ("headroom", |it| bytes(it.headroom_used_bytes)),
        ("of", |it| bytes(it.headroom_bytes)),
        ("we pause", |it| percent(it.pauses_sent_share)),
        ("peer pauses", |it| percent(it.pauses_received_share)),
        ("marked", |it| thousands(it.marked)),
    ];
    Table::of(3, columns, &health.classes)
}

/// Each finding once, with the classes that have it, worst first.
fn grouped(health: &Health) -> Vec<(&Finding, Vec<String>)> {
    let mut groups: Vec<(&Finding, Vec<String>)> = Vec::new();
    for class in &health.classes {
        let place = format!("{} priority {}", class.port, class.priority);
        for finding in &class.findings {
            match groups.iter_mut().find(|(known, _)| *known == finding) {
                Some((_, places)) => places.push(place.clone()),
                None => groups.push((finding, vec![place.clone()])),
            }
        }
    }
    groups.sort_by_key(|(finding, _)| std::cmp::Reverse(finding.verdict));
    groups
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Writes `text` in lines of at most [`WIDTH`], indented.
fn wrap(page: &mut String, text: &str) {
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.len() + 1 + word.len() > WIDTH {
            page.push_str(&format!("  {line}\n"));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    page.push_str(&format!("  {line}\n"));
}
