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
        help: "Slots of Bifrost that have ended, by how much of them was granted.",
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
        help: "What Bifrost has granted, on the wire.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(bifrost(at)?.granted_wire_bytes))),
    },
    Metric {
        kind: Kind::Counter,
        name: "bifrost_granted_late",
        measure: Measure::Bytes,
        help: "What Bifrost has charged because slots ended late, on the wire.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(bifrost(at)?.granted_late_wire_bytes))),
    },
    Metric {
        kind: Kind::Gauge,
        name: "bifrost_buffer",
        measure: Measure::Bytes,
        help: "H: the buffer that Bifrost keeps within, on the wire.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(bifrost(at)?.buffer_wire_bytes))),
    },
    Metric {
        kind: Kind::Gauge,
        name: "bifrost_fullest",
        measure: Measure::Bytes,
        help: "The most that queue and virtual incoming bytes came to, on the wire.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(bifrost(at)?.fullest_wire_bytes))),
    },
    Metric {
        kind: Kind::Gauge,
        name: "bifrost_virtual_incoming",
        measure: Measure::Bytes,
        help: "F at the end of the last slot: what may still come in, on the wire.",
        read: |it, out| {
            out.each_port(it, |at| Some(Value::Whole(at.slot.as_ref()?.incoming_wire_bytes)));
        },
    },
    Metric {
        kind: Kind::Histogram,
        name: "bifrost_slot_lateness",
        measure: Measure::Seconds,
        help: "How late slots of Bifrost ended.",
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
        name: "lscc_rate_told",
        measure: Measure::BytesPerSecond,
        help: "The rate that was told to the far end last.",
        read: |it, out| {
            out.each_port(it, |at| Some(Value::BitsPerSecond(lscc(at)?.rates_told.last_bits_per_second?)));
        },
    },
    Metric {
        kind: Kind::Gauge,
        name: "lscc_rate_heard",
        measure: Measure::BytesPerSecond,
        help: "The rate of the far end that holds; none where nothing is limited.",
        read: |it, out| {
            out.each_port(it, |at| Some(Value::BitsPerSecond(lscc(at)?.feedback.last_bits_per_second?)));
        },
    },
    Metric {
        kind: Kind::Counter,
        name: "lscc_messages_told",
        measure: Measure::Number,
        help: "Intervals that ended, each with a message to the far end.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(lscc(at)?.rates_told.intervals))),
    },
    Metric {
        kind: Kind::Counter,
        name: "lscc_messages_heard",
        measure: Measure::Number,
        help: "Messages of the far end, by what became of them.",
        read: |it, out| {
            out.each_port_by(it, "result", |at| {
                let heard = &lscc(at)?.feedback;
                Some([
                    ("accepted", Value::Whole(heard.accepted)),
                    ("malformed", Value::Whole(heard.malformed)),
                    ("foreign", Value::Whole(heard.foreign)),
                    ("other_version", Value::Whole(heard.other_version)),
                    ("forged", Value::Whole(heard.forged)),
                    ("unconfirmed", Value::Whole(heard.unconfirmed)),
                    ("stale", Value::Whole(heard.stale)),
                    ("ahead", Value::Whole(heard.ahead)),
                    ("challenge", Value::Whole(heard.challenges)),
                ])
            });
        },
    },
    Metric {
        kind: Kind::Counter,
        name: "lscc_challenges_sent",
        measure: Measure::Number,
        help: "Challenges to the far end, to show that what it says is new.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(lscc(at)?.feedback.challenged))),
    },
    Metric {
        kind: Kind::Counter,
        name: "lscc_lapses",
        measure: Measure::Number,
        help: "Times that a limit was given up because messages failed to come.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(lscc(at)?.feedback.lapsed))),
    },
    Metric {
        kind: Kind::Histogram,
        name: "lscc_interval_lateness",
        measure: Measure::Seconds,
        help: "How late intervals of LSCC ended.",
        read: |it, out| out.each_port(it, |at| Some(Value::Delay(&lscc(at)?.rates_told.lateness))),
    },
    Metric {
        kind: Kind::Gauge,
        name: "lscc_pseudo_queue",
        measure: Measure::Bytes,
        help: "What is in the pseudo-queue, on the wire.",
        read: |it, out| out.each_port(it, |at| at.pseudo_queue_wire_bytes.map(Value::Whole)),
    },
    Metric {
        kind: Kind::Gauge,
        name: "lscc_pseudo_queue_watermark",
        measure: Measure::Bytes,
        help: "The most that was in the pseudo-queue, on the wire.",
        read: |it, out| {
            out.each_port(it, |at| Some(Value::Whole(lscc(at)?.pseudo_queue.longest_wire_bytes)));
        },
    },
    Metric {
        kind: Kind::Counter,
        name: "lscc_cnps",
        measure: Measure::Number,
        help: "CNPs: made by the gateway (direct), and from the far side by whether their flow is known.",
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
        name: "lscc_cnps_thinned",
        measure: Measure::Number,
        help: "CNPs from the far side that were not passed on.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(lscc(at)?.cnps.far_thinned))),
    },
    Metric {
        kind: Kind::Counter,
        name: "lscc_senders",
        measure: Measure::Number,
        help: "Packets marked in place of a CNP, marks taken off for one, senders not told.",
        read: |it, out| {
            out.each_port_by(it, "result", |at| {
                let cnps = &lscc(at)?.cnps;
                Some([
                    ("marked_instead", Value::Whole(cnps.marked_instead)),
                    ("mark_removed", Value::Whole(cnps.marks_removed)),
                    ("not_told", Value::Whole(cnps.not_told)),
                ])
            });
        },
    },
    Metric {
        kind: Kind::Gauge,
        name: "lscc_flows",
        measure: Measure::Number,
        help: "Flows that are known, by whether they carry data, and have a known sender.",
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
        help: "Flows that the table has room for.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(lscc(at)?.flows.capacity.into()))),
    },
    Metric {
        kind: Kind::Counter,
        name: "lscc_flows_forgotten",
        measure: Measure::Number,
        help: "Flows that were forgotten, by why.",
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
