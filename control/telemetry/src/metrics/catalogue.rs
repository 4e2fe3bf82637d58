//! What a metric is, and which there are.

use super::samples::Samples;
use super::{PREFIX, device, gateway, listed, priority};
use crate::show::View;
use crate::snapshot::Snapshot;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;
use switch::figure::LISTS;

/// One metric. A table of metrics has functions that read it.
pub struct Metric<R = for<'a> fn(&'a Snapshot, &mut Samples<'a>)> {
    pub(super) kind: Kind,
    pub(super) name: &'static str,
    pub(super) measure: Measure,
    pub(super) help: &'static str,
    pub(super) read: R,
}

/// What reads a metric, wherever it stands.
pub(super) type Reader = Box<dyn for<'a> Fn(&'a Snapshot, &mut Samples<'a>)>;

/// How a metric behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It never falls while the gateway runs.
    Counter,
    /// It goes up and down.
    Gauge,
    /// How long things took.
    Histogram,
    /// Labels with a value of 1.
    Info,
}

/// What a metric is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Its name says what is counted.
    Number,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
}

impl Measure {
    fn unit(self) -> Option<Unit> {
        match self {
            Self::Number => None,
            Self::Seconds => Some(Unit::Seconds),
            Self::Bytes => Some(Unit::Bytes),
            Self::BytesPerSecond => Some(Unit::Other("bytes_per_second".into())),
        }
    }
}

impl<R: for<'a> Fn(&'a Snapshot, &mut Samples<'a>)> Metric<R> {
    /// The name of the family, with its unit and without the suffix of its samples.
    pub fn family(&self) -> String {
        let unit = self.measure.unit().map_or_else(String::new, |unit| format!("_{}", unit.as_str()));
        format!("{PREFIX}_{}{unit}", self.name)
    }

    /// The name of its samples, as it is queried; those of a histogram go on with `_bucket`, `_sum` and
    /// `_count`.
    pub fn full_name(&self) -> String {
        let suffix = match self.kind {
            Kind::Counter => "_total",
            Kind::Info => "_info",
            Kind::Gauge | Kind::Histogram => "",
        };
        self.family() + suffix
    }

    /// How it behaves.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub(super) fn encode(
        &self,
        snapshot: &Snapshot,
        encoder: &mut DescriptorEncoder<'_>,
    ) -> core::fmt::Result {
        let mut samples = Samples::default();
        (self.read)(snapshot, &mut samples);
        if samples.is_empty() {
            return Ok(());
        }
        let kind = match self.kind {
            Kind::Counter => MetricType::Counter,
            Kind::Gauge => MetricType::Gauge,
            Kind::Histogram => MetricType::Histogram,
            Kind::Info => MetricType::Info,
        };
        let unit = self.measure.unit();
        let mut family = encoder.encode_descriptor(self.name, self.help, unit.as_ref(), kind)?;
        samples.encode(self.kind, &mut family)
    }
}

/// All metrics, in the order in which they are written. Lists that are shown with the ports stand behind those of ports.
pub fn all() -> impl Iterator<Item = Metric<Reader>> {
    let table = |table: &'static [Metric]| {
        table.iter().map(|it| Metric {
            kind: it.kind,
            name: it.name,
            measure: it.measure,
            help: it.help,
            read: Box::new(it.read) as Reader,
        })
    };
    let listed = |of_ports: bool| {
        let lists = LISTS.into_iter().filter(move |list| (list.view == View::Ports.name()) == of_ports);
        lists.flat_map(listed::metrics)
    };
    table(gateway::METRICS)
        .chain(table(device::PORTS))
        .chain(listed(true))
        .chain(table(device::DEVICES))
        .chain(table(priority::METRICS))
        .chain(listed(false))
}
