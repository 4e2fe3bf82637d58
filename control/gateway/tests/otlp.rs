//! `[control.otlp]`, in a build that can push metrics.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

use config::{Gateway, diff, not_live, parse, render};
use units::Interval;

fn gateway(table: &str) -> Gateway {
    let ports = "[[port]]\nname = \"a\"\nrate = \"1G\"\n[[port]]\nname = \"b\"\nrate = \"1G\"\n";
    parse(&format!("{table}\n{ports}"), "gw.toml").unwrap()
}

#[test]
fn the_table_has_defaults_and_is_written_so_that_it_is_read_again() {
    let it = gateway("[control.otlp]\nendpoint = \"http://127.0.0.1:4318\"");
    assert!(it.warnings.is_empty());
    let otlp = it.runtime.control.otlp.clone().unwrap();
    assert_eq!(otlp.endpoint.to_string(), "http://127.0.0.1:4318/v1/metrics");
    assert_eq!((otlp.interval, otlp.timeout), (Interval::from_secs(10), Interval::from_secs(5)));
    let again = parse(&render(&it), "gw.toml").unwrap();
    assert_eq!(again.runtime.control, it.runtime.control);
}

#[test]
fn a_collector_on_another_machine_is_a_warning() {
    let it = gateway("[control.otlp]\nendpoint = \"http://collector:4318\"");
    assert_eq!(
        it.warnings[0].to_string(),
        "gw.toml:2:12: warning: control.otlp.endpoint: the metrics go to collector, neither encrypted nor \
         authenticated; let a collector on this machine pass them on"
    );
}

#[test]
fn a_reload_changes_none_of_it() {
    let (without, with) = (gateway(""), gateway("[control.otlp]\nendpoint = \"http://127.0.0.1:1\""));
    assert!(!diff(&without, &with).is_empty());
    assert!(!not_live(&without, &without, &with).is_empty());
}
