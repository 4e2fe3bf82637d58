//! Samples of a metric, and how they are encoded.

use prometheus_client::encoding::{EncodeCounterValue, EncodeGaugeValue, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType as Kind;
use report::DelayReport;
use std::borrow::Cow;
use switch::figure::Unit;

/// Upper bounds of the buckets. The first is 255 ns, and each further bound is about four times the one before. All are
/// one nanosecond less than a power of two, like the bounds of the switch's own buckets.
const BOUNDS_NS: [u64; 12] = {
    let mut bounds = [0; 12];
    let mut place = 0;
    while place < bounds.len() {
        bounds[place] = (1 << (8 + 2 * place)) - 1;
        place += 1;
    }
    bounds
};

/// A label: its name and value.
pub type Label<'a> = (&'static str, Cow<'a, str>);

/// A sample: its labels and its value.
pub type Sample<'a> = (Vec<Label<'a>>, Value<'a>);

/// The value of a sample.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// A number in the unit of the metric.
    Number(u64),
    /// A distribution of durations.
    Delay(&'a DelayReport),
    /// Nothing beside the labels.
    Info,
}

/// Writes `samples` of a metric of `kind` that is measured in `unit`.
pub fn encode(
    samples: &[Sample<'_>],
    kind: Kind,
    unit: Unit,
    family: &mut MetricEncoder<'_>,
) -> core::fmt::Result {
    for (labels, value) in samples {
        match value {
            Value::Info => family.encode_info(labels)?,
            // An empty set of labels would be written as `{}`.
            _ if labels.is_empty() => encode_value(kind, unit, *value, family)?,
            _ => encode_value(kind, unit, *value, &mut family.encode_family(labels)?)?,
        }
    }
    Ok(())
}

fn encode_value(
    kind: Kind,
    unit: Unit,
    value: Value<'_>,
    sample: &mut MetricEncoder<'_>,
) -> core::fmt::Result {
    match (value, unit) {
        (Value::Delay(delay), _) => encode_delay(delay, sample),
        (Value::Number(nanos), Unit::Nanos) => encode_number(kind, seconds(nanos), sample),
        (Value::Number(bits), Unit::BitsPerSecond) => encode_number(kind, bits as f64 / 8.0, sample),
        (Value::Number(number), Unit::Number | Unit::Bytes) => encode_number(kind, number, sample),
        (Value::Info, _) => Ok(()),
    }
}

fn encode_number<N: EncodeCounterValue + EncodeGaugeValue>(
    kind: Kind,
    number: N,
    sample: &mut MetricEncoder<'_>,
) -> core::fmt::Result {
    if matches!(kind, Kind::Counter) {
        sample.encode_counter::<NoLabelSet, _, f64>(&number, None)
    } else {
        sample.encode_gauge(&number)
    }
}

/// Adds up the upper bounds of the switch's buckets, so the sum is at most an eighth too large.
fn encode_delay(delay: &DelayReport, sample: &mut MetricEncoder<'_>) -> core::fmt::Result {
    let mut counts = [0; BOUNDS_NS.len() + 1];
    let (mut count, mut sum_ns) = (0, 0.0);
    for bucket in &delay.buckets {
        let place = BOUNDS_NS.iter().position(|bound| bucket.up_to_ns <= *bound).unwrap_or(BOUNDS_NS.len());
        counts[place] += bucket.frames;
        count += bucket.frames;
        sum_ns += bucket.frames as f64 * bucket.up_to_ns as f64;
    }
    let bounds = BOUNDS_NS.into_iter().map(seconds).chain([f64::INFINITY]);
    let buckets: Vec<_> = bounds.zip(counts).collect();
    sample.encode_histogram::<NoLabelSet>(sum_ns / 1e9, count, &buckets, None)
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buckets_reach_from_255_ns_to_a_second() {
        assert_eq!((BOUNDS_NS[0], BOUNDS_NS[11]), (255, (1 << 30) - 1));
    }
}
