//! Metrics of the priorities of a port.

use super::metric::metrics;
use super::readers::{by, each_direction, each_priority, each_priority_with};
use super::samples::Sample;
use super::samples::Value::{Delay, Number};
use report::PriorityReport;
use switch::PauseCause;

metrics! {
    /// Metrics of the priorities of each port.
    metrics {
        Counter "priority_frames": "Frames received for forwarding, and frames sent.",
            each_direction(|at, _| [at.ingress.received.frames, at.egress.transmitted.frames]);
        Counter "priority" in Bytes: "Bytes of frames received for forwarding and of frames sent, without FCS.",
            each_direction(|at, _| [at.ingress.received.bytes.0, at.egress.transmitted.bytes.0]);
        Counter "priority_dropped_frames": "Dropped frames by priority and reason; only reasons that occurred.",
            each_priority_with(|at, _| drops(at));
        Gauge "priority_group" in Bytes: "Occupancy of the priority group, headroom included.",
            each_priority(|at, _| Some(Number(at.ingress.occupancy_bytes)));
        Gauge "priority_group_watermark" in Bytes:
            "Highest occupancy of the priority group in reserved and shared bytes.",
            each_priority(|at, _| Some(Number(at.ingress.watermark_bytes)));
        Gauge "headroom" in Bytes: "Headroom that a lossless priority group currently uses.",
            each_priority(|at, now| at.ingress.lossless.then_some(Number(now.headroom_bytes)));
        Gauge "headroom_watermark" in Bytes: "Most headroom that a lossless priority group has used.",
            each_priority(|at, _| at.ingress.lossless.then_some(Number(at.ingress.headroom_watermark_bytes)));
        Gauge "headroom_size" in Bytes: "Headroom available to a lossless priority group.",
            each_priority(|at, _| Some(Number(at.ingress.limits.as_ref()?.headroom_bytes)));
        Histogram "pfc_stop" in Nanos:
            "Time from the start of an XOFF frame to the last frame of the priority that came before the pause ended.",
            each_priority(|at, _| Some(Delay(&at.ingress.stops.as_ref()?.time)));
        Counter "pfc_headroom_pauses": "Pauses that have ended, by the sixteenths of the headroom that they used; only those that occurred.",
            each_priority_with(|at, _| headroom_pauses(at));
        Counter "pfc_disobeyed_frames":
            "Frames that came later after an XOFF than the headroom lasts at the rate of the link.",
            each_priority(|at, _| Some(Number(at.ingress.stops.as_ref()?.disobeyed)));
        Gauge "queue" in Bytes: "Bytes waiting in the egress queue.",
            each_priority(|at, _| Some(Number(at.egress.queued.bytes.0)));
        Gauge "queue_watermark" in Bytes: "Most bytes that have waited in the egress queue.",
            each_priority(|at, _| Some(Number(at.egress.watermark_bytes)));
        Histogram "queue_delay" in Nanos: "Time that frames waited in the egress queue.",
            each_priority(|at, _| Some(Delay(&at.egress.delay)));
        Counter "ecn_marked_frames": "Frames that the gateway marked Congestion Experienced (CE).",
            each_priority(|at, _| Some(Number(at.egress.ecn_marked)));
        Counter "ecn_already_marked_frames": "Frames due to be marked that were already marked on arrival.",
            each_priority(|at, _| Some(Number(at.egress.ecn_already_marked)));
        Counter "pfc_frames": "PFC frames for the priority, by kind.", each_priority_with(|at, _| pfc_frames(at));
        Counter "pfc_pause" in Nanos:
            "Time for which the peer paused the queue (receive) or was paused by the gateway (transmit).",
            each_direction(|at, _| [at.pauses_received.paused_ns, at.pauses_sent.paused_ns]);
        Counter "pfc_pause_cause" in Nanos: "Time for which the gateway paused the peer, by cause.",
            each_priority_with(|at, _| pause_causes(at));
        Gauge "pfc_paused":
            "Whether the peer pauses the queue (receive) or the gateway pauses the peer (transmit), 1 or 0.",
            each_direction(|_, now| [now.paused_by_peer.into(), now.pauses_peer.into()]);
        Counter "pfc_storms": "Pause storms that the watchdog has detected on the queue.",
            each_priority(|at, _| Some(Number(at.egress.watchdog?.counters.storms)));
        Counter "pfc_storms_restored": "Pause storms that have ended.",
            each_priority(|at, _| Some(Number(at.egress.watchdog?.counters.restored)));
        Gauge "pfc_stormed": "Whether a pause storm is in progress on the queue, 1 or 0.",
            each_priority(|at, _| Some(Number(at.egress.watchdog?.stormed.into())));
    }
}

fn drops(at: &PriorityReport) -> Vec<Sample<'_>> {
    let places = [("receive", &at.ingress.dropped), ("transmit", &at.egress.dropped)];
    let samples = places.into_iter().flat_map(|(direction, dropped)| {
        dropped.iter().map(move |(reason, count)| {
            let labels = vec![("direction", direction.into()), ("reason", reason.as_ref().into())];
            (labels, Number(count.frames))
        })
    });
    samples.collect()
}

fn pfc_frames(at: &PriorityReport) -> Vec<Sample<'_>> {
    let (received, sent) = (at.pauses_received.frames, at.pauses_sent.frames);
    let frames = [
        ("receive", "xoff", received.xoff),
        ("receive", "xon", received.xon),
        ("receive", "ignored", received.ignored),
        ("transmit", "xoff", sent.xoff),
        ("transmit", "refresh", sent.refresh),
        ("transmit", "xon", sent.xon),
        ("transmit", "slot", sent.slot),
        ("transmit", "timed", sent.timed),
    ];
    let sample = |(direction, kind, frames): (&'static str, &'static str, _)| {
        (vec![("direction", direction.into()), ("kind", kind.into())], Number(frames))
    };
    frames.map(sample).into()
}

fn headroom_pauses(at: &PriorityReport) -> Vec<Sample<'_>> {
    let stops = at.ingress.stops.iter();
    let pauses = stops.flat_map(|it| (1..).zip(&it.headroom_sixteenths)).filter(|(_, pauses)| **pauses > 0);
    let sample = |(sixteenths, pauses): (u64, &u64)| {
        (vec![("sixteenths", sixteenths.to_string().into())], Number(*pauses))
    };
    pauses.map(sample).collect()
}

fn pause_causes(at: &PriorityReport) -> Vec<Sample<'_>> {
    let causes = PauseCause::ALL.map(|cause| (cause.name(), at.pauses_sent.paused_by(cause)));
    by("cause", at.ingress.lossless.then_some(causes).into_iter().flatten())
}
