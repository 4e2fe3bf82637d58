//! The errors of a configuration, with the values needed to correct it.

use super::remap::RemapError;
use crate::congestion::NotifiersError;
use crate::flow_control::FlowControlError;
use core::net::{IpAddr, Ipv4Addr};
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
    #[error("port {port}: a longest frame of {given} is out of range; expected {least} to {most}")]
    MaxFrame { port: String, given: Bytes, least: Bytes, most: Bytes },
    #[error(
        "port {port}: in-band telemetry has no code for a rate of {rate}; it has codes for {}",
        LinkRate::VALID
    )]
    TelemetryRate { port: String, rate: BitRate },
    #[error("port {port}: the MAC address is a group address")]
    GroupAddress { port: String },
    #[error("port {port}, priority {priority}: XON ({xon}) is above XOFF ({xoff}), so pauses would flap")]
    XonAboveXoff { port: String, priority: Priority, xon: Bytes, xoff: Bytes },
    #[error("port {port}, priority {priority}: XOFF ({xoff}) must be above the reserved bytes ({reserved})")]
    XoffWithinReserved { port: String, priority: Priority, xoff: Bytes, reserved: Bytes },
    #[error(
        "port {port}, priority {priority}: XOFF ({xoff}) without the reserved bytes exceeds the shared pool ({shared})"
    )]
    XoffAbovePool { port: String, priority: Priority, xoff: Bytes, shared: Bytes },
    #[error("port {port}, priority {priority}: the headroom ({headroom}) exceeds the headroom pool ({pool})")]
    HeadroomAbovePool { port: String, priority: Priority, headroom: Bytes, pool: Bytes },
    #[error(
        "port {port}, priority {priority}: the port obeys pauses for this priority, which is not lossless"
    )]
    ObeysLossy { port: String, priority: Priority },
    #[error("port {port}: a PFC pause of zero quanta resumes the peer at once")]
    ZeroPause { port: String },
    #[error("port {port}: {error}")]
    FlowControl { port: String, error: FlowControlError },
    #[error("port {port}: {error}")]
    Remap { port: String, error: RemapError },
    #[error("port {port}: {error}")]
    Notifiers { port: String, error: NotifiersError },
    #[error("port {port}: LSCC needs a lossless priority")]
    LsccWithoutLossless { port: String },
    #[error(
        "port {port}: an LSCC interval of {interval} is out of range; expected {least} to {most}, at most a round trip"
    )]
    LsccInterval { port: String, interval: Interval, least: Interval, most: Interval },
    #[error("port {port}: {count} LSCC rates would be in flight, more than the {most} that LSCC remembers")]
    LsccInFlight { port: String, count: usize, most: usize },
    #[error(
        "port {port}: the lowest LSCC rate ({least}) must not exceed the highest ({most}), nor the highest the link rate ({rate})"
    )]
    LsccRates { port: String, least: BitRate, most: BitRate, rate: BitRate },
    #[error("port {port}: the LSCC reference must be above zero")]
    LsccReference { port: String },
    #[error("port {port}: the LSCC pseudo-reference must be above zero, or LSCC slows down an idle link")]
    LsccPseudoReference { port: String },
    #[error(
        "port {port}: a pseudo-queue limit of {limit} is too low; expected more than the pseudo-reference, {reference}, or LSCC notifies no sender"
    )]
    LsccPseudoLimit { port: String, limit: Bytes, reference: Bytes },
    #[error(
        "port {port}: direct CNPs of a flow every {interval} are too frequent; expected at least {least}"
    )]
    LsccCnpInterval { port: String, interval: Interval, least: Interval },
    #[error(
        "port {port}: the long-flow threshold of {long_flow} is below the BDP of the link, {least}; direct CNPs alone slow down younger flows"
    )]
    LsccLongFlow { port: String, long_flow: Bytes, least: Bytes },
    #[error("port {port}: an LSCC table of {flows} flows is out of range; expected 1 to {most}")]
    LsccFlows { port: String, flows: u32, most: u32 },
    #[error("port {port}: the LSCC ageing time must be above zero")]
    LsccAgeing { port: String },
    #[error("port {port}: LSCC cannot use the address {address}, which no host can have")]
    LsccAddress { port: String, address: Ipv4Addr },
    #[error("port {port}: both ends of LSCC have the address {address}")]
    LsccToItself { port: String, address: Ipv4Addr },
    #[error("ports {port} and {other} both use the address {address} for LSCC")]
    LsccAddressTwice { port: String, other: String, address: Ipv4Addr },
    #[error(
        "port {port} marks priority {priority} from port {long}, where LSCC keeps a queue on purpose, so ECN would slow the senders down; remove ecn from this queue"
    )]
    LsccMarking { port: String, long: String, priority: Priority },
    #[error("port {port}: a watchdog {what} time of {given} is out of range; expected {least} to {most}")]
    WatchdogTime { port: String, what: &'static str, given: Interval, least: Interval, most: Interval },
    #[error("port {port}: peer delay every {given} is out of range; expected {least} to {most}")]
    LinkDelayInterval { port: String, given: Interval, least: Interval, most: Interval },
    #[error(
        "port {port}: LLDP every {interval} that holds for {hold} intervals is out of range; expected 1s to 1h and 1 to 100"
    )]
    LinkAgentTimes { port: String, interval: Interval, hold: u8 },
    #[error("port {port}: {count} queues are out of range; expected {least} to {most}")]
    QueueCount { port: String, count: usize, least: usize, most: usize },
    #[error("port {port}: {queue} must belong to the priority of its number, not to priority {priority}")]
    FirstQueues { port: String, queue: QueueId, priority: Priority },
    #[error("port {port}, priority {priority}: Kmin ({kmin}) must be below Kmax ({kmax})")]
    RedOrder { port: String, priority: Priority, kmin: Bytes, kmax: Bytes },
    #[error(
        "port {port}, priority {priority}: Pmax {pmax} is out of range; expected a probability above 0, up to 1"
    )]
    RedProbability { port: String, priority: Priority, pmax: f64 },
    #[error(
        "port {port}, priority {priority}: adaptive thresholds fall from {kmin} and {kmax} to {least_kmin} and {least_kmax}; the lowest Kmin must be below the lowest Kmax, and neither above the other end"
    )]
    AdaptiveEcnOrder {
        port: String,
        priority: Priority,
        kmin: Bytes,
        kmax: Bytes,
        least_kmin: Bytes,
        least_kmax: Bytes,
    },
    #[error(
        "port {port}, priority {priority}: an interval of {given} for adaptive thresholds is out of range; expected {least} to {most}"
    )]
    AdaptiveEcnInterval { port: String, priority: Priority, given: Interval, least: Interval, most: Interval },
    #[error(
        "port {port}, priority {priority}: an incast of {incast} ports is out of range; expected 2 or more"
    )]
    AdaptiveEcnIncast { port: String, priority: Priority, incast: u32 },
    #[error("port {port}, priority {priority}: a weight of 0 is out of range; expected 1 to 255")]
    ZeroWeight { port: String, priority: Priority },
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
    #[error("a bridge table of {capacity} addresses is out of range; expected 1 to {most}")]
    BridgeCapacity { capacity: u32, most: u32 },
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
        "port {port}: a relay cannot join two ports while the gateway runs, because they may be on two cores"
    )]
    Relay { port: String },
}
