//! Staged faults: what the four tools name first.

use super::common::assert_golden;
use super::common::faults::faults;
use super::text;
use crate::top::model::Model;
use crate::top::tests::PLAIN;
use crate::top::views::DashboardView;
use telemetry::Period;
use telemetry::explain::{self, explain};
use telemetry::health::{self, Health};
use telemetry::metrics::{self, Format};
use units::Interval;

/// The rule that `explain` begins with.
fn explained(period: &Period<'_>, port: &str) -> String {
    let page = explain::render(&explain(period, port).unwrap());
    page.split(" (").next().unwrap_or_default().to_owned()
}

/// The rule that the first line of `show roce` ends with.
fn shown(period: &Period<'_>) -> String {
    let page = health::render(&Health::of(period, None));
    page.lines().next().and_then(|line| line.rsplit(": ").next()).unwrap_or_default().to_owned()
}

/// The word behind the verdict in the second line of `top`, which the first line below its health table repeats.
fn on_top(model: &Model) -> String {
    let page = text(model, 80, PLAIN);
    let named = page.lines().nth(1).and_then(|line| line.split_whitespace().nth(1)).unwrap_or_default();
    let below = page.lines().skip_while(|line| !line.starts_with("---")).nth(1).unwrap_or_default();
    assert_eq!(named, below, "{page}");
    named.to_owned()
}

/// The rule of the metric behind the alerts whose value is 1.
fn alerted(period: &Period<'_>) -> String {
    let page = metrics::encode(period, Format::OpenMetrics);
    let first = page.lines().find(|it| it.starts_with("longspan_finding{") && it.ends_with(" 1"));
    first.and_then(|it| it.split("rule=\"").nth(1)?.split('"').next()).unwrap_or_default().to_owned()
}

#[test]
fn four_tools_name_each_staged_fault_first() {
    let mut table = format!("{:34}{:21}{:21}{:21}{}\n", "fault", "explain", "show roce", "top", "alerts");
    for fault in faults() {
        let period = Period::between(&fault.before, &fault.now).unwrap();
        let mut model = Model::new(DashboardView::Health, None, Interval::from_secs(1));
        model.see(fault.before.clone());
        model.see(fault.now.clone());
        let named = [explained(&period, fault.port), shown(&period), on_top(&model), alerted(&period)];
        assert_eq!(named, [fault.rule; 4], "{}", fault.name);
        let [explained, shown, on_top, alerted] = named;
        table += &format!("{:34}{explained:21}{shown:21}{on_top:21}{alerted}\n", fault.name);
    }
    println!("{table}");
    assert_golden("faults.txt", &table);
}
