//! The resolver on packets: a capture, single cases, and arbitrary traffic; and whole frames.

mod arbitrary;
mod capture;
mod cases;
mod doubt;
mod frames;
mod hostile;
mod sampled;

use super::packet::{Address, FlowKey, Hosts};
use super::*;
use units::{BitRate, Interval};
use wire::ethernet::MacAddress;
use wire::roce::extended::Reth;
use wire::roce::{Opcode, Psn, bth};

/// The PSN at which tests begin, far from zero.
const START: u32 = 0x60_0000;

const X_TO_Y: Hosts = hosts(1, 2);
const Y_TO_X: Hosts = X_TO_Y.reversed();
const RATE: BitRate = BitRate::gigabits(100);
const KEY: u64 = 7;

/// Of two hosts the one with the lower address is behind this end of the link.
const fn hosts(source: u64, destination: u64) -> Hosts {
    let way = if source < destination { Way::Out } else { Way::In };
    Hosts { source: Address::numbered(source), destination: Address::numbered(destination), way }
}

/// A link so short that responses are there at once.
const fn settings(capacity: u32) -> FlowSettings {
    FlowSettings { capacity, ageing: Interval::from_secs(10), round_trip: Interval(0), rate: RATE, learn: 1 }
}

impl Flows {
    /// Enters a flow to this queue pair, for tests of schemes.
    pub fn enter(&mut self, qp: u32, now: Nanos) -> Slot {
        self.enter_half(X_TO_Y, qp, now)
    }

    /// As [`Flows::enter`], for a flow from `origin`.
    pub fn enter_from(&mut self, qp: u32, now: Nanos, origin: Origin) -> Slot {
        let slot = self.enter(qp, now);
        resolver::pin(&mut self.table, slot, origin);
        slot
    }

    /// As [`Flows::enter_from`], for a flow that has sent `sent`. The queue pair that sends it is known, and
    /// responses come from the same origin.
    pub fn enter_known(&mut self, qp: u32, now: Nanos, origin: Origin, sent: WireBytes) -> Slot {
        let slot = self.enter_from(qp, now, origin);
        let back = self.enter_half(Y_TO_X, qp, now);
        resolver::pin(&mut self.table, back, origin);
        self.table.pair(slot, back);
        self.table.hot_mut(slot).count(sent);
        slot
    }

    fn enter_half(&mut self, hosts: Hosts, qp: u32, now: Nanos) -> Slot {
        let key = FlowKey { hosts, qp: QueuePair::from_low_bits(qp) };
        let hash = self.table.hash(&key);
        self.table.find_or_insert(hash, &key, now, |_, _| {}).0
    }
}

/// From what a [`Port`] lets the resolver learn.
#[derive(Clone, Copy, Debug)]
enum Taught {
    /// All that is in its sample.
    AsSampled,
    /// PSNs that are set in this mask of 64, and RDMA READ requests: any predicate that is the same both ways.
    By(u64),
    /// As [`Taught::By`], and all packets of a port that is awake. Wrong.
    ByCongestion(u64),
}

/// A long-haul port: what goes by, a microsecond apart.
struct Port {
    flows: Flows,
    taught: Taught,
    /// Whether a scheme looks up all packets.
    awake: bool,
    /// Whether packets have a congestion mark, for which they are looked up.
    marked: bool,
    /// Whether data of a sender was taken for that of another.
    misled: bool,
    now: Nanos,
    /// For how many milliseconds nothing has gone by since all that was under way arrived.
    waited: u64,
    /// From where packets come, other than what their hosts say.
    station: u8,
    ingress: PortId,
    /// The length of packets.
    length: WireBytes,
}

impl Port {
    fn new() -> Self {
        Self::with(settings(1_000))
    }

    fn with(settings: FlowSettings) -> Self {
        let flows = Flows::new(settings, KEY);
        Self {
            flows,
            taught: Taught::AsSampled,
            awake: false,
            marked: false,
            misled: false,
            now: Nanos::ZERO,
            waited: 0,
            station: 1,
            ingress: PortId(0),
            length: WireBytes(0),
        }
    }

    /// A port with a sample, from which the resolver learns as `taught`.
    fn taught(taught: Taught) -> Self {
        Self { taught, ..Self::with(FlowSettings { learn: 16, ..settings(1_000) }) }
    }

    /// The same port, for packets of another origin.
    fn at(&mut self, ingress: u16, station: u8) -> &mut Self {
        (self.ingress, self.station) = (PortId(ingress), station);
        self
    }

    fn show(&mut self, packet: &Packet) -> Option<Slot> {
        self.now += Interval::from_micros(1);
        self.flows.watch(self.now, self.awake);
        let attention = self.attention(packet.key.hosts, packet.bth.opcode(), packet.bth.psn());
        if let Some(slot) = self.show_next(packet, attention) {
            return Some(slot);
        }
        let sighting = match attention {
            Attention::Learn => self.flows.observe(self.now, packet, self.length),
            Attention::Look => self.flows.look_on(self.now, packet, self.length),
            Attention::Pass => return None,
        };
        match sighting {
            Sighting::Of(slot) => Some(slot),
            Sighting::Stranger | Sighting::Notification(_) | Sighting::DirectInt | Sighting::NoFlow => None,
        }
    }

