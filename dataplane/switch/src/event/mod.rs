//! Events of a switch: rare changes that an operator wants to see one by one, with their instant.
//!
//! The switch notes them where they happen and gives them out as it gives out frames
//! ([`Shard::take_events`](crate::Shard::take_events)), so that a gateway, a replay and a simulation can record them.
//! Nothing is noted unless [`Shard::record_events`](crate::Shard::record_events) was called, and nothing ever for each frame:
//! drops are counted, and the counts are read now and then.

mod drops;
mod log;
mod spans;

pub(crate) use drops::DropWatch;
pub(crate) use log::Events;
pub(crate) use spans::Spans;

use crate::congestion::ThresholdStep;
use crate::egress::WatchdogChange;
use crate::flow_control::PauseCause;
use crate::flows::FlowChange;
use crate::ledger::Volume;
use crate::liveness::LinkChange;
use crate::reason::DropReason;
use crate::repair::RepairChange;
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos, PortId, Priority};

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The time of the event.
    pub at: Nanos,
    /// The port that it concerns; `None` for [`Happening::Lost`].
    pub port: Option<PortId>,
    /// The priority that it concerns, if it is about one.
    pub priority: Option<Priority>,
    /// The event itself.
    pub what: Happening,
}

/// The event itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Happening {
    /// A priority is paused from now on. Refreshes of the pause are no events.
    Paused {
        /// The direction of the pause.
        direction: PauseDirection,
        /// The cause of a sent pause; `None` for a received one.
        cause: Option<PauseCause>,
        /// The end of the pause if it is neither refreshed nor ended.
        until: Nanos,
    },
    /// A priority is no longer paused.
    Resumed {
        /// The direction of the pause.
        direction: PauseDirection,
        /// The start of the pause.
        since: Nanos,
        /// Whether its time ran out, rather than a frame ending it.
        ran_out: bool,
    },
    /// A priority group reached its threshold, and its sender is to be paused.
    XoffReached {
        /// The cause.
        cause: PauseCause,
        /// Bytes that the group holds.
        held: Bytes,
    },
    /// A priority group fell below its lower threshold, and its sender is to be resumed.
    XonReached {
        /// Bytes that the group holds.
        held: Bytes,
    },
    /// A paused priority group takes headroom, for the first time since it was paused.
    HeadroomEntered {
        /// Bytes of headroom that the group holds.
        held: Bytes,
    },
    /// The watchdog found a queue stormed, or restored it.
    Watchdog(WatchdogChange),
    /// Frames were dropped since the last event of the same half of the port, priority and reason.
    Dropped {
        /// The reason.
        reason: DropReason,
        /// Frames that came in through the port, or frames on their way out.
        half: PortHalf,
        /// The frames.
        volume: Volume,
    },
    /// The ECN thresholds of a queue moved by a step.
    EcnThresholds {
        /// The reason.
        step: ThresholdStep,
        /// Kmin from now on.
        kmin: Bytes,
        /// Kmax from now on.
        kmax: Bytes,
    },
    /// The sender's queue pair of a flow is known, or no longer.
    Flow(FlowChange),
    /// The link of a member of a bundle changed, as its liveness says.
    Link(LinkChange),
    /// Both ends of a repaired link have met, or repair was lost.
    Repair(RepairChange),
    /// Events that found no room.
    Lost {
        /// Their number.
        events: u64,
    },
}

impl Happening {
    /// Its kind.
    pub const fn kind(&self) -> EventKind {
        match self {
            Self::Paused { .. } => EventKind::Pause,
            Self::Resumed { .. } => EventKind::Resume,
            Self::XoffReached { .. } => EventKind::Xoff,
            Self::XonReached { .. } => EventKind::Xon,
            Self::HeadroomEntered { .. } => EventKind::Headroom,
            Self::Watchdog(WatchdogChange::Detected(_)) => EventKind::Storm,
            Self::Watchdog(WatchdogChange::Restored(_)) => EventKind::StormOver,
            Self::Dropped { .. } => EventKind::Drop,
            Self::EcnThresholds { .. } => EventKind::Ecn,
            Self::Flow(_) => EventKind::Flow,
            Self::Link(LinkChange::State { .. }) => EventKind::Liveness,
            Self::Link(LinkChange::Lost { .. }) => EventKind::LostOnLink,
            Self::Link(LinkChange::Crossed { .. }) => EventKind::Crossed,
            Self::Repair(_) => EventKind::Repair,
            Self::Lost { .. } => EventKind::Lost,
        }
    }

    /// Whether a neighbour or a host can cause it as often as it can send frames. Such events leave room for others.
    pub(crate) const fn is_frequent(&self) -> bool {
        match self {
            Self::Paused { .. }
            | Self::Resumed { .. }
            | Self::XoffReached { .. }
            | Self::XonReached { .. }
            | Self::HeadroomEntered { .. }
            | Self::Flow(_) => true,
            Self::Watchdog(_)
            | Self::Dropped { .. }
            | Self::EcnThresholds { .. }
            | Self::Link(_)
            | Self::Repair(_)
            | Self::Lost { .. } => false,
        }
    }
}

units::named! {
    /// The kind of an event.
    EventKind [ALL] {
        /// [`Happening::Paused`].
        Pause = "pause",
        /// [`Happening::Resumed`].
        Resume = "resume",
        /// [`Happening::XoffReached`].
        Xoff = "xoff",
        /// [`Happening::XonReached`].
        Xon = "xon",
        /// [`Happening::HeadroomEntered`].
        Headroom = "headroom",
        /// [`WatchdogChange::Detected`].
        Storm = "storm",
        /// [`WatchdogChange::Restored`].
        StormOver = "storm_over",
        /// [`Happening::Dropped`].
        Drop = "drop",
        /// [`Happening::EcnThresholds`].
        Ecn = "ecn",
        /// [`Happening::Flow`].
        Flow = "flow",
        /// [`LinkChange::State`].
        Liveness = "liveness",
        /// [`LinkChange::Lost`].
        LostOnLink = "lost_on_link",
        /// [`LinkChange::Crossed`].
        Crossed = "crossed",
        /// [`Happening::Repair`].
        Repair = "repair",
        /// [`Happening::Lost`].
        Lost = "lost",
    }
}

units::named! {
    /// The direction of a pause.
    PauseDirection [serde] {
        /// The switch paused its neighbour.
        Sent = "sent",
        /// The neighbour paused the switch.
        Received = "received",
    }
}

units::named! {
    /// A half of a port.
    PortHalf [serde] {
        /// Frames that come in.
        Ingress = "ingress",
        /// Frames on their way out.
        Egress = "egress",
    }
}
