//! Flows: their hosts, the queue pairs that send them, and frames to their senders.
//!
//! Every scheme that notifies senders builds on this module, which depends on none of them.
//!
//! | module | contents |
//! |---|---|
//! | [`packet`] | a RoCEv2 packet, its flow's key and its origin, read at the offsets of the [`Descriptor`] |
//! | [`table`] | the flow table: bounded look-ups, ageing, the pin of the origin, slots |
//! | [`resolver`] | the queue pairs that send flows |
//! | [`notifications`] | control frames that wait for the link of a sender |
//! | [`cnp`] | congestion notification packets to senders |
//! | [`figures`] | what reports show of the flow table |
//!
//! A CNP must carry the sender's queue pair, and data packets carry only the receiver's. So both directions of the
//! long-haul port are watched, and half-flows, (source host, destination host, destination queue pair), are joined
//! to pairs: the destination queue pair of each is the source of the other. The connection manager's messages
//! contain both; otherwise the PSNs of responses identify them. A CNP to a wrong queue pair is worse than none, so
//! a pair is given up on the first doubt.
//!
//! Addresses can be forged. The way in which a packet crosses the port cannot, nor can the port, station and VLAN
//! that it came from. So half-flows of different ways are distinct ([`packet::Hosts`]), and each is pinned to its
//! origin: packets from elsewhere are ignored ([`Sighting::Stranger`]) until packets from the former place have
//! stopped.

pub(crate) mod cnp;
pub(crate) mod figures;
pub(crate) mod notifications;
mod packet;
mod resolver;
mod role;
mod table;
#[cfg(test)]
mod tests;

pub use resolver::{DataFlows, ResolverCounters};
pub use table::FlowCounters;

pub(crate) use packet::{Origin, Way};
pub(crate) use table::{Cold, Hot, Note, Slot};

use crate::descriptor::Descriptor;
use crate::hash::HashKey;
use crate::program::FlowSettings;
use core::net::Ipv6Addr;
use packet::{FlowKey, Hosts, Packet};
use resolver::{Envelope, Resolver, Response, Said};
use role::{Kind, Role};
use table::{FlowTable, Tick};
use units::{Nanos, PortId, WireBytes};
use wire::roce::{Opcode, QueuePair, cm as management};

/// A table of at most this many flows is likely to be in the cache.
const LARGE_TABLE: u32 = 1 << 14;
/// Frames that are prefetched together.
const LOOK_AHEAD: usize = 32;

/// The flow of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sighting {
    Of(Slot),
    /// The flow has packets from elsewhere: another port, station or VLAN. This one may forge its sender's address.
    Stranger,
    /// A CNP to the sender of this flow, if the flow is known.
    Notification(Option<Slot>),
    /// Direct INT to a sender.
    DirectInt,
    /// No flow: datagrams, including those of the connection manager, transports without a reliable or unreliable
    /// connection, and frames other than RoCEv2.
    NoFlow,
}

/// A frame as the schemes of a port see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub sighting: Sighting,
    /// Whether it carries data, so that its sender can slow down.
    pub data: bool,
    /// UDP source port.
    pub source_port: u16,
}

/// The flows of a port, and their senders.
pub(crate) struct Flows {
    settings: FlowSettings,
    key: HashKey,
    table: FlowTable,
    resolver: Resolver,
}

impl Flows {
    /// A table of the size in `settings`. The same `key` gives the same results.
    pub fn new(settings: FlowSettings, key: impl Into<HashKey>) -> Self {
        let key = key.into();
        let table = FlowTable::new(settings.capacity, settings.ageing, key);
        Self { settings, key, table, resolver: Resolver::new(&settings) }
    }

    /// Applies new settings. The state stays, unless the table needs another size, ageing or key. It is then
    /// exchanged with that of `spare`, which was made for these settings and is empty. Returns whether it was: then
    /// all slots have lost their meaning.
    pub fn configure(&mut self, settings: FlowSettings, spare: &mut Self) -> bool {
        let table = |it: &Self| (it.settings.capacity, it.settings.ageing, it.key);
        let exchanged = table(self) != table(spare);
        if exchanged {
            core::mem::swap(self, spare);
        }
        self.resolver.configure(&settings);
        self.settings = settings;
        exchanged
    }

