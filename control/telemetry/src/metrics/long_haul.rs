//! Metrics of Bifrost and LSCC. All their bytes are bytes on the wire.

use super::catalogue::{Kind, Measure, Metric};
use super::samples::Value;
use crate::snapshot::WirePortReport;
use report::{BifrostReport, LsccReport};

pub static METRICS: &[Metric] = &[
    Metric {
        kind: Kind::Counter,
        name: "bifrost_slots",
        measure: Measure::Number,
        help: "Completed Bifrost slots, by how much of each was granted.",
        read: |it, out| {
            out.each_port_by(it, "granted", |at| {
                let bifrost = bifrost(at)?;
                let (paused, fully) = (bifrost.paused_slots, bifrost.fully_paused_slots);
                Some([
                    ("all", Value::Whole(bifrost.slots.saturating_sub(paused))),
                    ("part", Value::Whole(paused.saturating_sub(fully))),
                    ("none", Value::Whole(fully)),
                ])
            });
        },
    },
    Metric {
        kind: Kind::Counter,
        name: "bifrost_granted",
        measure: Measure::Bytes,
        help: "Bytes that Bifrost has granted, on the wire.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(bifrost(at)?.granted_wire_bytes))),
    },
    Metric {
        kind: Kind::Counter,
        name: "bifrost_late_charge",
        measure: Measure::Bytes,
        help: "Bytes that Bifrost has charged because slots ended late, on the wire.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(bifrost(at)?.late_charge_wire_bytes))),
    },
    Metric {
        kind: Kind::Gauge,
        name: "bifrost_buffer",
        measure: Measure::Bytes,
        help: "H: the buffer size that Bifrost keeps within, on the wire.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(bifrost(at)?.buffer_wire_bytes))),
    },
    Metric {
        kind: Kind::Gauge,
        name: "bifrost_peak",
        measure: Measure::Bytes,
        help: "Highest sum of queue and virtual incoming bytes, on the wire.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(bifrost(at)?.peak_wire_bytes))),
    },
    Metric {
        kind: Kind::Gauge,
        name: "bifrost_virtual_incoming",
        measure: Measure::Bytes,
        help: "F at the end of the last slot: bytes that may still arrive, on the wire.",
        read: |it, out| {
            out.each_port(it, |at| Some(Value::Whole(at.slot.as_ref()?.incoming_wire_bytes)));
        },
    },
    Metric {
        kind: Kind::Histogram,
        name: "bifrost_slot_lateness",
        measure: Measure::Seconds,
        help: "How late Bifrost slots ended.",
        read: |it, out| out.each_port(it, |at| Some(Value::Delay(&bifrost(at)?.lateness))),
    },
    Metric {
        kind: Kind::Counter,
        name: "bifrost_late_slots",
        measure: Measure::Number,
        help: "Slots that ended later than the buffer provides for.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(bifrost(at)?.late_slots))),
    },
    Metric {
        kind: Kind::Gauge,
        name: "lscc_advertised_rate",
        measure: Measure::BytesPerSecond,
        help: "Rate that the gateway last advertised to the far end.",
        read: |it, out| {
            out.each_port(it, |at| {
                Some(Value::BitsPerSecond(lscc(at)?.advertised_rates.last_bits_per_second?))
            });
        },
    },
    Metric {
        kind: Kind::Gauge,
        name: "lscc_received_rate",
        measure: Measure::BytesPerSecond,
        help: "Rate received from the far end that is in force; absent while no limit applies.",
        read: |it, out| {
            out.each_port(it, |at| Some(Value::BitsPerSecond(lscc(at)?.feedback.last_bits_per_second?)));
        },
    },
    Metric {
        kind: Kind::Counter,
        name: "lscc_messages_sent",
        measure: Measure::Number,
        help: "Feedback messages sent to the far end, one at the end of each interval.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(lscc(at)?.advertised_rates.intervals))),
    },
    Metric {
        kind: Kind::Counter,
        name: "lscc_messages_received",
        measure: Measure::Number,
        help: "Messages received from the far end, by outcome.",
        read: |it, out| {
            out.each_port_by(it, "result", |at| {
                let received = &lscc(at)?.feedback;
                Some([
                    ("accepted", Value::Whole(received.accepted)),
                    ("malformed", Value::Whole(received.malformed)),
                    ("foreign", Value::Whole(received.foreign)),
                    ("other_version", Value::Whole(received.other_version)),
                    ("forged", Value::Whole(received.forged)),
                    ("unconfirmed", Value::Whole(received.unconfirmed)),
                    ("stale", Value::Whole(received.stale)),
                    ("ahead", Value::Whole(received.ahead)),
                    ("challenge", Value::Whole(received.challenges_received)),
                ])
            });
        },
    },
    Metric {
        kind: Kind::Counter,
        name: "lscc_challenges_sent",
        measure: Measure::Number,
        help: "Challenges sent to the far end, which must prove that its messages are fresh.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(lscc(at)?.feedback.challenges_sent))),
    },
    Metric {
        kind: Kind::Counter,
        name: "lscc_lapses",
        measure: Measure::Number,
        help: "Times the limit lapsed because messages from the far end stopped arriving.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(lscc(at)?.feedback.lapsed))),
    },
    Metric {
        kind: Kind::Histogram,
        name: "lscc_interval_lateness",
        measure: Measure::Seconds,
        help: "How late LSCC intervals ended.",
        read: |it, out| out.each_port(it, |at| Some(Value::Delay(&lscc(at)?.advertised_rates.lateness))),
    },
    Metric {
        kind: Kind::Gauge,
        name: "lscc_pseudo_queue",
        measure: Measure::Bytes,
        help: "Bytes in the pseudo-queue, on the wire.",
        read: |it, out| out.each_port(it, |at| at.pseudo_queue_wire_bytes.map(Value::Whole)),
    },
    Metric {
        kind: Kind::Gauge,
        name: "lscc_pseudo_queue_watermark",
        measure: Measure::Bytes,
        help: "Most bytes that have been in the pseudo-queue, on the wire.",
        read: |it, out| {
            out.each_port(it, |at| Some(Value::Whole(lscc(at)?.pseudo_queue.longest_wire_bytes)));
        },
    },
    Metric {
        kind: Kind::Counter,
        name: "lscc_cnps",
        measure: Measure::Number,
        help: "CNPs generated by the gateway (direct), and CNPs from the far side, by whether their flow is known.",
        read: |it, out| {
            out.each_port_by(it, "kind", |at| {
                let cnps = &lscc(at)?.cnps;
                Some([
                    ("direct", Value::Whole(cnps.direct)),
                    ("far", Value::Whole(cnps.far)),
                    ("far_unknown", Value::Whole(cnps.far_unknown)),
                ])
            });
        },
    },
    Metric {
        kind: Kind::Counter,
        name: "lscc_cnps_suppressed",
        measure: Measure::Number,
        help: "CNPs from the far side that were not forwarded.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(lscc(at)?.cnps.far_suppressed))),
    },
    Metric {
        kind: Kind::Counter,
        name: "lscc_senders",
        measure: Measure::Number,
        help: "Packets marked instead of sending a CNP, marks removed because a CNP was sent, senders not notified.",
        read: |it, out| {
            out.each_port_by(it, "result", |at| {
                let cnps = &lscc(at)?.cnps;
                Some([
                    ("marked_instead", Value::Whole(cnps.marked_instead)),
                    ("mark_removed", Value::Whole(cnps.marks_removed)),
                    ("not_notified", Value::Whole(cnps.not_notified)),
                ])
            });
        },
    },
    Metric {
        kind: Kind::Gauge,
        name: "lscc_flows",
        measure: Measure::Number,
        help: "Known flows, by whether they carry data and their sender is known.",
        read: |it, out| {
            out.each_port_by(it, "state", |at| {
                let flows = &lscc(at)?.flows;
                let other = flows.known.saturating_sub(flows.resolved + flows.unresolved);
                Some([
                    ("resolved", Value::Whole(flows.resolved.into())),
                    ("unresolved", Value::Whole(flows.unresolved.into())),
                    ("other", Value::Whole(other.into())),
                ])
            });
        },
    },
    Metric {
        kind: Kind::Gauge,
        name: "lscc_flow_capacity",
        measure: Measure::Number,
        help: "Capacity of the flow table.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(lscc(at)?.flows.capacity.into()))),
    },
    Metric {
        kind: Kind::Counter,
        name: "lscc_flows_removed",
        measure: Measure::Number,
        help: "Flows removed from the table, by reason.",
        read: |it, out| {
            out.each_port_by(it, "reason", |at| {
                let flows = &lscc(at)?.flows;
                Some([("aged", Value::Whole(flows.aged)), ("evicted", Value::Whole(flows.evicted))])
            });
        },
    },
];

fn bifrost(port: &WirePortReport) -> Option<&BifrostReport> {
    port.port.bifrost.as_ref()
}

fn lscc(port: &WirePortReport) -> Option<&LsccReport> {
    port.port.lscc.as_ref()
}
