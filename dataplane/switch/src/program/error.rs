//! The errors of a configuration, with the values needed to correct it.

use crate::flow_control::FlowControlError;
use core::net::{IpAddr, Ipv4Addr};
use units::{BitRate, Bytes, Interval, Priority, QueueId};
use wire::int::LinkRate;

/// An error in [`super::Settings`]. `port` is the port's name throughout.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each message names its fields")]
pub enum ProgramError {
    #[error("a switch has 1 to {most} ports, not {count}")]
    PortCount { count: usize, most: usize },
    #[error("two ports are called \"{port}\"")]
    DuplicateName { port: String },
    #[error("port {port}: the longest frame is {least} to {most}, not {given}")]
    MaxFrame { port: String, given: Bytes, least: Bytes, most: Bytes },
    #[error("port {port}: in-band telemetry has no code for {rate}; it has those for {}", LinkRate::VALID)]
    TelemetryRate { port: String, rate: BitRate },
    #[error("port {port}: its address is a group address")]
    GroupAddress { port: String },
    #[error(
        "port {port}, priority {priority}: XON ({xon}) must not be above XOFF ({xoff}), or pauses would flap"
    )]
    XonAboveXoff { port: String, priority: Priority, xon: Bytes, xoff: Bytes },
    #[error("port {port}, priority {priority}: XOFF ({xoff}) must be above the reserved bytes ({reserved})")]
    XoffWithinReserved { port: String, priority: Priority, xoff: Bytes, reserved: Bytes },
    #[error(
        "port {port}, priority {priority}: XOFF ({xoff}) less the reserved bytes does not fit the shared pool ({shared})"
    )]
    XoffAbovePool { port: String, priority: Priority, xoff: Bytes, shared: Bytes },
    #[error(
        "port {port}, priority {priority}: its headroom ({headroom}) is larger than the headroom pool ({pool})"
    )]
    HeadroomAbovePool { port: String, priority: Priority, headroom: Bytes, pool: Bytes },
    #[error(
        "port {port}, priority {priority}: the port obeys pauses for this priority, which is not lossless"
    )]
    ObeysLossy { port: String, priority: Priority },
    #[error("port {port}: a PFC pause of zero quanta resumes the peer at once")]
    ZeroPause { port: String },
    #[error("port {port}: {error}")]
    FlowControl { port: String, error: FlowControlError },
    #[error("port {port}: LSCC needs a lossless priority whose queue it can control")]
    LsccWithoutLossless { port: String },
    #[error(
        "port {port}: LSCC calculates a rate every {least} to {most} here, not every {interval}: at most a round trip apart"
    )]
    LsccInterval { port: String, interval: Interval, least: Interval, most: Interval },
    #[error(
        "port {port}: {count} rates of LSCC would be on their way at a time, and at most {most} are remembered"
    )]
    LsccInFlight { port: String, count: usize, most: usize },
    #[error(
        "port {port}: the least rate of LSCC ({least}) must not be above the most ({most}), nor that above the link's ({rate})"
    )]
    LsccRates { port: String, least: BitRate, most: BitRate, rate: BitRate },
    #[error("port {port}: the queue that LSCC aims at must not be empty")]
    LsccReference { port: String },
    #[error("port {port}: with a pseudo-queue of zero, LSCC slows down an idle link")]
    LsccPseudoReference { port: String },
    #[error("port {port}: direct CNPs of a flow are at least {least} apart, not {interval}")]
    LsccCnpInterval { port: String, interval: Interval, least: Interval },
    #[error(
        "port {port}: a flow that LSCC takes for long has sent at least the BDP of the link, {least}, not {long_flow}; before that nothing else slows it down"
    )]
    LsccLongFlow { port: String, long_flow: Bytes, least: Bytes },
    #[error("port {port}: LSCC knows 1 to {most} flows, not {flows}")]
    LsccFlows { port: String, flows: u32, most: u32 },
    #[error("port {port}: LSCC must keep an idle flow for some time; ageing cannot be zero")]
    LsccAgeing { port: String },
    #[error("port {port}: no host has the address {address}, so LSCC cannot speak from or to it")]
    LsccAddress { port: String, address: Ipv4Addr },
    #[error("port {port}: both ends of LSCC have the address {address}")]
    LsccToItself { port: String, address: Ipv4Addr },
    #[error("ports {port} and {other} both speak LSCC with the address {address}")]
    LsccAddressTwice { port: String, other: String, address: Ipv4Addr },
    #[error(
        "port {port} marks priority {priority}, and gets it from port {long}, where LSCC keeps a queue so that the link is busy: senders would be slowed down for it; take ecn from this queue"
    )]
    LsccMarking { port: String, long: String, priority: Priority },
    #[error("port {port}: the watchdog's {what} time is {least} to {most}, not {given}")]
    WatchdogTime { port: String, what: &'static str, given: Interval, least: Interval, most: Interval },
    #[error("port {port} has {least} to {most} queues, not {count}")]
    QueueCount { port: String, count: usize, least: usize, most: usize },
    #[error("port {port}: {queue} belongs to the priority of its number, not to priority {priority}")]
    FirstQueues { port: String, queue: QueueId, priority: Priority },
    #[error("port {port}, priority {priority}: Kmin ({kmin}) must be below Kmax ({kmax})")]
    RedOrder { port: String, priority: Priority, kmin: Bytes, kmax: Bytes },
    #[error("port {port}, priority {priority}: Pmax is a probability above 0 and up to 1, not {pmax}")]
    RedProbability { port: String, priority: Priority, pmax: f64 },
    #[error("port {port}, priority {priority}: a weight is 1 to 255, not 0")]
    ZeroWeight { port: String, priority: Priority },
    #[error(
        "the egress pool of lossy queues ({egress_lossy}) must not exceed the shared pool ({shared}), or lossy frames could take headroom"
    )]
    LossyAboveShared { egress_lossy: Bytes, shared: Bytes },
    #[error("{what} names port number {port}, but there are {count} ports")]
    UnknownPort { what: String, port: usize, count: usize },
    #[error("port {port} is patched to itself")]
    PatchedToItself { port: String },
    #[error("port {port} is patched to two others")]
    PatchedTwice { port: String },
    #[error("{prefix} is not a prefix: bits beyond its length are set, or the length is too long")]
    Prefix { prefix: String },
    #[error("the route to {prefix} has no next hop")]
    NoNextHop { prefix: String },
    #[error("the route to {prefix} leads to {next_hop}, which is not a neighbour")]
    UnknownNextHop { prefix: String, next_hop: IpAddr },
    #[error("the neighbour {neighbour} has a group address")]
    NeighbourGroupAddress { neighbour: IpAddr },
    #[error("there are two entries for {prefix}")]
    DuplicatePrefix { prefix: String },
    #[error("a bridge table has room for 1 to {most} addresses, not {capacity}")]
    BridgeCapacity { capacity: u32, most: u32 },
}

/// A setting that cannot change while the switch runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message names its fields")]
pub enum NotLive {
    #[error("the number of ports cannot change while the gateway runs ({running} now, {wanted} wanted)")]
    PortCount { running: usize, wanted: usize },
    #[error(
        "ports cannot be renamed or reordered while the gateway runs (\"{running}\" now, \"{wanted}\" wanted)"
    )]
    PortName { running: String, wanted: String },
    #[error("port {port} cannot get other queues, or queues of other priorities, while the gateway runs")]
    Queues { port: String },
}