    /// Takes the short cut of [`Flows::see_next`], if the packet fits it.
    fn show_next(&mut self, packet: &Packet, attention: Attention) -> Option<Slot> {
        let Packet { key, origin, bth, .. } = packet;
        if attention == Attention::Pass || !Role::of(bth.opcode()).single {
            return None;
        }
        let slot = self.flows.table.find(self.flows.table.hash(key), key)?;
        let (bytes, learns) = (counted(key.hosts.way, self.length), attention == Attention::Learn);
        let goes_on = self.flows.take_next::<true>(slot, origin.digest(), self.now, bth.psn(), bytes, learns);
        goes_on.then_some(slot)
    }

    /// The attention that a packet gets.
    fn attention(&self, hosts: Hosts, opcode: Opcode, psn: Psn) -> Attention {
        let looks = self.marked || self.flows.is_watched(self.now);
        let (mask, congested) = match self.taught {
            Taught::AsSampled => return self.flows.decide(looks, hosts.difference(), opcode, psn),
            Taught::By(mask) => (mask, false),
            Taught::ByCongestion(mask) => (mask, self.awake),
        };
        let always = opcode.is_read_request() || Role::of(opcode).kind == Kind::Other;
        match always || congested || mask >> (psn.number() % u64::BITS) & 1 == 1 {
            true => Attention::Learn,
            false if looks => Attention::Look,
            false => Attention::Pass,
        }
    }

    /// Shows a packet with these bytes after its BTH.
    fn packet(
        &mut self,
        hosts: Hosts,
        opcode: Opcode,
        qp: u32,
        psn: u32,
        source_port: u16,
        payload: &[u8],
    ) -> Option<Slot> {
        let qp = QueuePair::from_low_bits(qp);
        let mut bytes = [0; 400];
        let header = bth::Header { psn: Psn::from_low_bits(psn), ..bth::Header::new(opcode, qp) };
        let at = header.emit(&mut bytes).unwrap();
        bytes[at..at + payload.len()].copy_from_slice(payload);
        let bth = bth::View::parse(&bytes[..at + payload.len()]).unwrap();
        let mac = MacAddress([2, 0, 0, 0, 0, self.station]);
        let origin = Origin::new(self.ingress, mac, 0);
        let key = FlowKey { hosts, qp };
        self.show(&Packet { key, source_port, origin, bth })
    }

    fn write(&mut self, hosts: Hosts, qp: u32, psn: u32) -> Slot {
        self.packet(hosts, Opcode::RC_WRITE_MIDDLE, qp, psn, 0, &[]).unwrap()
    }

    /// An acknowledgement with this syndrome: 0 is positive, 0x60 a sequence error.
    fn acknowledge(&mut self, hosts: Hosts, qp: u32, psn: u32, syndrome: u8) -> Slot {
        self.packet(hosts, Opcode::RC_ACKNOWLEDGE, qp, psn, 0, &[syndrome, 0, 0, 0]).unwrap()
    }

    fn ack(&mut self, hosts: Hosts, qp: u32, psn: u32) -> Slot {
        self.acknowledge(hosts, qp, psn, 0)
    }

    fn request(&mut self, hosts: Hosts, source: u32, id: u32) {
        let (local, qp) = (management::CommunicationId(id), QueuePair::from_low_bits(source));
        let starting_psn = Psn::from_low_bits(0);
        self.manage(
            hosts,
            management::Message::Request { local, service_id: 1, qp, starting_psn, flow_label: 0 },
        );
    }

    /// Answers the request that the second of `hosts` sent under this `id`.
    fn reply(&mut self, hosts: Hosts, destination: u32, id: u32) {
        let (local, remote) = (management::CommunicationId(id + 0x1000), management::CommunicationId(id));
        let (qp, starting_psn) = (QueuePair::from_low_bits(destination), Psn::from_low_bits(0));
        self.manage(hosts, management::Message::Reply { local, remote, qp, starting_psn });
    }

    fn manage(&mut self, hosts: Hosts, message: management::Message) {
        let mut datagram = [0; 8 + management::DATAGRAM_LEN];
        message.emit(1, &mut datagram[8..]).unwrap();
        assert_eq!(self.packet(hosts, Opcode::UD_SEND_ONLY, 1, 0, 0, &datagram), None);
    }

    /// The connection manager connects `source` of the first host and `destination` of the second.
    fn connect(&mut self, hosts: Hosts, source: u32, destination: u32, id: u32) {
        self.request(hosts, source, id);
        self.reply(hosts.reversed(), destination, id);
    }

    /// The first of `hosts` ends what [`Port::connect`] connected.
    fn disconnect(&mut self, hosts: Hosts, destination: u32, id: u32) {
        let local = management::CommunicationId(id);
        let remote = management::CommunicationId(id + 0x1000);
        let remote_qp = QueuePair::from_low_bits(destination);
        self.manage(hosts, management::Message::DisconnectRequest { local, remote, remote_qp });
    }

    fn slot(&self, hosts: Hosts, qp: u32) -> Option<Slot> {
        let key = FlowKey { hosts, qp: QueuePair::from_low_bits(qp) };
        self.flows.table.find(self.flows.table.hash(&key), &key)
    }

    /// The queue pair that sends a half-flow, as far as it is known.
    fn source(&self, hosts: Hosts, qp: u32) -> Option<u32> {
        self.flows.source_of(self.slot(hosts, qp)?).map(QueuePair::number)
    }
}

/// A port at which (X to Y, 0x20) and (Y to X, 0x10) are bound by ten PSNs. Both hosts are station 1 at port 0.
fn bound() -> Port {
    let mut port = Port::new();
    for psn in START..START + 10 {
        port.write(X_TO_Y, 0x20, psn);
        port.ack(Y_TO_X, 0x10, psn);
    }
    assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10));
    port
}