    /// Prefetches the flows of `frames` that cross this `way`, before they are taken one by one, so that the cache
    /// misses of a large table overlap. `more` prefetches the entry of a scheme for a flow.
    #[inline]
    pub fn look_ahead<'a>(
        &self,
        way: Way,
        frames: impl Iterator<Item = &'a [u8]>,
        more: impl Fn(Slot, &Hot) -> u64,
    ) {
        if self.table.len() < LARGE_TABLE {
            return;
        }
        let mut keys = frames.filter_map(|headers| Packet::usual_key(way, headers));
        loop {
            let mut words = [0_u32; LOOK_AHEAD];
            let looked_up = words.iter_mut().zip(keys.by_ref());
            let found = looked_up.map(|(word, key)| *word = self.table.peek(self.table.hash(&key))).count();
            if found == 0 {
                return;
            }
            let flows = words[..found].iter().filter_map(|word| self.table.peek_flow(*word));
            core::hint::black_box(flows.fold(0, |sum, (slot, hot)| sum ^ hot.sent().0 ^ more(slot, hot)));
        }
    }

    /// Takes a frame that came in at `port` and crosses the port of the long link: finds or enters its flow, learns
    /// from it, and counts its data on the way out. Incoming data is not counted: this end notifies none of its
    /// senders.
    #[inline(always)]
    pub fn see(
        &mut self,
        now: Nanos,
        way: Way,
        (port, length): (PortId, WireBytes),
        descriptor: &Descriptor,
        headers: &[u8],
    ) -> Seen {
        match Packet::usual(way, port, descriptor, headers, self.table.keyed()) {
            Some(packet) => self.see_packet(now, &packet, length),
            None => self.see_unusual(now, way, (port, length), descriptor, headers),
        }
    }

    /// Takes a frame without a packet of the usual kind.
    #[inline(never)]
    fn see_unusual(
        &mut self,
        now: Nanos,
        way: Way,
        (port, length): (PortId, WireBytes),
        descriptor: &Descriptor,
        headers: &[u8],
    ) -> Seen {
        match Packet::find(way, port, descriptor, headers, self.table.keyed()) {
            Some(packet) => self.see_packet(now, &packet, length),
            None => Seen { sighting: Sighting::NoFlow, data: false, source_port: 0 },
        }
    }

    #[inline(always)]
    fn see_packet(&mut self, now: Nanos, packet: &Packet, length: WireBytes) -> Seen {
        let Role { data, .. } = Role::of(packet.bth.opcode());
        let sighting = self.observe(now, packet);
        if data
            && packet.key.hosts.way == Way::Out
            && let Sighting::Of(slot) = sighting
        {
            self.table.hot_mut(slot).count(length);
        }
        Seen { sighting, data, source_port: packet.source_port }
    }

    /// The flow of a data packet that leaves, and its UDP source port. The packet was [seen](Flows::see) when it was
    /// queued. Its port of entry is unknown here, so it counts as its flow's if station and VLAN are those of the flow.
    pub fn find_outgoing(&self, descriptor: &Descriptor, headers: &[u8]) -> Option<(Slot, u16)> {
        /// It is not compared.
        const ANY: PortId = PortId(0);
        let keyed = self.table.keyed();
        let packet = Packet::usual(Way::Out, ANY, descriptor, headers, keyed)
            .or_else(|| Packet::find(Way::Out, ANY, descriptor, headers, keyed))?;
        let slot = self.table.find(packet.hash, &packet.key)?;
        let origin = self.table.cold(slot).origin()?;
        let is_data = Role::of(packet.bth.opcode()).data && origin.shares_station_with(packet.origin);
        is_data.then_some((slot, packet.source_port))
    }

    /// The flow that goes out from `sender` to this queue pair of `receiver`.
    pub fn find_sent(&self, sender: Ipv6Addr, receiver: Ipv6Addr, qp: QueuePair) -> Option<Slot> {
        let hosts = Hosts { source: sender.into(), destination: receiver.into(), way: Way::Out };
        let key = FlowKey { hosts, qp };
        self.table.find(self.table.hash(&key), &key)
    }

    /// The host that sends the flow.
    pub fn sender_of(&self, slot: Slot) -> Ipv6Addr {
        self.hot(slot).key().hosts.source.into()
    }

    /// Takes a packet: finds or enters its flow and learns from it.
    #[inline(always)]
    fn observe(&mut self, now: Nanos, packet: &Packet) -> Sighting {
        let role = Role::of(packet.bth.opcode());
        let Packet { hash, key, origin, .. } = packet;
        if role.single
            && let Some(slot) = self.table.go_on(*hash, key, origin.digest(), now, packet.bth.psn())
        {
            return Sighting::Of(slot);
        }
        self.look_at(now, packet, role)
    }

    /// Takes a packet that is not simply the next one of a known flow.
    #[inline(never)]
    fn look_at(&mut self, now: Nanos, packet: &Packet, role: Role) -> Sighting {
        let Role { kind, data, .. } = role;
        if kind == Kind::Other || packet.key.qp <= QueuePair::GENERAL_SERVICES {
            return self.look_at_other(now, packet);
        }
        let Self { table, resolver, .. } = self;
        let (slot, new) = table
            .find_or_insert(packet.hash, &packet.key, now, |table, slot| resolver.release(table, slot, now));
        let before = table.hot(slot).last_seen;
        let said = match kind {
            Kind::Request => Said::Request(packet.bth.psn()),
            Kind::Response => role::answered(packet).map_or(Said::Unnumbered, |(psn, acknowledged)| {
                Said::Response(Response { now, psn, acknowledged, before })
            }),
            Kind::Unacknowledged | Kind::Other => Said::Unnumbered,
        };
        let known = table.cold(slot).origin();
        if known != Some(packet.origin) {
            if known.is_some() && !resolver.follows(table, slot, now, said) {
                resolver.pass_over(table, slot, now);
                return Sighting::Stranger;
            }
            resolver::pin(table, slot, packet.origin);
        }
        table.hot_mut(slot).last_seen = Tick::of(now);
        if new || matches!(said, Said::Request(_)) {
            table.cold_mut(slot).source_port = packet.source_port;
        }
        match said {
            Said::Request(psn) => resolver.request(table, slot, now, psn, role::psns(packet)),
            Said::Response(response) => resolver.response(table, slot, response),
            Said::Unnumbered => {}
        }
        if data {
            resolver.carries_data(table, slot);
        }
        Sighting::Of(slot)
    }

    /// Takes a packet of no flow.
    #[cold]
    fn look_at_other(&mut self, now: Nanos, packet: &Packet) -> Sighting {
        if packet.bth.opcode().is_cnp() {
            return Sighting::Notification(self.flow_notified(packet));
        }
        if packet.bth.opcode() == Opcode::DIRECT_INT {
            return Sighting::DirectInt;
        }
        let Some(datagram) = management::View::in_packet(&packet.bth) else { return Sighting::NoFlow };
        let envelope = Envelope { now, hosts: packet.key.hosts, origin: packet.origin };
        self.resolver.take(&mut self.table, &envelope, &datagram.message());
        Sighting::NoFlow
    }

    /// The flow whose sender is notified by a CNP from its receiver, if it is known.
    fn flow_notified(&self, cnp: &Packet) -> Option<Slot> {
        let back = self.table.find(cnp.hash, &cnp.key)?;
        self.table.partner(back)
    }

    /// The queue pair that sends the flow, if it is certain enough for a CNP.
    #[inline]
    pub fn source_of(&self, slot: Slot) -> Option<QueuePair> {
        self.table.hot(slot).source()
    }

    /// The half-flow in the opposite direction, if both are known to belong together.
    pub fn partner(&self, slot: Slot) -> Option<Slot> {
        self.table.partner(slot)
    }

    /// Whether a notification to the sender of a flow that came from `origin` may be its receiver's: its responses come
    /// from there, or none has come yet.
    pub fn may_be_receiver(&self, slot: Slot, origin: Origin) -> bool {
        let responses_from = self.partner(slot).and_then(|back| self.cold(back).origin());
        responses_from.is_none_or(|it| it == origin)
    }

    /// The part of a flow that every packet needs.
    #[inline]
    pub fn hot(&self, slot: Slot) -> &Hot {
        self.table.hot(slot)
    }

    /// As [`Flows::hot`], mutably.
    #[inline]
    pub fn hot_mut(&mut self, slot: Slot) -> &mut Hot {
        self.table.hot_mut(slot)
    }

    /// The rest of a flow.
    #[inline]
    pub fn cold(&self, slot: Slot) -> &Cold {
        self.table.cold(slot)
    }

    /// The number of half-flows in the table.
    pub fn len(&self) -> u32 {
        self.table.len()
    }

    /// Half-flows that carry data, by whether their sender's queue pair is known.
    pub fn data(&self) -> DataFlows {
        self.resolver.data
    }

    /// Events of the flow table so far.
    pub fn flow_counters(&self) -> FlowCounters {
        self.table.counters()
    }

    /// Events of the search for senders' queue pairs.
    pub fn resolver_counters(&self) -> ResolverCounters {
        self.resolver.counters
    }
}
