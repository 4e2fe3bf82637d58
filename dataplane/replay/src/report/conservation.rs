//! The check that every frame is accounted for.
//!
//! The two sides of each equation are counted independently: offered and written frames by the replay, and
//! everything in between by the switch's counters and its ledger.

use crate::capture::CaptureSink;
use crate::gateway::Gateway;
use serde::Serialize;
use switch::Volume;
use units::{PortId, Priority};

/// The check of all ports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conservation {
    /// Whether it holds for every port. If not, the gateway has a bug.
    pub holds: bool,
    /// The ports in the order of the configuration.
    pub ports: Vec<PortConservation>,
}

/// The check of one port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PortConservation {
    /// The port.
    pub port: String,
    /// Whether both of its equations hold.
    pub holds: bool,
    /// Frames that arrived at it.
    pub ingress: WhereFramesWent,
    /// Frames that left through it.
    pub egress: Leaving,
}

/// `arrived + copies + answers = transmitted + dropped + consumed + queued`, in frames and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WhereFramesWent {
    /// Frames given to the switch at this port.
    pub arrived: Volume,
    /// Additional copies made of them by flooding.
    pub copies: Volume,
    /// Answers of the gateway; the frames that asked are consumed.
    pub answers: Volume,
    /// Frames that left, through any port.
    pub transmitted: Volume,
    /// Frames dropped before admission.
    pub dropped_at_ingress: Volume,
    /// Frames dropped at the queue of any port.
    pub dropped_at_egress: Volume,
    /// Frames consumed by the gateway.
    pub consumed: Volume,
    /// Frames still queued.
    pub queued: Volume,
    /// Whether both sides are equal.
    pub holds: bool,
}

/// `counted = written` for data and control frames, and `counted = ledger` for data frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Leaving {
    /// Data frames, by the counters of the queues.
    pub counted: Volume,
    /// Data frames, by the ledger.
    pub ledger: Volume,
    /// Data frames given to the output.
    pub written: Volume,
    /// Control frames, by their counter.
    pub control_counted: Volume,
    /// Control frames given to the output.
    pub control_written: Volume,
    /// Whether all agree.
    pub holds: bool,
}

impl Conservation {
    pub(super) fn of<W: CaptureSink>(gateway: &Gateway<W>) -> Self {
        let settings = gateway.switch.program().settings();
        let ports = gateway.ports().map(|port| {
            let (ingress, egress) = (where_frames_went(gateway, port), leaving(gateway, port));
            let name = settings.ports[port.index()].name.clone();
            PortConservation { port: name, holds: ingress.holds && egress.holds, ingress, egress }
        });
        let ports: Vec<_> = ports.collect();
        Self { holds: ports.iter().all(|port| port.holds), ports }
    }
}

fn where_frames_went<W: CaptureSink>(gateway: &Gateway<W>, port: PortId) -> WhereFramesWent {
    let counters = gateway.inspect(port).ingress;
    let sum = |volumes: &[Volume]| -> Volume { volumes.iter().copied().sum() };
    let over_ports = |of: &dyn Fn(PortId, Priority) -> Volume| -> Volume {
        let cells =
            gateway.ports().flat_map(|egress| Priority::all().map(move |priority| (egress, priority)));
        cells.map(|(egress, priority)| of(egress, priority)).sum()
    };
    let mut went = WhereFramesWent {
        arrived: gateway.offered[port.index()],
        copies: sum(&counters.copies),
        answers: sum(&counters.answers),
        transmitted: over_ports(&|egress, priority| left(gateway, port, egress, priority)),
        dropped_at_ingress: counters.dropped.iter().map(|reasons| sum(reasons.as_slice())).sum(),
        dropped_at_egress: over_ports(&|egress, priority| {
            gateway.switch.total(|lane| lane.ledger().discarded(port, egress, priority))
        }),
        consumed: sum(&counters.consumed),
        queued: over_ports(&|egress, priority| {
            gateway.switch.total(|lane| lane.ledger().occupancy(port, egress, priority).volume)
        }),
        holds: false,
    };
    let came = went.arrived + went.copies + went.answers;
    let dropped = went.dropped_at_ingress + went.dropped_at_egress;
    went.holds = came == went.transmitted + dropped + went.consumed + went.queued;
    went
}

/// The frames of `priority` that came in through one port and have left through another, by the ledgers.
fn left<W: CaptureSink>(gateway: &Gateway<W>, ingress: PortId, egress: PortId, priority: Priority) -> Volume {
    gateway.switch.total(|lane| lane.ledger().sent(ingress, egress, priority))
}

fn leaving<W: CaptureSink>(gateway: &Gateway<W>, port: PortId) -> Leaving {
    let look = gateway.inspect(port);
    let cells = gateway.ports().flat_map(|ingress| Priority::all().map(move |priority| (ingress, priority)));
    let (data, control) = gateway.outputs.sent(port);
    let mut leaving = Leaving {
        counted: look.queues.iter().map(|queue| queue.counters.transmitted).sum(),
        ledger: cells.map(|(ingress, priority)| left(gateway, ingress, port, priority)).sum(),
        written: data,
        control_counted: look.control_sent,
        control_written: control,
        holds: false,
    };
    let waiting: Volume = look.queues.iter().map(|queue| queue.waiting).sum();
    let held: Volume = Priority::all().map(|priority| gateway.waiting(port, priority)).sum();
    leaving.holds = leaving.counted == leaving.ledger
        && leaving.counted == leaving.written
        && leaving.control_counted == leaving.control_written
        && waiting == held;
    leaving
}
