//! Whole networks in virtual time.

use crate::P3;
use crate::settings::{host_mac, host_v4, port_mac};
use core::net::Ipv4Addr;
use endpoint::{CongestionControl, FlowId, GoBackN, HostSettings, Station, Transport};
use simulation::{
    Ending, Faults, FlowRecord, FlowSpec, LinkEnd, LinkSpec, NetworkSpec, NodeId, NodeKind, NodeSpec,
    Observer, Options, Outcome, Simulation, Tap,
};
use std::sync::Arc;
use switch::program::Settings;
use switch::{Event, Program};
use units::{BitRate, Bytes, Interval, Nanos, PortId, Priority, PrioritySet};
use wire::ethernet::MacAddress;
use wire::ip::Dscp;

/// The wire bytes of a packet with 4096 bytes of payload: 58 bytes of headers and ICRC, and 24 around the
/// frame.
pub const PACKET: u64 = 4_096 + 58 + 24;

/// A network that grows.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The network so far.
    pub network: NetworkSpec,
}

impl Plan {
    /// Adds a switch.
    ///
    /// # Panics
    /// Where its settings do not hold.
    pub fn switch(&mut self, settings: Settings) -> NodeId {
        let program = Program::new(settings).expect("settings of a test hold");
        self.add(NodeKind::Switch { program: Arc::new(program), lanes: 1 })
    }

    /// Gives all of its switches so many lanes.
    pub fn with_lanes(mut self, count: usize) -> Self {
        for node in &mut self.network.nodes {
            if let NodeKind::Switch { lanes, .. } = &mut node.kind {
                *lanes = count;
            }
        }
        self
    }

    /// Adds a host.
    pub fn host(&mut self, settings: HostSettings) -> NodeId {
        self.add(NodeKind::Host(Arc::new(settings)))
    }

    fn add(&mut self, kind: NodeKind) -> NodeId {
        let number = self.network.nodes.len() as u32;
        self.network.nodes.push(NodeSpec { name: format!("node{number}"), kind });
        NodeId(number)
    }

    /// Joins two ports; returns the number of the link.
    pub fn join(&mut self, ends: [(NodeId, PortId); 2], rate: BitRate, delay: Interval) -> usize {
        let ends = ends.map(|(node, port)| LinkEnd { node, port });
        self.network.links.push(LinkSpec { ends, rate, delay, faults: [Faults::default(); 2] });
        self.network.links.len() - 1
    }

    /// Runs it to its end, and records events where frames are captured.
    ///
    /// # Panics
    /// Where an invariant does not hold.
    pub fn run(&self, options: Options, flows: &[FlowSpec]) -> (Outcome, Seen) {
        let (mut seen, recorded) = (Seen::default(), options.taps.clone());
        let mut simulation = Simulation::new(self.network.clone(), options);
        simulation.record_events(&recorded);
        let outcome = simulation.run(flows.iter().cloned(), &mut seen);
        (outcome.unwrap_or_else(|violation| panic!("{violation}")), seen)
    }
}

/// The flows and frames that were seen in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Flows that have ended, in the order of their ends.
    pub flows: Vec<FlowRecord>,
    /// Frames at taps: where, when, the headers, and the length.
    pub frames: Vec<(Tap, Nanos, Vec<u8>, Bytes)>,
    /// Events of switches.
    pub events: Vec<(NodeId, Event)>,
}

impl Observer for Seen {
    fn completed(&mut self, record: &FlowRecord) {
        self.flows.push(record.clone());
    }

    fn captured(&mut self, tap: Tap, at: Nanos, headers: &[u8], length: Bytes) {
        self.frames.push((tap, at, headers.to_vec(), length));
    }

    fn event(&mut self, switch: NodeId, event: &Event) {
        self.events.push((switch, *event));
    }
}

/// A host with packets of 4096 bytes at `rate`, whose frames all go to `next_hop`. It obeys PFC for the
/// lossless priorities, and waits for seconds until it sends something again.
pub fn host(mac: MacAddress, address: Ipv4Addr, next_hop: MacAddress, rate: BitRate) -> HostSettings {
    let go_back_n = GoBackN { retransmission_timeout: Interval::from_secs(10), ..GoBackN::default() };
    HostSettings {
        station: Station { mac, address: address.into() },
        next_hop,
        rate,
        mtu: 4_096,
        lossless: PrioritySet::EMPTY.with(P3).with(crate::P4),
        dscp: core::array::from_fn(|priority| Dscp::from_low_bits(priority as u8 * 8)),
        control_priority: None,
        transport: Transport::GoBackN(go_back_n),
        congestion_control: CongestionControl::None,
        cnp_interval: None,
        connection_management: None,
    }
}

/// The host behind a port of a router ([`crate::settings::routed`]).
pub fn host_behind(port: PortId, rate: BitRate) -> HostSettings {
    host(host_mac(port), host_v4(port), port_mac(port), rate)
}

/// Host 0 or 1 of a pair whose frames no one routes.
pub fn host_of_pair(number: u16, rate: BitRate) -> HostSettings {
    let [this, other] = [number, 1 - number].map(PortId);
    host(host_mac(this), host_v4(this), host_mac(other), rate)
}

/// A flow of priority 3 from the start on.
pub fn flow(id: u32, source: NodeId, destination: NodeId, bytes: u64) -> FlowSpec {
    FlowSpec {
        id: FlowId(id),
        start: Nanos::ZERO,
        source,
        destination,
        bytes: Some(bytes),
        stop: None,
        again_until: None,
        priority: P3,
        group: 0,
    }
}

/// A flow without end that is stopped.
pub fn endless(flow: FlowSpec, priority: Priority, start: Nanos, stop: Nanos) -> FlowSpec {
    FlowSpec { bytes: None, start, stop: Some(stop), priority, ..flow }
}

/// Options for runs of up to ten seconds.
pub fn options() -> Options {
    let limit = Nanos(10_000_000_000);
    Options { until: limit, limit, stall: Interval::from_secs(1), ..Options::default() }
}

/// Asserts that all flows have ended and nothing was dropped or lost.
///
/// # Panics
/// Otherwise.
pub fn assert_lossless(outcome: &Outcome) {
    assert_eq!(outcome.ending, Ending::Finished);
    assert_eq!(outcome.flows_started, outcome.flows_ended);
    assert_eq!(outcome.balance.lost.frames, 0);
    assert!(outcome.hosts.iter().all(|host| host.counters.retransmitted == 0));
}
