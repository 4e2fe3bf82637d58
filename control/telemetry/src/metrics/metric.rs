//! Metrics and how they are declared.

use super::samples::{Sample, encode};
use crate::period::Period;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType as Kind;
use prometheus_client::registry;
use switch::figure::Unit;

/// The prefix of every metric name.
pub(super) const PREFIX: &str = "longspan";

/// One metric.
pub struct Metric {
    pub(super) kind: Kind,
    pub(super) name: &'static str,
    /// The unit of the values that `read` returns. Prometheus gets seconds and bytes per second.
    pub(super) unit: Unit,
    pub(super) help: &'static str,
    pub(super) read: Reader,
}

/// Reads the samples of a metric: the counters as they are at the end of the period, and what follows from its time.
pub(super) type Reader = Box<dyn for<'a> Fn(&Period<'a>) -> Vec<Sample<'a>>>;

impl Metric {
    /// The name of the family, with its unit and without the suffix of its samples.
    pub fn family(&self) -> String {
        let unit = self.unit().map_or_else(String::new, |unit| format!("_{}", unit.as_str()));
        format!("{PREFIX}_{}{unit}", self.name)
    }

    /// The name of its samples, as it is queried. The samples of a histogram have the further suffixes `_bucket`,
    /// `_sum` and `_count`.
    pub fn full_name(&self) -> String {
        let suffix = match self.kind {
            Kind::Counter => "_total",
            Kind::Info => "_info",
            Kind::Gauge | Kind::Histogram | Kind::Unknown => "",
        };
        self.family() + suffix
    }

    fn unit(&self) -> Option<registry::Unit> {
        match self.unit {
            Unit::Number => None,
            Unit::Nanos => Some(registry::Unit::Seconds),
            Unit::Bytes => Some(registry::Unit::Bytes),
            Unit::BitsPerSecond => Some(registry::Unit::Other("bytes_per_second".into())),
        }
    }

    pub(super) fn encode(
        &self,
        period: &Period<'_>,
        encoder: &mut DescriptorEncoder<'_>,
    ) -> core::fmt::Result {
        let samples = (self.read)(period);
        if samples.is_empty() {
            return Ok(());
        }
        let unit = self.unit();
        let mut family = encoder.encode_descriptor(self.name, self.help, unit.as_ref(), self.kind)?;
        encode(&samples, self.kind, self.unit, &mut family)
    }
}

/// Declares metrics as `Kind "name" in Unit: "help", reader;`, and a function that makes them. The unit of a plain
/// number is left out.
macro_rules! metrics {
    (@unit) => { switch::figure::Unit::Number };
    (@unit $unit:ident) => { switch::figure::Unit::$unit };
    ($(#[doc = $about:literal])+ $function:ident {
        $($kind:ident $name:literal $(in $unit:ident)?: $help:literal, $read:expr;)+
    }) => {
        $(#[doc = $about])+
        pub fn $function() -> Vec<crate::metrics::metric::Metric> {
            use prometheus_client::metrics::MetricType as Kind;
            use crate::metrics::metric::{Metric, metrics};
            vec![$(Metric { kind: Kind::$kind, name: $name, unit: metrics!(@unit $($unit)?), help: $help, read: $read }),+]
        }
    };
}

pub(super) use metrics;
