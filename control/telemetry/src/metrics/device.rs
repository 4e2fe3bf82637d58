//! Metrics of ports and of the devices behind them.

use super::kind::{Kind, Measure};
use super::metric::Metric;
use super::samples::{Samples, Value};
use crate::snapshot::{Snapshot, WirePortReport};
use report::{ByReason, Count};
use switch::{Consumed, DropReason};

/// Metrics of ports.
pub static PORTS: &[Metric] = &[
    Metric {
        kind: Kind::Info,
        name: "port",
        measure: Measure::Number,
        help: "Device behind the port.",
        read: |it, out| {
            for port in &it.ports {
                let device = &port.device;
                let labels =
                    [("port", port.port.name.as_str()), ("device", &device.name), ("driver", &device.driver)];
                out.add(labels, Value::Info);
            }
        },
    },
    Metric {
        kind: Kind::Gauge,
        name: "link_up",
        measure: Measure::Number,
        help: "Whether the link is up, 1 or 0.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(at.device.link_up.into()))),
    },
    Metric {
        kind: Kind::Gauge,
        name: "port_rate",
        measure: Measure::BytesPerSecond,
        help: "Rate of the link.",
        read: |it, out| {
            out.each_port(it, |at| Some(Value::BitsPerSecond(at.port.rate_bits_per_second)));
        },
    },
    Metric {
        kind: Kind::Counter,
        name: "port_frames",
        measure: Measure::Number,
        help: "Frames received, and data frames sent.",
        read: |it, out| port_volumes(it, out, |count| count.frames),
    },
    Metric {
        kind: Kind::Counter,
        name: "port",
        measure: Measure::Bytes,
        help: "Bytes of frames received and of data frames sent, without FCS.",
        read: |it, out| port_volumes(it, out, |count| count.bytes),
    },
    Metric {
        kind: Kind::Counter,
        name: "control_frames",
        measure: Measure::Number,
        help: "Control frames that the gateway generated and sent: PFC, rate feedback, direct CNPs.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(at.port.control_out.frames))),
    },
    Metric {
        kind: Kind::Counter,
        name: "consumed_frames",
        measure: Measure::Number,
        help: "Frames that the gateway consumed instead of forwarding them, by kind.",
        read: |it, out| {
            out.each_port_by(it, "kind", |at| {
                Some(Consumed::ALL.map(|kind| (kind.name(), frames(&at.port.consumed, kind.name()))))
            });
        },
    },
    Metric {
        kind: Kind::Counter,
        name: "dropped_frames",
        measure: Measure::Number,
        help: "Dropped frames by reason: received on this port (receive), or queued for it (transmit).",
        read: |it, out| {
            for port in &it.ports {
                drops(port, out);
            }
        },
    },
];

/// Metrics of devices, and of the links that are emulated behind them.
pub static DEVICES: &[Metric] = &[
    Metric {
        kind: Kind::Counter,
        name: "device_frames",
        measure: Measure::Number,
        help: "Frames received from and sent to the device, control frames included.",
        read: |it, out| {
            out.each_port_by(it, "direction", |at| {
                let sent = at.counters.sent + at.counters.control.sent;
                Some([("receive", Value::Whole(at.counters.received)), ("transmit", Value::Whole(sent))])
            });
        },
    },
    Metric {
        kind: Kind::Counter,
        name: "device_missed_frames",
        measure: Measure::Number,
        help: "Frames lost because the receive ring was full.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(at.counters.hardware.missed))),
    },
    Metric {
        kind: Kind::Counter,
        name: "device_no_mbuf_frames",
        measure: Measure::Number,
        help: "Frames lost because no packet buffer was free.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(at.counters.hardware.no_mbuf))),
    },
    Metric {
        kind: Kind::Counter,
        name: "device_errors",
        measure: Measure::Number,
        help: "Frames received with errors, and frames that could not be sent.",
        read: |it, out| {
            out.each_port_by(it, "direction", |at| {
                let hardware = &at.counters.hardware;
                let (receive, transmit) = (hardware.receive_errors, hardware.transmit_errors);
                Some([("receive", Value::Whole(receive)), ("transmit", Value::Whole(transmit))])
            });
        },
    },
    Metric {
        kind: Kind::Counter,
        name: "device_full",
        measure: Measure::Number,
        help: "Times the device was full and frames had to wait.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(at.counters.full))),
    },
    Metric {
        kind: Kind::Counter,
        name: "device_drained_frames",
        measure: Measure::Number,
        help: "Data frames dropped because they arrived while the gateway was draining.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(at.counters.drained))),
    },
    Metric {
        kind: Kind::Counter,
        name: "device_unsendable_frames",
        measure: Measure::Number,
        help: "Data frames dropped because they span several packet buffers and the device can send only one.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(at.counters.unsendable))),
    },
    Metric {
        kind: Kind::Counter,
        name: "device_control_lost_frames",
        measure: Measure::Number,
        help: "Control frames lost at the device.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(at.counters.control.lost))),
    },
    Metric {
        kind: Kind::Counter,
        name: "emulation_frames",
        measure: Measure::Number,
        help: "Frames on the emulated link, by outcome.",
        read: |it, out| {
            out.each_port_by(it, "result", |at| {
                let link = at.emulation.as_ref()?;
                Some([
                    ("delivered", Value::Whole(link.delivered)),
                    ("lost", Value::Whole(link.lost)),
                    ("duplicated", Value::Whole(link.duplicated)),
                    ("reordered", Value::Whole(link.reordered)),
                    ("overflowed", Value::Whole(link.overflowed)),
                ])
            });
        },
    },
    Metric {
        kind: Kind::Gauge,
        name: "emulation_in_flight_frames",
        measure: Measure::Number,
        help: "Frames currently on the emulated link.",
        read: |it, out| out.each_port(it, |at| Some(Value::Whole(at.emulation.as_ref()?.in_flight))),
    },
];

fn port_volumes<'a>(snapshot: &'a Snapshot, out: &mut Samples<'a>, of: fn(Count) -> u64) {
    out.each_port_by(snapshot, "direction", |at| {
        let (arrived, left) = (of(at.port.arrived), of(at.port.out));
        Some([("receive", Value::Whole(arrived)), ("transmit", Value::Whole(left))])
    });
}

/// Every reason is there from the start, so that a first drop shows as an increase.
fn drops<'a>(port: &'a WirePortReport, out: &mut Samples<'a>) {
    let report = &port.port;
    let places = [("receive", &report.dropped_at_ingress), ("transmit", &report.dropped_at_egress)];
    for (direction, dropped) in places {
        for reason in DropReason::ALL.map(DropReason::name) {
            let labels = [("port", report.name.as_str()), ("direction", direction), ("reason", reason)];
            out.add(labels, frames(dropped, reason));
        }
    }
}

fn frames<'a>(counts: &ByReason, name: &'static str) -> Value<'a> {
    Value::Whole(counts.get(name).map_or(0, |count| count.frames))
}
