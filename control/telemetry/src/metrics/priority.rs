//! Metrics of the priorities of a port.

use super::kind::{Kind, Measure};
use super::metric::Metric;
use super::samples::{Samples, Value};
use crate::snapshot::{LevelsReport, Snapshot};
use report::PriorityReport;

pub static METRICS: &[Metric] = &[
    Metric {
        kind: Kind::Counter,
        name: "priority_frames",
        measure: Measure::Number,
        help: "Frames received for forwarding, and frames sent.",
        read: |it, out| {
            out.each_direction(it, |at| {
                [Value::Whole(at.ingress.received.frames), Value::Whole(at.egress.transmitted.frames)]
            });
        },
    },
    Metric {
        kind: Kind::Counter,
        name: "priority",
        measure: Measure::Bytes,
        help: "Bytes of frames received for forwarding and of frames sent, without FCS.",
        read: |it, out| {
            out.each_direction(it, |at| {
                [Value::Whole(at.ingress.received.bytes), Value::Whole(at.egress.transmitted.bytes)]
            });
        },
    },
    Metric {
        kind: Kind::Counter,
        name: "priority_dropped_frames",
        measure: Measure::Number,
        help: "Dropped frames by priority and reason; only reasons that occurred.",
        read: drops,
    },
    Metric {
        kind: Kind::Gauge,
        name: "priority_group",
        measure: Measure::Bytes,
        help: "Occupancy of the priority group, headroom included.",
        read: |it, out| out.each_priority(it, |at| Some(Value::Whole(at.ingress.occupancy_bytes))),
    },
    Metric {
        kind: Kind::Gauge,
        name: "priority_group_watermark",
        measure: Measure::Bytes,
        help: "Highest occupancy of the priority group in reserved and shared bytes.",
        read: |it, out| out.each_priority(it, |at| Some(Value::Whole(at.ingress.watermark_bytes))),
    },
    Metric {
        kind: Kind::Gauge,
        name: "headroom",
        measure: Measure::Bytes,
        help: "Headroom that a lossless priority group currently uses.",
        read: |it, out| {
            levels(it, out, |at, now| at.ingress.lossless.then_some(Value::Whole(now.headroom_bytes)));
        },
    },
    Metric {
        kind: Kind::Gauge,
        name: "headroom_watermark",
        measure: Measure::Bytes,
        help: "Most headroom that a lossless priority group has used.",
        read: |it, out| {
            out.each_priority(it, |at| {
                at.ingress.lossless.then_some(Value::Whole(at.ingress.headroom_watermark_bytes))
            });
        },
    },
    Metric {
        kind: Kind::Gauge,
        name: "headroom_size",
        measure: Measure::Bytes,
        help: "Headroom available to a lossless priority group.",
        read: |it, out| {
            out.each_priority(it, |at| Some(Value::Whole(at.ingress.limits.as_ref()?.headroom_bytes)));
        },
    },
    Metric {
        kind: Kind::Gauge,
        name: "queue",
        measure: Measure::Bytes,
        help: "Bytes waiting in the egress queue.",
        read: |it, out| out.each_priority(it, |at| Some(Value::Whole(at.egress.queued.bytes))),
    },
    Metric {
        kind: Kind::Gauge,
        name: "queue_watermark",
        measure: Measure::Bytes,
        help: "Most bytes that have waited in the egress queue.",
        read: |it, out| out.each_priority(it, |at| Some(Value::Whole(at.egress.watermark_bytes))),
    },
    Metric {
        kind: Kind::Histogram,
        name: "queue_delay",
        measure: Measure::Seconds,
        help: "Time that frames waited in the egress queue.",
        read: |it, out| out.each_priority(it, |at| Some(Value::Delay(&at.egress.delay))),
    },
    Metric {
        kind: Kind::Counter,
        name: "ecn_marked_frames",
        measure: Measure::Number,
        help: "Frames that the gateway marked Congestion Experienced (CE).",
        read: |it, out| out.each_priority(it, |at| Some(Value::Whole(at.egress.ecn_marked))),
    },
    Metric {
        kind: Kind::Counter,
        name: "ecn_already_marked_frames",
        measure: Measure::Number,
        help: "Frames due to be marked that were already marked on arrival.",
        read: |it, out| out.each_priority(it, |at| Some(Value::Whole(at.egress.ecn_already_marked))),
    },
    Metric {
        kind: Kind::Counter,
        name: "pfc_frames",
        measure: Measure::Number,
        help: "PFC frames for the priority, by kind.",
        read: pfc_frames,
    },
    Metric {
        kind: Kind::Counter,
        name: "pfc_pause",
        measure: Measure::Seconds,
        help: "Time for which the peer paused the queue (receive) or was paused by the gateway (transmit).",
        read: |it, out| {
            out.each_direction(it, |at| {
                [Value::Nanos(at.pauses_received.paused_ns), Value::Nanos(at.pauses_sent.paused_ns)]
            });
        },
    },
    Metric {
        kind: Kind::Counter,
        name: "pfc_pause_cause",
        measure: Measure::Seconds,
        help: "Time for which the gateway paused the peer, by cause.",
        read: pause_causes,
    },
    Metric {
        kind: Kind::Gauge,
        name: "pfc_paused",
        measure: Measure::Number,
        help: "Whether the peer pauses the queue (receive) or the gateway pauses the peer (transmit), 1 or 0.",
        read: paused,
    },
    Metric {
        kind: Kind::Counter,
        name: "pfc_storms",
        measure: Measure::Number,
        help: "Pause storms that the watchdog has detected on the queue.",
        read: |it, out| out.each_priority(it, |at| Some(Value::Whole(at.egress.watchdog.as_ref()?.storms))),
    },
    Metric {
        kind: Kind::Counter,
        name: "pfc_storms_restored",
        measure: Measure::Number,
        help: "Pause storms that have ended.",
        read: |it, out| out.each_priority(it, |at| Some(Value::Whole(at.egress.watchdog.as_ref()?.restored))),
    },
    Metric {
        kind: Kind::Gauge,
        name: "pfc_stormed",
        measure: Measure::Number,
        help: "Whether a pause storm is in progress on the queue, 1 or 0.",
        read: |it, out| {
            out.each_priority(it, |at| Some(Value::Whole(at.egress.watchdog.as_ref()?.stormed.into())));
        },
    },
];

