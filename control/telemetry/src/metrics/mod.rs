//! A snapshot in the OpenMetrics text format, as Prometheus reads it. `docs/metrics.md` explains every metric; names
//! and labels are an interface.

mod device;
mod gateway;
mod listed;
mod metric;
mod priority;
mod readers;
mod samples;

pub use metric::Metric;

use crate::period::Period;
use crate::show::View;
use crate::snapshot::Snapshot;
use metric::PREFIX;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;
use switch::figure::LISTS;

/// A text format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text format of Prometheus, version 0.0.4, which people, `promtool` and old agents read.
    Prometheus,
}

impl Format {
    /// The format for a client that accepts these media types (the value of a header `Accept`).
    pub fn accepted(accept: &str) -> Self {
        if accept.contains("application/openmetrics-text") { Self::OpenMetrics } else { Self::Prometheus }
    }

    /// The content type.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// All metrics, in the order in which they are written. The figures that `longspan show` lists with the ports follow
/// the metrics of ports.
pub fn all() -> impl Iterator<Item = Metric> {
    let listed = |with_ports: bool| {
        let lists = LISTS.into_iter().filter(move |list| (list.view == View::Ports.name()) == with_ports);
        lists.flat_map(listed::metrics)
    };
    let (of_gateway, of_ports) = (gateway::metrics().into_iter(), device::metrics_of_ports());
    let with_ports = of_gateway.chain(of_ports).chain(listed(true)).chain(device::metrics_of_devices());
    with_ports.chain(priority::metrics()).chain(listed(false))
}

/// Encodes all metrics at the end of `period`. A metric without a value is left out.
pub fn encode(period: &Period<'_>, format: Format) -> String {
    let mut registry = Registry::with_prefix(PREFIX);
    let (now, before) = period.snapshots();
    registry.register_collector(Box::new(Scrape { now: now.clone(), before: before.cloned() }));
    let mut page = String::new();
    text::encode(&mut page, &registry).expect("writing to a string cannot fail");
    match format {
        Format::OpenMetrics => page,
        Format::Prometheus => plain(&page),
    }
}

/// A page of OpenMetrics in the text format of Prometheus: a family has the name of its samples there, there are no
/// units, and no type `info`.
fn plain(page: &str) -> String {
    let kinds = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let suffixes: BTreeMap<_, _> = kinds
        .filter_map(|(name, kind)| match kind {
            "counter" => Some((name, "_total")),
            "info" => Some((name, "_info")),
            _ => None,
        })
        .collect();
    let mut plain = String::new();
    for line in page.lines() {
        let words = line.splitn(4, ' ').collect::<Vec<_>>();
        match words[..] {
            ["#", "UNIT", ..] | ["#", "EOF"] => continue,
            ["#", about, name, rest] => {
                let suffix = suffixes.get(name).copied().unwrap_or_default();
                let rest = if about == "TYPE" && rest == "info" { "gauge" } else { rest };
                plain.push_str(&format!("# {about} {name}{suffix} {rest}\n"));
            }
            _ => {
                plain.push_str(line);
                plain.push('\n');
            }
        }
    }
    plain
}

/// A scrape.
#[derive(Debug)]
struct Scrape {
    now: Snapshot,
    before: Option<Snapshot>,
}

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> core::fmt::Result {
        let period = match &self.before {
            Some(before) => {
                Period::between(before, &self.now).unwrap_or_else(|_| Period::since_start(&self.now))
            }
            None => Period::since_start(&self.now),
        };
        all().try_for_each(|metric| metric.encode(&period, &mut encoder))
    }
}
