//! The request to an OpenTelemetry collector holds what Prometheus scrapes, whoever decodes it.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::{in_crate, snapshot, snapshots};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use opentelemetry_proto::tonic::metrics::v1::{AggregationTemporality, Metric, NumberDataPoint};
use prost::Message;
use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};
use telemetry::Snapshot;
use telemetry::metrics::{self, otlp};

/// Labels, in any order. The bound of a bucket is written as Rust does.
type Labels = BTreeMap<String, String>;

/// The name of a sample and its labels, and its value.
type Samples = BTreeMap<(String, Labels), f64>;

/// Kind, unit and help of a metric.
type Families = BTreeMap<String, (String, String, String)>;

fn resource() -> otlp::Resource {
    otlp::Resource { host: "edge1".into(), gateway: "amsterdam".into() }
}

fn decoded(snapshot: &Snapshot) -> ExportMetricsServiceRequest {
    ExportMetricsServiceRequest::decode(&*otlp::encode(snapshot, &resource())).unwrap()
}

fn add(samples: &mut Samples, name: &str, labels: Labels, value: f64) {
    let key = (name.to_owned(), labels);
    assert!(!samples.contains_key(&key), "{key:?} is there twice");
    samples.insert(key, value);
}

/// The samples of a text in the format of Prometheus.
fn of_text(page: &str) -> Samples {
    let mut samples = Samples::new();
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let (series, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        let labels = labels.strip_suffix('}').unwrap().split_terminator(',').map(|label| {
            let (name, value) = label.split_once('=').unwrap();
            let value = value.trim_matches('"');
            let bound = || format!("{:e}", value.parse::<f64>().unwrap());
            (name.to_owned(), if name == "le" { bound() } else { value.to_owned() })
        });
        add(&mut samples, name, labels.collect(), value.parse().unwrap());
    }
    samples
}

fn families_of_text(page: &str) -> Families {
    let mut families = Families::new();
    for line in page.lines() {
        let words: Vec<_> = line.splitn(4, ' ').collect();
        if let ["#", word, name, rest] = words[..] {
            let (kind, unit, help) = families.entry(name.to_owned()).or_default();
            match word {
                "TYPE" => *kind = rest.to_owned(),
                "UNIT" => *unit = rest.to_owned(),
                _ => *help = rest.to_owned(),
            }
        }
    }
    families
}

fn labels(attributes: &[KeyValue]) -> Labels {
    let pair = |it: &KeyValue| match it.value.clone().unwrap().value.unwrap() {
        any_value::Value::StringValue(value) => (it.key.clone(), value),
        other => panic!("{} is {other:?}", it.key),
    };
    attributes.iter().map(pair).collect()
}

fn number(point: &NumberDataPoint) -> f64 {
    match point.value.unwrap() {
        Value::AsInt(number) => number as f64,
        Value::AsDouble(number) => number,
    }
}

/// Adds the samples that Prometheus would have of `metric`, and returns its kind.
fn add_metric(samples: &mut Samples, metric: &Metric) -> &'static str {
    let cumulative = i32::from(AggregationTemporality::Cumulative);
    let (points, kind) = match metric.data.as_ref().unwrap() {
        Data::Histogram(histogram) => {
            assert_eq!(histogram.aggregation_temporality, cumulative);
            for point in &histogram.data_points {
                let (name, of, mut total) = (&metric.name, labels(&point.attributes), 0);
                assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
                let bounds = point.explicit_bounds.iter().copied().chain([f64::INFINITY]);
                for (bound, count) in bounds.zip(&point.bucket_counts) {
                    total += count;
                    let mut of = of.clone();
                    of.insert("le".into(), format!("{bound:e}"));
                    add(samples, &format!("{name}_bucket"), of, total as f64);
                }
                assert_eq!(total, point.count, "the buckets add up to the count");
                add(samples, &format!("{name}_count"), of.clone(), point.count as f64);
                add(samples, &format!("{name}_sum"), of, point.sum.unwrap());
            }
            return "histogram";
        }
        Data::Sum(sum) => {
            assert_eq!(sum.aggregation_temporality, cumulative);
            (&sum.data_points, if sum.is_monotonic { "counter" } else { "info" })
        }
        Data::Gauge(gauge) => (&gauge.data_points, "gauge"),
        other => panic!("{other:?}"),
    };
    for point in points {
        add(samples, &metric.name, labels(&point.attributes), number(point));
    }
    kind
}

