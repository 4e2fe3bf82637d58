//! Floods of addresses that someone has chosen so that a table with a known hash puts them all into one place,
//! beside the same number of addresses that no one has chosen.

use crate::core::{Recycler, bare_settings};
use crate::frame::BenchFrame;
use crate::long_haul;
use core::hash::BuildHasher;
use core::net::Ipv6Addr;
use foldhash::fast::FixedState;
use std::sync::Arc;
use switch::{
    BridgeSettings, ForwardingSettings, KernelPath, Neighbour, Program, RouteSettings, Settings, Shard,
};
use units::{BitRate, Interval, Nanos, PortId, Priority};
use wire::ethernet::{self, EtherType, MacAddress};
use wire::ip::{Dscp, Ecn, IpProtocol};
use wire::roce::{self, Opcode, QueuePair, bth};
use wire::{ipv6, udp};

/// Frames in a burst.
const BURST: usize = 32;
/// Stored length of a frame.
const LENGTH: usize = ethernet::HEADER_LEN + ipv6::HEADER_LEN + udp::HEADER_LEN + bth::HEADER_LEN + 4;
/// The lowest byte of the sequence number, which goes on from round to round.
const PSN_LOW: usize = ethernet::HEADER_LEN + ipv6::HEADER_LEN + udp::HEADER_LEN + bth::HEADER_LEN - 1;
/// Room for flows in the table of the long link.
const FLOWS: u32 = 1 << 16;
/// Flows of a flood, which all fit.
const NEW_FLOWS: u64 = 60_000;
/// Stations of a flood on the bridge, which all fit into its table of 8,192.
const STATIONS: u64 = 6_000;
/// The bits of a hash by which a table of 8,192 addresses, at most 7 of 8 places taken, chooses a place.
const PLACE: u64 = (1 << 14) - 1;

/// The traffic of a flood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flood {
    /// A new flow with each frame, over a link with LSCC.
    NewFlows {
        /// From addresses whose upper half takes foldhash's multiplication to zero, whatever its seed.
        chosen: bool,
    },
    /// A thousand flows in turn, over a link with LSCC.
    KnownFlows,
    /// Thousands of stations in turn, through a bridge.
    Stations {
        /// With addresses that foldhash with a seed of zero puts into one place of a table.
        chosen: bool,
    },
    /// Sixteen stations in turn, through a bridge.
    FewStations,
    /// Frames through a router with a kernel path. A router drops or punts frames, so each burst is made anew, in both
    /// floods alike.
    Routed {
        /// Every second one goes to the gateway itself.
        to_gateway: bool,
    },
}

impl Flood {
    /// All of them, with their names.
    pub const ALL: [(&str, Self); 8] = [
        ("known_flows", Self::KnownFlows),
        ("new_flows", Self::NewFlows { chosen: false }),
        ("new_flows_chosen", Self::NewFlows { chosen: true }),
        ("few_stations", Self::FewStations),
        ("stations", Self::Stations { chosen: false }),
        ("stations_chosen", Self::Stations { chosen: true }),
        ("routed", Self::Routed { to_gateway: false }),
        ("routed_to_gateway", Self::Routed { to_gateway: true }),
    ];

    /// The frames of one round.
    fn frames(self) -> Vec<Vec<u8>> {
        match self {
            Self::NewFlows { chosen } => (0..NEW_FLOWS).map(|number| flow(chosen, number)).collect(),
            Self::KnownFlows => (0..1_000).map(|number| flow(false, number)).collect(),
            Self::Stations { chosen: true } => colliding_stations().map(frame_of).collect(),
            Self::Stations { chosen: false } => {
                (0..STATIONS).map(|number| frame_of(station(number))).collect()
            }
            Self::FewStations => (0..16).map(|number| frame_of(station(number))).collect(),
            Self::Routed { to_gateway } => {
                let to = |number: u64| if to_gateway && number % 2 == 1 { GATEWAY } else { FAR };
                let sender = |number: u64| Ipv6Addr::from_bits(SITE << 64 | u128::from(0x100 + number));
                (0..16).map(|number| frame(station(number), PORT, (sender(number), to(number)), 7)).collect()
            }
        }
    }

    /// Fits `settings`, those of a patch, for it.
    fn fit(self, settings: &mut Settings) {
        match self {
            Self::NewFlows { .. } | Self::KnownFlows => {
                let ports = settings.ports.iter_mut().enumerate();
                // As if each frame were in the sample.
                ports.for_each(|(number, port)| long_haul::equip(number, port, FLOWS, 1));
            }
            Self::Stations { .. } | Self::FewStations => {
                settings.forwarding = ForwardingSettings::Bridge(BridgeSettings::default());
            }
            Self::Routed { .. } => {
                settings.ports[0].mac = PORT;
                settings.ports[0].addresses = vec!["2001:db8::2/64".parse().expect("a prefix of IPv6")];
                let far = Neighbour { address: FAR.into(), mac: RECEIVER, port: PortId(1) };
                let kernel = Some(KernelPath { priority: Priority::from_low_bits(6), learned: Arc::new([]) });
                let routes =
                    RouteSettings { routes: Vec::new(), neighbours: vec![far], kernel, sprays: false };
                settings.forwarding = ForwardingSettings::Route(routes);
            }
        }
    }
}

/// A core that is flooded.
pub struct Flooded {
    shard: Shard<BenchFrame>,
    out: Recycler,
    frames: Vec<Vec<u8>>,
    next: usize,
    burst: Vec<BenchFrame>,
    /// Whether all frames of a burst are new.
    anew: bool,
    now: Nanos,
}

