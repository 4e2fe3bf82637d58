//! What a metric is.

use super::kind::{Kind, Measure};
use super::samples::Samples;
use crate::snapshot::Snapshot;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

/// What begins the name of every metric.
pub(super) const PREFIX: &str = "longspan";

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
