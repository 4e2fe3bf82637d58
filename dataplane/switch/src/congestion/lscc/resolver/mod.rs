//! Which queue pair sends a flow.
//!
//! A CNP must carry the sender's queue pair, and data packets carry only the receiver's. So both directions of the
//! long-haul port are watched, and half-flows, (source host, destination host, destination queue pair), are joined to
//! pairs: the destination queue pair of each is the source of the other. The connection manager's messages say
//! it outright ([`cm`]); otherwise the PSNs of responses tell ([`correlation`]). As a CNP to a
//! wrong queue pair is worse than none, a pair is given up on the first doubt.
//!
//! Addresses can be forged. What the gateway itself knows cannot: which way a packet crosses, and from which port,
//! station and VLAN it came. Half-flows are apart by the first ([`Hosts`]), and pinned to the second: packets that come from
//! elsewhere are not looked at ([`Sighting::Stranger`]), until those from the former place have stopped.

mod binding;
mod chains;
mod cm;
mod correlation;
#[cfg(test)]
mod tests;

pub use binding::DataFlows;

use super::flow_table::{Cold, FlowCounters, FlowTable, Hot, Slot, Tick};
use super::packet::{FlowKey, Hosts, Packet};
use crate::hash::HashKey;
use crate::program::{Lscc, RateLimiting};
use binding::{Resolver, Said};
use cm::Envelope;
use correlation::{Response, Windows};
use units::{BitRate, Nanos};
use wire::roce::extended::{Aeth, Reth};
use wire::roce::{Opcode, Psn, QueuePair, Transport, cm as management};

/// The shortest path MTU of InfiniBand: an RDMA READ takes one PSN for so many bytes at most.
const SHORTEST_MTU: u32 = 256;

/// How the senders' queue pairs were found, and lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResolverCounters {
    /// Pairs that the connection manager's messages bound.
    pub by_cm: u64,
    /// Pairs that were bound because responses repeat the PSNs of requests.
    pub by_psn: u64,
    /// Pairs that were taken apart because PSNs went back or leapt ahead: a queue pair may have
    /// been used again.
    pub suspended: u64,
    /// Pairs that were taken apart because a response was about what was never sent.
    pub contradicted: u64,
    /// Responses that several flows could be the answered ones of.
    pub ambiguous: u64,
    /// Pairs that the connection manager's messages ended.
    pub ended: u64,
}

/// To which flow a packet belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sighting {
    Of(Slot),
    /// To one whose packets come from elsewhere: another port, station or VLAN. Somebody speaks in the name of its sender.
    Stranger,
    /// To none: datagrams, those of the connection manager included, CNPs, and transports without a reliable or
    /// unreliable connection.
    NoFlow,
}

/// The flows, and who sends them.
pub(crate) struct Flows {
    table: FlowTable,
    resolver: Resolver,
}

impl Flows {
    /// A table as large as `settings` of a port at `rate` ask for. The same `key` gives the same results.
    pub fn new(settings: &Lscc, rate: BitRate, key: impl Into<HashKey>) -> Self {
        let RateLimiting { flows, ageing, .. } = settings.limiting;
        let windows = Windows::new(settings, rate);
        Self { table: FlowTable::new(flows, ageing, key), resolver: Resolver::new(windows) }
    }

    /// The rate or the round trip of the port has changed. What is known stays.
    pub fn configure(&mut self, settings: &Lscc, rate: BitRate) {
        self.resolver.windows = Windows::new(settings, rate);
    }

    /// What [`Flows::peek`] and [`Flows::observe`] want to know of a packet.
    #[inline]
    pub fn hash(&self, key: &FlowKey) -> u64 {
        self.table.hash(key)
    }

    /// See [`FlowTable::peek`].
    #[inline]
    pub fn peek(&self, hash: u64) -> u32 {
        self.table.peek(hash)
    }

    /// See [`FlowTable::peek_flow`].
    #[inline]
    pub fn peek_flow(&self, word: u32) -> u64 {
        self.table.peek_flow(word)
    }

    /// Takes a packet that goes out to the long-haul link or comes in from it, with the hash of its key: finds or enters
    /// its flow and learns from it.
    #[inline(always)]
    pub fn observe(&mut self, now: Nanos, hash: u64, packet: &Packet) -> Sighting {
        let role = ROLES[usize::from(packet.bth.opcode().0)];
        if role.single
            && let Some(slot) =
                self.table.go_on(hash, &packet.key, packet.origin.digest(), now, packet.bth.psn())
        {
            return Sighting::Of(slot);
        }
        self.look_at(now, hash, packet, role)
    }