#[test]
fn every_value_is_that_of_the_prometheus_text_of_the_same_snapshot() {
    for snapshot in snapshots() {
        let (page, request) = (metrics::encode(&snapshot), decoded(&snapshot));
        let mut samples = Samples::new();
        let mut families = Families::new();
        for metric in &request.resource_metrics[0].scope_metrics[0].metrics {
            let kind = add_metric(&mut samples, metric);
            let suffix = match kind {
                "counter" => "_total",
                "info" => "_info",
                _ => "",
            };
            let unit = match &*metric.unit {
                "" => "",
                "s" => "seconds",
                "By" => "bytes",
                "By/s" => "bytes_per_second",
                other => panic!("{other}"),
            };
            let family = metric.name.strip_suffix(suffix).unwrap().to_owned();
            families.insert(family, (kind.into(), unit.into(), metric.description.clone()));
        }
        assert_eq!(samples, of_text(&page));
        assert_eq!(families, families_of_text(&page));
    }
}

#[test]
fn totals_count_from_the_start_of_the_gateway_to_the_snapshot_and_levels_have_no_start() {
    let snapshot = snapshot();
    let (start, at) = (snapshot.at_ns - snapshot.uptime_ns, snapshot.at_ns);
    assert!(start > 0 && start < at);
    for metric in &decoded(&snapshot).resource_metrics[0].scope_metrics[0].metrics {
        let of = |points: &[NumberDataPoint]| -> Vec<_> {
            points.iter().map(|point| (point.start_time_unix_nano, point.time_unix_nano)).collect()
        };
        let (times, expected) = match metric.data.as_ref().unwrap() {
            Data::Sum(sum) => (of(&sum.data_points), (start, at)),
            Data::Gauge(gauge) => (of(&gauge.data_points), (0, at)),
            Data::Histogram(histogram) => {
                let points = histogram.data_points.iter();
                (points.map(|it| (it.start_time_unix_nano, it.time_unix_nano)).collect(), (start, at))
            }
            other => panic!("{other:?}"),
        };
        assert!(times.iter().all(|times| *times == expected), "{}: {times:?}", metric.name);
    }
}

#[test]
fn the_resource_has_the_attributes_of_the_semantic_conventions() {
    let snapshot = snapshot();
    let request = decoded(&snapshot);
    let of = &request.resource_metrics[0];
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        labels(&of.resource.as_ref().unwrap().attributes),
        Labels::from([
            pair("service.name", "longspan"),
            pair("service.version", &snapshot.version),
            pair("service.instance.id", "edge1:amsterdam"),
            pair("host.name", "edge1"),
        ])
    );
    let scope = of.scope_metrics[0].scope.as_ref().unwrap();
    assert_eq!((&*scope.name, &*scope.version), ("longspan", &*snapshot.version));
}

#[test]
fn another_decoder_reads_the_same() {
    let snapshot = snapshot();
    let mut python = Command::new("/usr/bin/python3")
        .arg(in_crate("tests/decode_otlp.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    python.stdin.take().unwrap().write_all(&otlp::encode(&snapshot, &resource())).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success());
    let (read, page) = (String::from_utf8(output.stdout).unwrap(), metrics::encode(&snapshot));
    assert_eq!(of_text(&read), of_text(&page));
    let resource = format!(
        "service.name=\"longspan\",service.version=\"{}\",service.instance.id=\"edge1:amsterdam\",host.name=\"edge1\"",
        snapshot.version
    );
    for line in [
        &format!("# RESOURCE{{{resource}}} 1"),
        // The numbers of Gauge (5), Sum (7) and Histogram (9); CUMULATIVE (2); whether it is monotonic; the unit.
        "# longspan_link_up 5 0 0 ",
        "# longspan_port_bytes_total 7 2 1 By",
        "# longspan_port_info 7 2 0 ",
        "# longspan_queue_delay_seconds 9 2 0 s",
        &format!("# TIME {} {}", snapshot.at_ns - snapshot.uptime_ns, snapshot.at_ns),
        &format!("# TIME 0 {}", snapshot.at_ns),
    ] {
        assert!(read.lines().any(|it| it == line), "{line} in {read}");
    }
}
