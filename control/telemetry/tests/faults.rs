//! Staged faults: which cause explain, `show roce` and the metrics of the alerts name first.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::faults::faults;
use telemetry::Period;
use telemetry::explain::{explain, render};
use telemetry::health::{self, Health};
use telemetry::metrics::{self, Format};

#[test]
fn each_staged_fault_is_named_first() {
    for fault in faults() {
        let period = Period::between(&fault.before, &fault.now).unwrap();
        let explained = explain(&period, fault.port).unwrap();
        let (page, health) = (render(&explained), Health::of(&period, None));
        let roce = health::render(&health);
        let named = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        assert!(page.starts_with(&format!("{} (", fault.rule)), "{}: {page}", fault.name);
        assert!(named(&roce).ends_with(&format!(": {}", fault.rule)), "{}: {roce}", fault.name);
        let metrics = metrics::encode(&period, Format::OpenMetrics);
        let first = metrics.lines().find(|it| it.starts_with("longspan_finding{") && it.ends_with(" 1"));
        assert!(first.is_some_and(|it| it.contains(&format!("rule=\"{}\"", fault.rule))), "{}", fault.name);
    }
}
