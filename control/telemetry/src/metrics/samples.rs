//! The values of one metric.

use super::kind::Kind;
use crate::snapshot::{Snapshot, WirePortReport};
use prometheus_client::encoding::{MetricEncoder, NoLabelSet};
use report::{DelayReport, PriorityReport};
use std::borrow::Cow;

/// The bounds of the buckets: from 255 ns on, each four times the one before and one nanosecond less than
/// a power of two, as the buckets of the switch end.
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

/// A value.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// A whole number of whatever the metric counts.
    Whole(u64),
    /// Nanoseconds, shown as seconds.
    Nanos(u64),
    /// Bits per second, shown as bytes per second.
    BitsPerSecond(u64),
    /// How long things took.
    Delay(&'a DelayReport),
    /// Nothing but the labels.
    Info,
}

/// The values of one metric, each with its labels.
#[derive(Debug, Default)]
pub struct Samples<'a>(Vec<(Vec<Label<'a>>, Value<'a>)>);

impl<'a> Samples<'a> {
    /// Adds one.
    pub fn add<const N: usize>(&mut self, labels: [(&'static str, &'a str); N], value: Value<'a>) {
        self.0.push((labels.map(|(name, value)| (name, value.into())).to_vec(), value));
    }

    /// Adds one of a core.
    pub fn add_of_core(&mut self, core: usize, value: Value<'a>) {
        self.0.push((vec![("core", core.to_string().into())], value));
    }

    /// Adds one of a priority of a port, with further labels.
    pub fn add_of_priority<const N: usize>(
        &mut self,
        port: &'a WirePortReport,
        priority: u8,
        labels: [(&'static str, &'a str); N],
        value: Value<'a>,
    ) {
        let mut all =
            vec![("port", Cow::from(port.port.name.as_str())), ("priority", Cow::from(priority.to_string()))];
        all.extend(labels.map(|(name, value)| (name, Cow::from(value))));
        self.0.push((all, value));
    }

    /// Adds what `read` finds for each port, where it finds something.
    pub fn each_port(
        &mut self,
        snapshot: &'a Snapshot,
        read: impl Fn(&'a WirePortReport) -> Option<Value<'a>>,
    ) {
        for port in &snapshot.ports {
            if let Some(value) = read(port) {
                self.add([("port", &port.port.name)], value);
            }
        }
    }

    /// Adds what `read` finds for each port under `label`, once for each value of that.
    pub fn each_port_by<const N: usize>(
        &mut self,
        snapshot: &'a Snapshot,
        label: &'static str,
        read: impl Fn(&'a WirePortReport) -> Option<[(&'static str, Value<'a>); N]>,
    ) {
        for port in &snapshot.ports {
            for (name, value) in read(port).into_iter().flatten() {
                self.add([("port", &port.port.name), (label, name)], value);
            }
        }
    }

    /// Adds what `read` finds for each priority of each port, where it finds something.
    pub fn each_priority(
        &mut self,
        snapshot: &'a Snapshot,
        read: impl Fn(&'a PriorityReport) -> Option<Value<'a>>,
    ) {
        for port in &snapshot.ports {
            for priority in &port.port.priorities {
                if let Some(value) = read(priority) {
                    self.add_of_priority(port, priority.priority, [], value);
                }
            }
        }
    }

    /// Adds what `read` finds for each priority of each port, in the two directions: received and
    /// transmitted.
    pub fn each_direction(
        &mut self,
        snapshot: &'a Snapshot,
        read: impl Fn(&'a PriorityReport) -> [Value<'a>; 2],
    ) {
        for port in &snapshot.ports {
            for priority in &port.port.priorities {
                for (direction, value) in ["receive", "transmit"].into_iter().zip(read(priority)) {
                    self.add_of_priority(port, priority.priority, [("direction", direction)], value);
                }
            }
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes all of them as samples of `kind`.
    pub fn encode(&self, kind: Kind, family: &mut MetricEncoder<'_>) -> core::fmt::Result {
        for (labels, value) in &self.0 {
            match value {
                Value::Info => family.encode_info(labels)?,
                // An empty set of labels would be written as `{}`.
                _ if labels.is_empty() => encode_value(kind, *value, family)?,
                _ => encode_value(kind, *value, &mut family.encode_family(labels)?)?,
            }
        }
        Ok(())
    }
}

fn encode_value(kind: Kind, value: Value<'_>, sample: &mut MetricEncoder<'_>) -> core::fmt::Result {
    let real = match value {
        Value::Whole(number) if kind == Kind::Counter => {
            return sample.encode_counter::<NoLabelSet, _, f64>(&number, None);
        }
        Value::Whole(number) => return sample.encode_gauge(&number),
        Value::Delay(delay) => return encode_delay(delay, sample),
        Value::Nanos(nanos) => seconds(nanos),
        Value::BitsPerSecond(bits) => bits as f64 / 8.0,
        Value::Info => 1.0,
    };
    if kind == Kind::Counter {
        sample.encode_counter::<NoLabelSet, _, f64>(&real, None)
    } else {
        sample.encode_gauge(&real)
    }
}

/// The sum is that of the upper bounds of the buckets of the switch: at most an eighth too large.
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
