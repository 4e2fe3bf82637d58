//! The errors of a configuration, with the values needed to correct it.

use super::bundle::BundleError;
use super::remap::RemapError;
use crate::congestion::red::RedError;
use crate::congestion::{LsccPortsError, NotifiersError};
use crate::flow_control::FlowControlError;
use crate::repair::RepairError;
use core::net::IpAddr;
use units::{BitRate, Bytes, Interval, Priority, QueueId};
use wire::int::LinkRate;

/// An error in [`super::Settings`]. `port` is the port's name throughout.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each message names its fields")]
pub enum ProgramError {
    #[error("{count} ports are out of range; expected 1 to {most}")]
    PortCount { count: usize, most: usize },
    #[error("two ports are called \"{port}\"")]
    DuplicateName { port: String },
    #[error("port {port}: {error}")]
    Port { port: String, error: PortError },
    #[error("port {port}, priority {priority}: {error}")]
    Group { port: String, priority: Priority, error: GroupError },
    #[error("port {port}, priority {priority}: {error}")]
    Queue { port: String, priority: Priority, error: QueueError },
    #[error("port {port}: {error}")]
    Bundle { port: String, error: BundleError },
    #[error(transparent)]
    LsccPorts(#[from] LsccPortsError),
    #[error(
        "the egress pool of lossy queues ({egress_lossy}) exceeds the shared pool ({shared}), so lossy frames could use headroom"
    )]
    LossyAboveShared { egress_lossy: Bytes, shared: Bytes },
    #[error("{what} names port number {port}, but the switch has {count} ports")]
    UnknownPort { what: String, port: usize, count: usize },
    #[error("port {port} is patched to itself")]
    PatchedToItself { port: String },
    #[error("port {port} is patched to two ports")]
    PatchedTwice { port: String },
    #[error("{prefix} is not a prefix: bits beyond its length are set, or the length is too long")]
    Prefix { prefix: String },
    #[error("the route to {prefix} has no next hop")]
    NoNextHop { prefix: String },
    #[error("the next hop {next_hop} of the route to {prefix} is not a neighbour")]
    UnknownNextHop { prefix: String, next_hop: IpAddr },
    #[error("the neighbour {neighbour} has a group address")]
    NeighbourGroupAddress { neighbour: IpAddr },
    #[error("{prefix} has two entries")]
    DuplicatePrefix { prefix: String },
    #[error(
        "frames of the kernel leave in priority {priority}, which is lossless at port {port}; expected a lossy one"
    )]
    KernelPriority { port: String, priority: Priority },
    #[error(
        "port {port} tells senders of congestion, which it knows by flows that keep their next hop; equal next hops have to be chosen by flow"
    )]
    Sprayed { port: String },
    #[error("a bridge table of {capacity} addresses is out of range; expected 1 to {most}")]
    BridgeCapacity { capacity: u32, most: u32 },
}

/// An error in the settings of one port.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each message names its fields")]
pub enum PortError {
    #[error("a longest frame of {given} is out of range; expected {least} to {most}")]
    MaxFrame { given: Bytes, least: Bytes, most: Bytes },
    #[error("in-band telemetry has no code for a rate of {rate}; it has codes for {}", LinkRate::VALID)]
    TelemetryRate { rate: BitRate },
    #[error("the MAC address is a group address")]
    GroupAddress,
    #[error("a PFC pause of zero quanta resumes the peer at once")]
    ZeroPause,
    #[error(transparent)]
    FlowControl(#[from] FlowControlError),
    #[error(transparent)]
    Remap(#[from] RemapError),
    #[error(transparent)]
    Notifiers(#[from] NotifiersError),
    #[error(transparent)]
    Repair(#[from] RepairError),
    #[error("a watchdog {what} time of {given} is out of range; expected {least} to {most}")]
    WatchdogTime { what: &'static str, given: Interval, least: Interval, most: Interval },
    #[error("peer delay every {given} is out of range; expected {least} to {most}")]
    LinkDelayInterval { given: Interval, least: Interval, most: Interval },
    #[error("LLDP every {given} is out of range; expected {least} to {most}")]
    LinkAgentInterval { given: Interval, least: Interval, most: Interval },
    #[error("{count} queues are out of range; expected {least} to {most}")]
    QueueCount { count: usize, least: usize, most: usize },
    #[error("{queue} must belong to the priority of its number, not to priority {priority}")]
    FirstQueues { queue: QueueId, priority: Priority },
}

/// An error in the settings of a priority group.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message names its fields")]
pub enum GroupError {
    #[error("XON ({xon}) is above XOFF ({xoff}), so pauses would flap")]
    XonAboveXoff { xon: Bytes, xoff: Bytes },
    #[error("XOFF ({xoff}) must be above the reserved bytes ({reserved})")]
    XoffWithinReserved { xoff: Bytes, reserved: Bytes },
    #[error("XOFF ({xoff}) without the reserved bytes exceeds the shared pool ({shared})")]
    XoffAbovePool { xoff: Bytes, shared: Bytes },
    #[error("the headroom ({headroom}) exceeds the headroom pool ({pool})")]
    HeadroomAbovePool { headroom: Bytes, pool: Bytes },
    #[error("the port obeys pauses for this priority, which is not lossless")]
    ObeysLossy,
}

/// An error in the settings of a queue.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum QueueError {
    /// Its marking rule is wrong.
    #[error(transparent)]
    Red(#[from] RedError),
    /// Its weight is zero, so that it would never have a turn.
    #[error("a weight of 0 is out of range; expected 1 to 255")]
    ZeroWeight,
}

/// A setting that cannot change while the switch runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message names its fields")]
pub enum NotLive {
    #[error(
        "the number of ports cannot change while the gateway runs (currently {running}, requested {wanted})"
    )]
    PortCount { running: usize, wanted: usize },
    #[error(
        "ports cannot be renamed or reordered while the gateway runs (currently \"{running}\", requested \"{wanted}\")"
    )]
    PortName { running: String, wanted: String },
    #[error("port {port}: queues and their priorities cannot change while the gateway runs")]
    Queues { port: String },
    #[error(
        "port {port}: its bundle, and the mac by which the other gateway knows it, cannot change while the gateway runs"
    )]
    Bundle { port: String },
    #[error(
        "ports {port} and {other} are on different cores, and cannot begin to exchange frames or pauses while the gateway runs"
    )]
    Team { port: String, other: String },
}