impl Flooded {
    /// A core before `flood`, with all that it will take in.
    pub fn new(flood: Flood) -> Self {
        let rate = BitRate::gigabits(400);
        let mut settings = bare_settings(2, rate);
        flood.fit(&mut settings);
        let program = Program::new(settings).expect("the settings hold");
        let mut flooded = Self {
            shard: Shard::single(Arc::new(program)),
            out: Recycler::default(),
            frames: flood.frames(),
            next: 0,
            burst: (0..BURST).map(|_| BenchFrame::new(&[], LENGTH as u64)).collect(),
            anew: matches!(flood, Flood::Routed { .. }),
            now: Nanos(1_000),
        };
        flooded.meet_the_receiver();
        flooded
    }

    /// The bridge learns where the receiver of all frames is.
    fn meet_the_receiver(&mut self) {
        let hello = frame(RECEIVER, station(0), (Ipv6Addr::UNSPECIFIED, FAR), 0);
        self.shard.ingress(self.now, PortId(1), &mut vec![BenchFrame::new(&hello, LENGTH as u64)], &mut ());
        self.shard.egress(self.now, PortId(0), &mut self.out);
    }

    /// The next burst, in and out again; returns how many frames that are.
    pub fn turn(&mut self) -> usize {
        self.now += Interval::from_micros(1);
        if self.anew {
            self.burst.clear();
            self.burst.resize_with(BURST, || BenchFrame::new(&[], LENGTH as u64));
        }
        let offered = self.burst.len();
        for slot in &mut self.burst {
            let frame = &mut self.frames[self.next];
            slot.restart(frame);
            frame[PSN_LOW] = frame[PSN_LOW].wrapping_add(1);
            self.next = (self.next + 1) % self.frames.len();
        }
        self.shard.ingress(self.now, PortId(0), &mut self.burst, &mut ());
        self.shard.egress(self.now, PortId(1), &mut self.out);
        if self.shard.has_punts() {
            self.shard.take_punts(|_, _, _| true);
        }
        self.burst.append(self.out.frames_mut());
        offered
    }

    /// As many frames as there are in one round.
    pub fn round(&mut self) -> usize {
        let mut frames = 0;
        while frames < self.frames.len() {
            frames += self.turn();
        }
        frames
    }
}

/// The station to which all is sent.
const RECEIVER: MacAddress = MacAddress([2, 0, 0, 0, 9, 9]);
/// The upper half of all addresses but those of chosen flows.
const SITE: u128 = 0x2001_0db8_0000_0000;
/// The address of the receiver.
const FAR: Ipv6Addr = Ipv6Addr::from_bits(SITE << 64 | 1);
/// The port of a router, and its address.
const PORT: MacAddress = MacAddress([2, 0, 0, 0, 9, 1]);
const GATEWAY: Ipv6Addr = Ipv6Addr::from_bits(SITE << 64 | 2);

fn station(number: u64) -> MacAddress {
    let [.., a, b, c, d] = number.to_be_bytes();
    MacAddress([2, 1, a, b, c, d])
}

/// Stations that share a place in a table of 8,192 that is hashed with foldhash and a seed of zero.
fn colliding_stations() -> impl Iterator<Item = MacAddress> {
    let hash = FixedState::with_seed(0);
    let place = move |mac: &MacAddress| hash.hash_one((0_u16, *mac)) & PLACE;
    let first = place(&station(0));
    (0..).map(station).filter(move |mac| place(mac) == first).take(STATIONS as usize)
}

fn frame_of(source: MacAddress) -> Vec<u8> {
    frame(source, RECEIVER, (Ipv6Addr::UNSPECIFIED, FAR), 0)
}

fn flow(chosen: bool, number: u64) -> Vec<u8> {
    let prefix = if chosen { 0xc0ac_29b7_c97c_50dd } else { SITE };
    let sender = Ipv6Addr::from_bits(prefix << 64 | u128::from(number));
    frame(station(0), RECEIVER, (sender, FAR), 7)
}

fn frame(
    source: MacAddress,
    destination: MacAddress,
    (sender, receiver): (Ipv6Addr, Ipv6Addr),
    pair: u32,
) -> Vec<u8> {
    let mut bytes = vec![0; LENGTH];
    let ethernet = ethernet::Header { destination, source, ether_type: EtherType::IPV6 };
    let udp_length = (LENGTH - ethernet::HEADER_LEN - ipv6::HEADER_LEN) as u16;
    let ip = ipv6::Header {
        dscp: Dscp::from_low_bits(26),
        ecn: Ecn::Ect0,
        flow_label: 0,
        payload_length: udp_length,
        next_header: IpProtocol::UDP,
        hop_limit: 64,
        source: sender,
        destination: receiver,
    };
    let udp = udp::Header {
        source_port: 50_000,
        destination_port: roce::UDP_PORT,
        length: udp_length,
        checksum: 0,
    };
    let bth = bth::Header::new(Opcode::RC_SEND_ONLY, QueuePair::from_low_bits(pair));
    let room = "the frame has room for its headers";
    let mut at = ethernet.emit(&mut bytes).expect(room);
    at += ip.emit(&mut bytes[at..]).expect(room);
    at += udp.emit(&mut bytes[at..]).expect(room);
    bth.emit(&mut bytes[at..]).expect(room);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_forwards_what_is_not_for_itself() {
        for (to_gateway, forwarded) in [(false, BURST), (true, BURST / 2)] {
            let mut flooded = Flooded::new(Flood::Routed { to_gateway });
            assert_eq!(flooded.turn(), BURST);
            assert_eq!(flooded.burst.len(), forwarded, "to the gateway: {to_gateway}");
        }
    }
}
