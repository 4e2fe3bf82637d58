//! The Grafana dashboard and the alert rules ask for metrics that there are.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::in_crate;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The columns of a dashboard.
const COLUMNS: u64 = 24;

/// Each metric of `docs/metrics.md`, which is generated, with its labels.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let page = std::fs::read_to_string(in_crate("../../docs/metrics.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| `longspan_"));
    rows.map(|row| {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let plain = |text: &str| text.trim_matches('`').to_owned();
        (plain(cells[1]), cells[3].split(", ").map(plain).filter(|it| !it.is_empty()).collect())
    })
    .collect()
}

fn dashboard() -> Value {
    let text = std::fs::read_to_string(in_crate("../../config/grafana/longspan.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The panels of the dashboard, without its rows.
fn panels(dashboard: &Value) -> impl Iterator<Item = &Value> {
    dashboard["panels"].as_array().unwrap().iter().filter(|it| it["type"] != "row")
}

fn title(panel: &Value) -> &str {
    panel["title"].as_str().unwrap()
}

fn queries(dashboard: &Value) -> Vec<String> {
    let targets = panels(dashboard).flat_map(|it| it["targets"].as_array().unwrap());
    targets.map(|it| it["expr"].as_str().unwrap().to_owned()).collect()
}

/// The expressions of the alert rules, one of which may take several lines.
fn alerts() -> Vec<String> {
    let text = std::fs::read_to_string(in_crate("../../config/prometheus/longspan.rules.yml")).unwrap();
    let rules = text.split("      - alert: ").skip(1);
    rules.map(|rule| rule.split("        labels:").next().unwrap().to_owned()).collect()
}

/// The words of an expression: names of metrics, labels and functions.
fn words(expression: &str) -> impl Iterator<Item = &str> {
    expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

/// The metrics of an expression, by their names in the docs.
fn metrics(expression: &str) -> impl Iterator<Item = &str> {
    let names = words(expression).filter(|it| it.starts_with("longspan_"));
    names.map(|name| name.strip_suffix("_bucket").unwrap_or(name))
}

/// The metrics of an expression with the labels that it selects them by: `name{label="value"}`.
fn selected(expression: &str) -> impl Iterator<Item = (&str, Vec<&str>)> {
    expression.match_indices("longspan_").filter_map(move |(start, _)| {
        let rest = &expression[start..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
        let name = rest[..end].strip_suffix("_bucket").unwrap_or(&rest[..end]);
        let selectors = rest[end..].strip_prefix('{')?.split('}').next()?;
        // Labels stand before a sign; values are in quotes, which split them off.
        let outside = selectors.split('"').step_by(2).map(|it| it.trim_matches([',', '=', '~', '!', ' ']));
        Some((name, outside.filter(|it| !it.is_empty()).collect()))
    })
}

#[test]
fn every_query_and_alert_asks_for_metrics_and_labels_that_there_are() {
    let documented = documented();
    for expression in queries(&dashboard()).into_iter().chain(alerts()) {
        for name in metrics(&expression) {
            assert!(documented.contains_key(name), "{name} in {expression}");
        }
        for (name, labels) in selected(&expression) {
            // Prometheus adds the first and makes the second of a histogram.
            let known = |label: &str| ["instance", "le"].contains(&label) || documented[name].contains(label);
            assert!(labels.iter().all(|label| known(label)), "{name} has no such label: {labels:?}");
        }
    }
}

#[test]
fn every_legend_and_sum_names_labels_of_its_metrics() {
    let documented = documented();
    let dashboard = dashboard();
    for target in panels(&dashboard).flat_map(|it| it["targets"].as_array().unwrap()) {
        let (expression, legend) =
            (target["expr"].as_str().unwrap(), target["legendFormat"].as_str().unwrap());
        let labels: BTreeSet<&str> =
            metrics(expression).flat_map(|it| documented[it].iter().map(String::as_str)).collect();
        let braces = legend.split("{{").skip(1).map(|it| it.split("}}").next().unwrap().trim());
        let sums = expression.split(" by (").skip(1).flat_map(|it| it.split(')').next().unwrap().split(", "));
        for label in braces.chain(sums) {
            assert!(label == "le" || labels.contains(label), "{label} in {legend} of {expression}");
        }
    }
}

#[test]
fn every_panel_has_an_id_and_a_place_of_its_own_and_says_what_it_shows() {
    let dashboard = dashboard();
    let (mut ids, mut cells) = (BTreeSet::new(), BTreeSet::new());
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{}: its id is taken", title(panel));
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|it| panel["gridPos"][it].as_u64().unwrap());
        assert!(x + w <= COLUMNS, "{}: too wide", title(panel));
        for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(cells.insert(cell), "{}: its place is taken", title(panel));
        }
    }
    for panel in panels(&dashboard) {
        assert!(panel["description"].as_str().is_some_and(|it| it.ends_with('.')), "{}", title(panel));
        assert!(!panel["targets"].as_array().unwrap().is_empty(), "{}", title(panel));
    }
}

#[test]
fn the_unit_of_a_panel_is_that_of_its_metric() {
    let dashboard = dashboard();
    for panel in panels(&dashboard) {
        let unit = panel["fieldConfig"]["defaults"]["unit"].as_str().unwrap();
        for target in panel["targets"].as_array().unwrap() {
            let expression = target["expr"].as_str().unwrap();
            // A ratio has none.
            if expression.contains(" / ") {
                continue;
            }
            let allowed: &[&str] = match metrics(expression).next().unwrap() {
                _ if expression.starts_with("8 * ") => &["bps"],
                _ if expression.starts_with("count(") => &["short"],
                it if it.ends_with("_seconds_total") => &["percentunit"],
                it if it.ends_with("_seconds") => &["s"],
                it if it.ends_with("_bytes") => &["decbytes"],
                it if it.ends_with("_total") => &["pps", "ops", "short"],
                _ => &["short"],
            };
            assert!(allowed.contains(&unit), "{}: {unit} for {expression}", title(panel));
        }
    }
}
