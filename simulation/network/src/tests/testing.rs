//! Small networks for the tests of this crate.

use crate::network::{Faults, FlowSpec, LinkEnd, LinkSpec, NetworkSpec, NodeId, NodeKind, NodeSpec};
use core::net::Ipv4Addr;
use endpoint::{CongestionControl, FlowId, GoBackN, HostSettings, Station, Transport};
use std::sync::Arc;
use switch::program::{BufferSettings, GroupSettings, LosslessGroup, PortSettings, Settings, Threshold};
use switch::{ForwardingSettings, Program};
use units::{BitRate, Bytes, Interval, Nanos, PauseQuanta, PortId, Priority, PrioritySet};
use wire::ethernet::MacAddress;
use wire::ip::Dscp;
use wire::pfc;

pub const RATE: BitRate = BitRate::gigabits(100);
pub const DELAY: Interval = Interval(1_000);
/// The lossless priority of all these networks.
pub const P3: Priority = Priority::from_low_bits(3);

fn port(number: u16) -> PortSettings {
    let (name, mac) = (format!("port{number}"), MacAddress([2, 0, 0, 0, 0, number as u8]));
    let mut port = PortSettings::lossy(name, mac, RATE);
    port.groups[3] = GroupSettings::Lossless(LosslessGroup {
        reserved: Bytes::ZERO,
        xoff: Threshold::Static(Bytes(100_000)),
        xon: Bytes(50_000),
        xon_offset: Bytes::ZERO,
        headroom: Bytes(50_000),
    });
    port.pfc.obey = PrioritySet::EMPTY.with(P3);
    port
}

/// A switch of ports that are patched to each other in pairs.
pub fn patched(pairs: &[(u16, u16)]) -> Settings {
    let ports = 2 * pairs.len() as u16;
    let pairs = pairs.iter().map(|(one, other)| (PortId(*one), PortId(*other))).collect();
    Settings {
        ports: (0..ports).map(port).collect(),
        buffer: BufferSettings {
            shared: Bytes(1_000_000),
            headroom: Bytes(400_000),
            egress_lossy: Bytes(1_000_000),
            packing: None,
        },
        forwarding: ForwardingSettings::Patch(pairs),
        seed: 7,
    }
}

pub fn switch(settings: Settings) -> NodeSpec {
    let program = Program::new(settings).expect("settings of a test hold");
    NodeSpec { name: "switch".to_owned(), kind: NodeKind::Switch { program: Arc::new(program), lanes: 1 } }
}

/// Host `number`, all of whose frames go to host `to`.
pub fn host(number: u8, to: u8) -> NodeSpec {
    let settings = Arc::new(host_settings(number, to));
    NodeSpec { name: format!("host{number}"), kind: NodeKind::Host(settings) }
}

/// The settings of host `number`, all of whose frames go to host `to`.
pub fn host_settings(number: u8, to: u8) -> HostSettings {
    let mac = |number| MacAddress([2, 0, 0, 1, 0, number]);
    HostSettings {
        station: Station { mac: mac(number), address: Ipv4Addr::new(10, 0, 0, number).into() },
        next_hop: mac(to),
        rate: RATE,
        mtu: 1_024,
        lossless: PrioritySet::EMPTY.with(P3),
        dscp: core::array::from_fn(|priority| Dscp::from_low_bits(priority as u8 * 8)),
        control_priority: None,
        transport: Transport::GoBackN(GoBackN::default()),
        congestion_control: CongestionControl::None,
        cnp_interval: None,
        connection_management: None,
    }
}

/// A PFC frame that pauses `priority`.
pub fn pause(priority: Priority, quanta: u16) -> [u8; 60] {
    let source = MacAddress([2, 0, 0, 1, 0, 1]);
    let mut bytes = [0; 60];
    pfc::Frame::uniform(source, PrioritySet::EMPTY.with(priority), PauseQuanta(quanta))
        .emit(&mut bytes)
        .expect("60 bytes are enough for a control frame");
    bytes
}

pub fn end(node: u32, port: u16) -> LinkEnd {
    LinkEnd { node: NodeId(node), port: PortId(port) }
}

pub fn link(one: LinkEnd, other: LinkEnd) -> LinkSpec {
    LinkSpec { ends: [one, other], rate: RATE, delay: DELAY, faults: [Faults::default(); 2] }
}

/// Two hosts, nodes 0 and 1, at both ends of a switch, node 2. Link 0 leads from host 0 to the switch, and
/// link 1 from the switch to host 1.
pub fn line() -> NetworkSpec {
    NetworkSpec {
        nodes: vec![host(0, 1), host(1, 0), switch(patched(&[(0, 1)]))],
        links: vec![link(end(0, 0), end(2, 0)), link(end(2, 1), end(1, 0))],
        jobs: Arc::default(),
        reroutes: Arc::default(),
    }
}

/// A flow from node 0 to node 1 that starts at zero.
pub fn flow(bytes: Option<u64>) -> FlowSpec {
    FlowSpec {
        id: FlowId(0),
        start: Nanos(0),
        source: NodeId(0),
        destination: NodeId(1),
        bytes,
        stop: None,
        again_until: None,
        priority: P3,
        group: 0,
    }
}
