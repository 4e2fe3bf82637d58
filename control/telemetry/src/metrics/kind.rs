//! Kinds of metrics.

/// How a metric behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A value that never falls while the gateway runs.
    Counter,
    /// A value that rises and falls.
    Gauge,
    /// A distribution of durations.
    Histogram,
    /// Labels with the value 1.
    Info,
}
