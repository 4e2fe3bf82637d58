//! Metrics of ports and of the devices behind them.

use super::metric::metrics;
use super::readers::{Part, each_port, each_port_by, each_port_with};
use super::samples::Sample;
use super::samples::Value::{Info, Number};
use crate::neighbours::NegotiatedReport;
use crate::snapshot::WirePortReport;
use report::ByReason;
use switch::{Consumed, DropReason, Volume};

metrics! {
    /// Metrics of ports.
    metrics_of_ports {
        Info "port": "Device behind the port.", each_port_with(|at| {
            let (device, driver) = (&*at.device.name, &*at.device.driver);
            vec![(vec![("device", device.into()), ("driver", driver.into())], Info)]
        });
        Gauge "link_up": "Whether the link is up, 1 or 0.", each_port(|at| Some(Number(at.device.link_up.into())));
        Gauge "port_rate" in BitsPerSecond: "Rate of the link.",
            each_port(|at| Some(Number(at.port.rate_bits_per_second)));
        Counter "port_frames": "Frames received, and data frames sent.",
            each_port_by("direction", |at| volumes(at, |count| count.frames));
        Counter "port" in Bytes: "Bytes of frames received and of data frames sent, without FCS.",
            each_port_by("direction", |at| volumes(at, |count| count.bytes.0));
        Counter "control_frames":
            "Control frames that the gateway generated and sent: PFC, grants, rate feedback, CNPs, direct INT, peer delay, LLDP.",
            each_port(|at| Some(Number(at.port.control_out.frames)));
        Counter "lost_notifications": "CNPs and other notifications to senders that were lost, by reason.",
            each_port_by("reason", |at| Some([("scheme_stopped", at.lost_notifications)]));
        Gauge "link_delay_covered" in Nanos: "The delay of the link that headroom covers, where a measured one may set it.",
            each_port(|at| Some(Number(at.covered_delay?.covered_ns)));
        Counter "link_delay_changes": "Measured delays of the link, by what came of them: applied to headroom, or refused.",
            each_port_by("result", |at| {
                let covered = at.covered_delay?;
                Some([("applied", covered.applied), ("refused", covered.refused)])
            });
        Gauge "lldp_pfc_turned_off":
            "Whether a neighbour has turned off PFC for a priority that is lossless by the file, 1 or 0.",
            each_port_with(pfc_turned_off);
        Counter "consumed_frames": "Frames that the gateway consumed instead of forwarding them, by kind.",
            each_port_by("kind", |at| {
                Some(Consumed::ALL.map(|kind| (kind.name(), frames(&at.port.consumed, kind.name()))))
            });
        Counter "dropped_frames":
            "Dropped frames by reason: received on this port (receive), or queued for it (transmit).",
            each_port_with(drops);
    }
}

metrics! {
    /// Metrics of devices, and of the emulated links behind them.
    metrics_of_devices {
        Counter "device_frames": "Frames received from and sent to the device, control frames included.",
            each_port_by("direction", |at| {
                let sent = at.counters.sent + at.counters.control.sent;
                Some([("receive", at.counters.received), ("transmit", sent)])
            });
        Counter "device_missed_frames": "Frames lost because the receive ring was full.",
            each_port(|at| Some(Number(at.counters.hardware.missed)));
        Counter "device_no_mbuf_frames": "Frames lost because no packet buffer was free.",
            each_port(|at| Some(Number(at.counters.hardware.no_mbuf)));
        Counter "device_errors": "Frames received with errors, and frames that could not be sent.",
            each_port_by("direction", |at| {
                let hardware = &at.counters.hardware;
                Some([("receive", hardware.receive_errors), ("transmit", hardware.transmit_errors)])
            });
        Counter "device_kept_pauses": "Received pauses that the device counted and kept to itself, as far as its driver counts them.",
            each_port(|at| Some(Number(at.counters.hardware.kept_pauses)));
        Counter "device_full": "Times the device was full and frames had to wait.",
            each_port(|at| Some(Number(at.counters.full)));
        Counter "device_drained_frames": "Data frames dropped because they arrived while the gateway was draining.",
            each_port(|at| Some(Number(at.counters.drained)));
        Counter "device_unsendable_frames":
            "Data frames dropped because they span several packet buffers and the device can send only one.",
            each_port(|at| Some(Number(at.counters.unsendable)));
        Counter "device_control_lost_frames": "Control frames lost at the device.",
            each_port(|at| Some(Number(at.counters.control.lost)));
        Counter "emulation_frames": "Frames on the emulated link, by outcome.",
            each_port_by("result", |at| {
                let link = at.emulation.as_ref()?;
                Some([
                    ("delivered", link.delivered),
                    ("lost", link.lost),
                    ("duplicated", link.duplicated),
                    ("reordered", link.reordered),
                    ("overflowed", link.overflowed),
                ])
            });
        Gauge "emulation_in_flight_frames": "Frames currently on the emulated link.",
            each_port(|at| Some(Number(at.emulation.as_ref()?.in_flight)));
    }
}

fn volumes(at: &WirePortReport, read: fn(Volume) -> u64) -> Option<[Part; 2]> {
    Some([("receive", read(at.port.arrived)), ("transmit", read(at.port.out))])
}

/// Every reason has a sample from the start, so that the first drop shows as an increase.
fn drops(at: &WirePortReport) -> Vec<Sample<'_>> {
    let places = [("receive", &at.port.dropped_at_ingress), ("transmit", &at.port.dropped_at_egress)];
    let samples = places.into_iter().flat_map(|(direction, dropped)| {
        DropReason::ALL.map(DropReason::name).map(|reason| {
            let labels = vec![("direction", direction.into()), ("reason", reason.into())];
            (labels, Number(frames(dropped, reason)))
        })
    });
    samples.collect()
}

/// Each priority of the file has a sample where a neighbour may turn any of them off.
fn pfc_turned_off(at: &WirePortReport) -> Vec<Sample<'_>> {
    let all = at.negotiated.iter().flat_map(|it| it.configured.iter().map(move |priority| (it, *priority)));
    let sample = |(negotiated, priority): (&NegotiatedReport, u8)| {
        (vec![("priority", priority.to_string().into())], Number(negotiated.turned_off(priority).into()))
    };
    all.map(sample).collect()
}

fn frames(counts: &ByReason, name: &str) -> u64 {
    counts.get(name).map_or(0, |count| count.frames)
}
