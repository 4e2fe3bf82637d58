//! The metrics that Prometheus scrapes.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::{assert_golden, snapshot, snapshot_of_bridge, snapshot_of_neighbours, snapshots};
use std::collections::{BTreeMap, BTreeSet};
use switch::DropReason;
use telemetry::metrics::{self, Format};
use telemetry::{Period, Snapshot};

/// One line with a value.
struct Sample<'a> {
    name: &'a str,
    labels: Vec<(&'a str, &'a str)>,
    value: f64,
}

impl<'a> Sample<'a> {
    fn parse(line: &'a str) -> Self {
        let (series, value) = line.rsplit_once(' ').expect("a value behind a space");
        let (name, labels) = match series.split_once('{') {
            Some((name, labels)) => (name, labels.strip_suffix('}').expect("labels end")),
            None => (series, ""),
        };
        let labels = labels.split_terminator(',').map(|label| {
            let (name, value) = label.split_once('=').expect("a label has a value");
            (name, value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).expect("in quotes"))
        });
        Self { name, labels: labels.collect(), value: value.parse().expect("a number") }
    }

    fn label(&self, name: &str) -> &'a str {
        self.labels.iter().find(|(label, _)| *label == name).map_or("", |(_, value)| value)
    }
}

fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && text.starts_with(|c: char| c.is_ascii_lowercase())
}

/// The metrics since the start.
fn page_of(snapshot: &Snapshot) -> String {
    metrics::encode(&Period::since_start(snapshot), Format::OpenMetrics)
}

fn samples(page: &str) -> Vec<Sample<'_>> {
    page.lines().filter(|line| !line.starts_with('#')).map(Sample::parse).collect()
}

#[test]
fn the_metrics_of_a_busy_gateway_are_the_golden_ones() {
    assert_golden("metrics.txt", &page_of(&snapshot()));
}

#[test]
fn every_sample_follows_the_description_of_its_family_and_has_its_suffix() {
    let page = page_of(&snapshot());
    assert!(page.ends_with("# EOF\n"));
    let (mut family, mut kind, mut unit) = ("", "", "");
    let mut families = BTreeSet::new();
    for line in page.lines().filter(|line| *line != "# EOF") {
        let words: Vec<_> = line.splitn(4, ' ').collect();
        match words[..] {
            ["#", "HELP", name, help] => {
                assert!(families.insert(name) && is_name(name) && help.ends_with('.'), "{line}");
                (family, unit) = (name, "");
            }
            ["#", "TYPE", name, its] => {
                assert_eq!(name, family);
                kind = its;
            }
            ["#", "UNIT", name, its] => {
                assert!(name == family && name.ends_with(its), "{line}");
                unit = its;
            }
            _ => {
                let sample = Sample::parse(line);
                let suffix = sample.name.strip_prefix(family).expect(line);
                let allowed: &[&str] = match kind {
                    "counter" => &["_total"],
                    "gauge" => &[""],
                    "histogram" => &["_bucket", "_sum", "_count"],
                    "info" => &["_info"],
                    _ => &[],
                };
                assert!(allowed.contains(&suffix), "{line}");
                assert!(kind != "histogram" || unit == "seconds", "{line}");
                assert!(sample.value.is_finite() && sample.value >= 0.0, "{line}");
                assert!(
                    sample.labels.iter().all(|(name, value)| is_name(name) && !value.is_empty()),
                    "{line}"
                );
            }
        }
    }
}

#[test]
fn no_series_is_there_twice() {
    let page = page_of(&snapshot());
    let mut seen = BTreeSet::new();
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        assert!(seen.insert(line.rsplit_once(' ').unwrap().0), "{line}");
    }
}

#[test]
fn buckets_rise_and_the_last_one_is_the_count() {
    let page = page_of(&snapshot());
    let samples = samples(&page);
    let mut last: BTreeMap<String, f64> = BTreeMap::new();
    let series = |sample: &Sample<'_>, suffix| {
        let labels: Vec<_> = sample.labels.iter().filter(|(name, _)| *name != "le").collect();
        format!("{}{labels:?}", sample.name.strip_suffix(suffix).unwrap())
    };
    for bucket in samples.iter().filter(|sample| sample.name.ends_with("_bucket")) {
        let before = last.insert(series(bucket, "_bucket"), bucket.value);
        assert!(before.unwrap_or(0.0) <= bucket.value);
    }
    let counts: Vec<_> = samples.iter().filter(|sample| sample.name.ends_with("_count")).collect();
    assert_eq!(counts.len(), last.len());
    // Each frame that left had waited before, so delays are counted as often as frames.
    let of_port = |name: &str, port: &str, direction: &str| -> f64 {
        let key = (name, port, direction);
        let of_port = samples.iter().filter(|it| (it.name, it.label("port"), it.label("direction")) == key);
        of_port.map(|sample| sample.value).sum()
    };
    for (port, left) in [("dc0", 100.0), ("lh0", 126.0)] {
        assert_eq!(of_port("longspan_port_frames_total", port, "transmit"), left, "{port}");
        assert_eq!(of_port("longspan_queue_delay_seconds_count", port, ""), left, "{port}");
    }
    for count in counts {
        assert_eq!(last[&series(count, "_count")], count.value);
    }
}

