//! Where a frame goes: by patch, by learning bridge, or by routes.

mod address;
mod blocks;
mod bridge;
mod flow;
mod local;
mod patch;
mod route;

pub use bridge::{BridgeCounters, BridgeSettings};
pub use route::{Neighbour, Route, RouteSettings};

pub(crate) use bridge::Bridge;
pub(crate) use local::Addresses;
pub(crate) use patch::Patch;
pub(crate) use route::RouteTable;

use crate::program::{PortSettings, ProgramError, Settings};
use crate::reason::{Consumed, DropReason};
use units::PortId;

/// How a switch forwards. All its ports do the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForwardingSettings {
    /// Pairs of ports that are wired to each other: what comes in through one leaves through the
    /// other, unchanged.
    Patch(Vec<(PortId, PortId)>),
    /// A learning bridge over all ports (IEEE 802.1Q clause 8), each VLAN by itself.
    Bridge(BridgeSettings),
    /// IPv4 and IPv6 routes with static neighbours.
    Route(RouteSettings),
}

impl ForwardingSettings {
    pub(crate) fn validate(&self, ports: &[PortSettings]) -> Result<(), ProgramError> {
        match self {
            Self::Patch(pairs) => patch::validate(pairs, ports),
            Self::Bridge(settings) => settings.validate(),
            Self::Route(settings) => settings.validate(ports),
        }
    }
}

/// What the forwarding decision says of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Out through this port.
    Forward(PortId),
    /// Out through every port but its own.
    Flood,
    /// The frame was rewritten into its own answer: back through its port.
    Answer(Consumed),
    /// The gateway keeps it.
    Consume(Consumed),
    Drop(DropReason),
}

/// The tables of a program, built with it and never changed.
pub(crate) enum Forwarding {
    Patch(Patch),
    /// What a bridge learns belongs to the shard.
    Bridge,
    Route(Box<RouteTable>),
}

impl Forwarding {
    pub fn new(settings: &Settings) -> Self {
        match &settings.forwarding {
            ForwardingSettings::Patch(pairs) => Self::Patch(Patch::new(pairs, settings.ports.len())),
            ForwardingSettings::Bridge(_) => Self::Bridge,
            ForwardingSettings::Route(route) => Self::Route(Box::new(RouteTable::new(route, settings))),
        }
    }
}

fn known_port(port: PortId, what: &str, ports: &[PortSettings]) -> Result<(), ProgramError> {
    if port.index() < ports.len() {
        return Ok(());
    }
    Err(ProgramError::UnknownPort { what: what.into(), port: port.index(), count: ports.len() })
}
