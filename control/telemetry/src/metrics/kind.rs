//! How a metric behaves, and what it is measured in.

use prometheus_client::registry::Unit;

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
    pub(super) fn unit(self) -> Option<Unit> {
        match self {
            Self::Number => None,
            Self::Seconds => Some(Unit::Seconds),
            Self::Bytes => Some(Unit::Bytes),
            Self::BytesPerSecond => Some(Unit::Other("bytes_per_second".into())),
        }
    }
}