#[test]
fn a_bridge_counts_what_the_stations_of_each_port_changed_and_a_patch_has_no_such_series() {
    let page = page_of(&snapshot_of_bridge());
    for (series, dc0, lh0) in
        [("moved_addresses", 999, 1_000), ("displaced_addresses", 1, 0), ("refused_changes", 0, 5)]
    {
        for (port, value) in [("dc0", dc0), ("lh0", lh0)] {
            let line = format!("\nlongspan_bridge_{series}_total{{port=\"{port}\"}} {value}\n");
            assert!(page.contains(&line), "{line}{page}");
        }
    }
    assert!(!page_of(&snapshot()).contains("longspan_bridge"));
}

#[test]
fn a_priority_of_the_file_is_0_until_a_neighbour_turns_its_pfc_off_and_then_1() {
    let of = |snapshot: &Snapshot| -> Vec<String> {
        let page = page_of(snapshot);
        page.lines().filter(|it| it.starts_with("longspan_lldp_pfc_turned_off{")).map(str::to_owned).collect()
    };
    let series = |priority, value| {
        format!("longspan_lldp_pfc_turned_off{{port=\"lh0\",priority=\"{priority}\"}} {value}")
    };
    let mut snapshot = snapshot_of_neighbours();
    assert_eq!(of(&snapshot), [series(3, 0), series(4, 1)]);
    snapshot.ports[1].negotiated.as_mut().unwrap().enabled = vec![3, 4];
    assert_eq!(of(&snapshot), [series(3, 0), series(4, 0)]);
    snapshot.ports[1].negotiated = None;
    assert_eq!(of(&snapshot), [""; 0], "no neighbour may turn it off");
}

#[test]
fn every_drop_reason_is_there_for_every_port_before_anything_is_dropped_for_it() {
    let page = page_of(&snapshot());
    let samples = samples(&page);
    for port in ["dc0", "lh0"] {
        for reason in DropReason::ALL.map(DropReason::name) {
            let of_reason = |sample: &&Sample<'_>| {
                sample.name == "longspan_dropped_frames_total"
                    && (sample.label("port"), sample.label("reason")) == (port, reason)
            };
            let directions: Vec<_> =
                samples.iter().filter(of_reason).map(|it| it.label("direction")).collect();
            assert_eq!(directions, ["receive", "transmit"], "{port} {reason}");
        }
    }
    let runts = samples.iter().find(|sample| sample.label("reason") == "runt").unwrap();
    assert_eq!((runts.label("port"), runts.value), ("dc0", 100.0));
}

#[test]
fn pause_time_is_that_of_the_report() {
    let snapshot = snapshot();
    let page = page_of(&snapshot);
    let pauses = samples(&page).into_iter().filter(|sample| {
        sample.name == "longspan_pfc_pause_seconds_total" && sample.label("priority") == "3"
    });
    let mut shown = pauses.map(|sample| (sample.label("port"), sample.label("direction"), sample.value));
    for port in &snapshot.ports {
        let priority = &port.port.priorities[3];
        let [received, sent] = [priority.pauses_received.paused_ns, priority.pauses_sent.paused_ns];
        assert_eq!(shown.next(), Some((port.port.name.as_str(), "receive", received as f64 / 1e9)));
        assert_eq!(shown.next(), Some((port.port.name.as_str(), "transmit", sent as f64 / 1e9)));
    }
    // The peer of the second port repeats its pause every 50 us, 4,000 times.
    let paused_ns = snapshot.ports[1].port.priorities[3].pauses_received.paused_ns;
    assert_eq!(paused_ns, 4_000 * 50_000);
}

#[test]
fn gateways_with_every_scheme_and_a_bridge_have_every_metric() {
    let page: String = snapshots().iter().map(page_of).collect();
    for metric in metrics::all() {
        assert!(page.contains(&format!("# HELP {} ", metric.family())), "{}", metric.family());
    }
}

#[test]
fn a_client_that_does_not_ask_for_openmetrics_gets_the_text_format_of_prometheus() {
    assert_eq!(
        Format::accepted("application/openmetrics-text;version=1.0.0,text/plain;q=0.5"),
        Format::OpenMetrics
    );
    assert_eq!([Format::accepted("*/*"), Format::accepted("")], [Format::Prometheus; 2]);
    let snapshot = snapshot();
    let page = metrics::encode(&Period::since_start(&snapshot), Format::Prometheus);
    // scripts/check-dashboard has promtool check it.
    assert_golden("metrics.prom", &page);
    assert_eq!(samples(&page).len(), samples(&page_of(&snapshot)).len());
    assert!(page.contains("# TYPE longspan_reloads_total counter\nlongspan_reloads_total{"), "{page}");
    assert!(page.contains("# TYPE longspan_gateway_info gauge\nlongspan_gateway_info{"), "{page}");
}
