//! What a metric is, and which there are.

use super::samples::Samples;
use super::{PREFIX, device, gateway, long_haul, priority};
use crate::snapshot::Snapshot;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

/// One metric.
#[derive(Debug)]
pub struct Metric {
    pub(super) kind: Kind,
    pub(super) name: &'static str,
    pub(super) measure: Measure,
    pub(super) help: &'static str,
    pub(super) read: for<'a> fn(&'a Snapshot, &mut Samples<'a>),
}

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

impl Metric {
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

/// All metrics, in the order in which they are written.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    let parts = [gateway::METRICS, device::METRICS, priority::METRICS, long_haul::METRICS];
    parts.into_iter().flatten()
}