fn drops<'a>(snapshot: &'a Snapshot, out: &mut Samples<'a>) {
    for port in &snapshot.ports {
        for at in &port.port.priorities {
            let places = [("receive", &at.ingress.dropped), ("transmit", &at.egress.dropped)];
            for (direction, dropped) in places {
                for (reason, count) in dropped {
                    let labels = [("direction", direction), ("reason", reason.as_ref())];
                    out.add_of_priority(port, at.priority, labels, Value::Whole(count.frames));
                }
            }
        }
    }
}

fn levels<'a>(
    snapshot: &'a Snapshot,
    out: &mut Samples<'a>,
    read: impl Fn(&'a PriorityReport, &'a LevelsReport) -> Option<Value<'a>>,
) {
    for port in &snapshot.ports {
        for (at, now) in port.port.priorities.iter().zip(&port.levels) {
            if let Some(value) = read(at, now) {
                out.add_of_priority(port, at.priority, [], value);
            }
        }
    }
}

fn pfc_frames<'a>(snapshot: &'a Snapshot, out: &mut Samples<'a>) {
    for port in &snapshot.ports {
        for at in &port.port.priorities {
            let (received, sent) = (&at.pauses_received, &at.pauses_sent);
            let frames = [
                ("receive", "xoff", received.xoff),
                ("receive", "xon", received.xon),
                ("receive", "ignored", received.ignored),
                ("transmit", "xoff", sent.xoff),
                ("transmit", "refresh", sent.refresh),
                ("transmit", "xon", sent.xon),
                ("transmit", "slot", sent.slot),
            ];
            for (direction, kind, frames) in frames {
                let labels = [("direction", direction), ("kind", kind)];
                out.add_of_priority(port, at.priority, labels, Value::Whole(frames));
            }
        }
    }
}

fn pause_causes<'a>(snapshot: &'a Snapshot, out: &mut Samples<'a>) {
    for port in &snapshot.ports {
        for at in port.port.priorities.iter().filter(|at| at.ingress.lossless) {
            let times = &at.pauses_sent.paused_by_cause_ns;
            for (cause, time) in [
                ("threshold", times.threshold),
                ("pool_full", times.pool_full),
                ("slot", times.slot),
                ("memory_low", times.memory_low),
            ] {
                out.add_of_priority(port, at.priority, [("cause", cause)], Value::Nanos(time));
            }
        }
    }
}

fn paused<'a>(snapshot: &'a Snapshot, out: &mut Samples<'a>) {
    for port in &snapshot.ports {
        for now in &port.levels {
            for (direction, paused) in [("receive", now.paused_by_peer), ("transmit", now.pauses_peer)] {
                let value = Value::Whole(paused.into());
                out.add_of_priority(port, now.priority, [("direction", direction)], value);
            }
        }
    }
}