    /// A packet that is not just the next one of a known flow.
    #[inline(never)]
    fn look_at(&mut self, now: Nanos, hash: u64, packet: &Packet, role: Role) -> Sighting {
        let Role { kind, data, .. } = role;
        if kind == Kind::Other || packet.key.qp <= QueuePair::GENERAL_SERVICES {
            self.manage(now, packet);
            return Sighting::NoFlow;
        }
        let Self { table, resolver } = self;
        let (slot, new) =
            table.find_or_insert(hash, &packet.key, now, |table, slot| resolver.release(table, slot, now));
        let before = table.hot(slot).last_seen;
        let said = match kind {
            Kind::Request => Said::Request(packet.bth.psn()),
            Kind::Response => answered(packet).map_or(Said::Unnumbered, |(psn, acknowledged)| {
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
            binding::pin(table, slot, packet.origin);
        }
        table.hot_mut(slot).last_seen = Tick::of(now);
        if new {
            table.cold_mut(slot).source_port = packet.source_port;
        }
        match said {
            Said::Request(psn) => {
                if !table.hot(slot).progress.has_requests() {
                    table.cold_mut(slot).source_port = packet.source_port;
                }
                resolver.request(table, slot, now, psn, psns(packet));
            }
            Said::Response(response) => resolver.response(table, slot, response),
            Said::Unnumbered => {}
        }
        if data {
            resolver.carries_data(table, slot);
        }
        Sighting::Of(slot)
    }

    #[cold]
    fn manage(&mut self, now: Nanos, packet: &Packet) {
        let Some(datagram) = management::View::in_packet(&packet.bth) else { return };
        let Self { table, resolver } = self;
        let hash = |hosts: &Hosts| table.hash_hosts(hosts);
        let envelope = Envelope { now, hosts: packet.key.hosts, origin: packet.origin };
        if let Some(event) = resolver.requests.take(&envelope, &datagram.message(), hash) {
            resolver.manage(table, now, packet.origin, event);
        }
    }

    /// The queue pair that sends the flow, if it is known for certain enough to send it a CNP.
    #[inline]
    pub fn source_of(&self, slot: Slot) -> Option<QueuePair> {
        self.table.hot(slot).source()
    }

    /// The flow whose sender a CNP from its receiver notifies, if it is known.
    pub fn flow_notified(&self, cnp: &Packet) -> Option<Slot> {
        let back = self.table.find(self.table.hash(&cnp.key), &cnp.key)?;
        self.table.partner(back)
    }

    /// What every packet of a flow needs.
    #[inline]
    pub fn hot(&self, slot: Slot) -> &Hot {
        self.table.hot(slot)
    }

    /// What every packet of a flow needs, to be changed.
    #[inline]
    pub fn hot_mut(&mut self, slot: Slot) -> &mut Hot {
        self.table.hot_mut(slot)
    }

    /// The rest of a flow.
    #[inline]
    pub fn cold(&self, slot: Slot) -> &Cold {
        self.table.cold(slot)
    }

    /// The rest of a flow, to be changed.
    #[inline]
    pub fn cold_mut(&mut self, slot: Slot) -> &mut Cold {
        self.table.cold_mut(slot)
    }

    /// How many half-flows are known.
    pub fn len(&self) -> u32 {
        self.table.len()
    }

    /// Half-flows that carry data, by whether their sender's queue pair is known.
    pub fn data(&self) -> DataFlows {
        self.resolver.data
    }

    /// What happened to flows so far.
    pub fn flow_counters(&self) -> FlowCounters {
        self.table.counters()
    }

    /// How the senders' queue pairs were found, and lost.
    pub fn resolver_counters(&self) -> ResolverCounters {
        self.resolver.counters
    }
}

/// What a packet of an opcode is to the resolver, and whether it carries data, so that its sender could
/// send more slowly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Role {
    kind: Kind,
    pub data: bool,
    /// Whether it is a request with data, which takes one PSN.
    single: bool,
}

impl Role {
    const fn of(opcode: Opcode) -> Self {
        let data = opcode.is_send() || opcode.is_write() || opcode.is_read_response();
        let kind = Kind::of(opcode);
        Self { kind, data, single: data && matches!(kind, Kind::Request) }
    }
}

/// By opcode: every packet asks.
pub(super) const ROLES: [Role; 256] = {
    let mut roles = [Role::of(Opcode(0)); 256];
    let mut opcode = 0;
    while opcode < roles.len() {
        roles[opcode] = Role::of(Opcode(opcode as u8));
        opcode += 1;
    }
    roles
};

/// What a packet is to the resolver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Of a requester, over a reliable connection.
    Request,
    /// Of a responder, over a reliable connection.
    Response,
    /// Over an unreliable connection.
    Unacknowledged,
    /// No part of a flow.
    Other,
}

impl Kind {
    const fn of(opcode: Opcode) -> Self {
        match opcode.transport() {
            Transport::ReliableConnection if opcode.is_response() => Self::Response,
            Transport::ReliableConnection if opcode.name().is_some() => Self::Request,
            Transport::UnreliableConnection if opcode.name().is_some() => Self::Unacknowledged,
            _ => Self::Other,
        }
    }
}

/// How many PSNs a request may take.
#[inline]
fn psns(packet: &Packet) -> u32 {
    if !packet.bth.opcode().is_read_request() {
        return 1;
    }
    // Where the length is missing, it may be any.
    Reth::parse(packet.bth.payload()).map_or(u32::MAX, |reth| reth.dma_length.div_ceil(SHORTEST_MTU))
}

/// Which PSN a response repeats, and up to which requests are acknowledged by it (InfiniBand volume 1, section
/// 9.7.5). In all but the first packet of a READ response the PSN is one of the response's own; a NAK
/// repeats that of the request that it refuses or waits for.
#[inline]
fn answered(packet: &Packet) -> Option<(Psn, Psn)> {
    let psn = packet.bth.psn();
    match packet.bth.opcode() {
        Opcode::RC_READ_RESPONSE_FIRST | Opcode::RC_READ_RESPONSE_ONLY | Opcode::RC_ATOMIC_ACKNOWLEDGE => {
            Some((psn, psn))
        }
        Opcode::RC_ACKNOWLEDGE => {
            let aeth = Aeth::parse(packet.bth.payload()).ok()?;
            let refuses = aeth.is_negative() || aeth.is_receiver_not_ready();
            match aeth.is_positive() {
                true => Some((psn, psn)),
                false => refuses.then(|| (psn, psn.advanced_by(u32::MAX))),
            }
        }
        _ => None,
    }
}
