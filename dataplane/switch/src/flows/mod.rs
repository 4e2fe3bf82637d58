//! Flows: their hosts, the queue pairs that send them, and frames to their senders.
//!
//! Every scheme that notifies senders builds on this module, which depends on none of them.
//!
//! | module | contents |
//! |---|---|
//! | [`packet`] | a RoCEv2 packet, its flow's key and its origin, read at the offsets of the [`Descriptor`] |
//! | [`table`] | the flow table: bounded look-ups, ageing, the pin of the origin, slots |
//! | [`resolver`] | the queue pairs that send flows |
//! | [`sample`] | the packets from which the resolver learns |
//! | [`attention`] | those that are looked up |
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

mod attention;
pub(crate) mod cnp;
pub(crate) mod figures;
pub(crate) mod notifications;
mod packet;
mod resolver;
mod role;
mod sample;
pub(crate) mod settings;
mod table;
#[cfg(test)]
mod tests;

pub use resolver::{DataFlows, FlowChange, FlowChangeKind, ResolverCounters};
pub use table::FlowCounters;

pub(crate) use packet::{Origin, Way};
pub(crate) use sample::{Attention, Sample};
pub(crate) use table::{Cold, Hot, Note, Slot};

use crate::descriptor::Descriptor;
use crate::hash::HashKey;
use crate::lanes::Home;
use crate::program::FlowSettings;
use core::hint::black_box;
use packet::Packet;
use resolver::{Envelope, PsnPosition, Resolver, Response};
use role::{Kind, Role};
use sample::Watch;
use serde::{Deserialize, Serialize};
use table::{FlowTable, Link, Tick};
use units::{Bytes, Nanos, PortId, WireBytes};
use wire::roce::{self, Opcode, Psn, QueuePair, cm as management};

/// A table of at most this many flows is likely to be in the cache.
const LARGE_TABLE: u32 = 1 << 14;
/// The most frames that are prefetched together.
pub(crate) const LOOK_AHEAD: usize = 32;

/// Whether a frame with these `headers` is a RoCEv2 packet. It reads layer by layer, which is slow.
pub(crate) fn is_roce(descriptor: &Descriptor, headers: &[u8]) -> bool {
    Packet::find(Way::Out, PortId(0), descriptor, headers).is_some()
}

/// The flow of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sighting {
    Of(Slot),
    /// The flow has packets from elsewhere: another port, station or VLAN. This one may forge its sender's address.
    /// Or it is outside of the sample, and its queue pair may have been used again.
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

/// The flows of one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowsReport {
    /// The number of flows in the table, in both directions.
    pub known: u32,
    /// Events of the flow table.
    pub table: FlowCounters,
    /// The flows that carry data, with and without a known sender.
    pub data: DataFlows,
    /// Events of the search for senders.
    pub resolver: ResolverCounters,
}

/// A frame that crosses the port of the long link.
#[derive(Clone, Copy)]
pub(crate) struct Crossing<'a> {
    pub now: Nanos,
    /// The port through which it came in.
    pub port: PortId,
    pub length: WireBytes,
    /// Whether a rate of the link applies to it, if it goes out.
    pub limited: bool,
    pub descriptor: &'a Descriptor,
}

impl<'a> Crossing<'a> {
    /// A frame of `length`; the other parameters are its fields.
    #[inline(always)]
    pub fn new(now: Nanos, port: PortId, length: Bytes, limited: bool, descriptor: &'a Descriptor) -> Self {
        Self { now, port, length: WireBytes::of_frame(length), limited, descriptor }
    }

    /// The origin of the frame, which has these `headers`.
    #[inline(always)]
    pub fn origin(&self, headers: &[u8]) -> Origin {
        Origin::of(self.port, self.descriptor, headers)
    }
}

/// The flows of a port, and their senders.
#[derive(Serialize, Deserialize)]
pub(crate) struct Flows {
    settings: FlowSettings,
    key: HashKey,
    table: FlowTable,
    resolver: Resolver,
    /// On a lane, the hosts whose flows it keeps.
    home: Option<Home>,
    /// The packets from which the resolver learns; `None` if these are all.
    sample: Option<Sample>,
    watch: Watch,
    /// The slots at which the flows of the next frames probably are. The last frame has the last place, so that the
    /// guesses for a longer burst before this one are not reached.
    guesses: [Link; LOOK_AHEAD],
    /// The place of the next frame; beyond the last one without a guess.
    next: usize,
    /// The slot at which the flow of the last usual packet was.
    last: Link,
}

/// The bytes of a data packet that count for its flow.
#[inline(always)]
fn counted(way: Way, length: WireBytes) -> WireBytes {
    match way {
        Way::Out => length,
        Way::In => WireBytes(0),
    }
}

impl Flows {
    /// A table of the size in `settings`. The same `key` gives the same results.
    pub fn new(settings: FlowSettings, key: impl Into<HashKey>) -> Self {
        let key = key.into();
        let (table, resolver) =
            (FlowTable::new(settings.capacity, settings.forgets_after(), key), Resolver::new(&settings));
        let sample = Sample::new(settings.learn, key);
        let watch = sample.as_ref().map_or(Watch::ALWAYS, Watch::quiet);
        let (guesses, next, last) = ([Link::NONE; LOOK_AHEAD], LOOK_AHEAD, Link::NONE);
        Self { settings, key, table, resolver, home: None, sample, watch, guesses, next, last }
    }

    /// Takes the settings of `spare`, which was made for them and is empty. The state stays, unless the table needs
    /// another size, ageing, sample or key. It is then exchanged with that of `spare`. Returns whether it was: then all
    /// slots have lost their meaning.
    pub fn configure(&mut self, spare: &mut Self) -> bool {
        let settings = spare.settings;
        let table = |it: &Self| (it.settings.capacity, it.settings.ageing, it.settings.learn, it.key);
        let exchanged = table(self) != table(spare);
        if exchanged {
            spare.home = self.home;
            core::mem::swap(self, spare);
        }
        self.resolver.configure(&settings);
        self.settings = settings;
        exchanged
    }

    /// Leaves hosts to other lanes.
    pub fn divide(&mut self, home: Home) {
        self.home = Some(home);
    }

    /// Whether the flow of a packet belongs to another lane. What the resolver learns would be wrong where others see the rest.
    fn is_stray(&mut self, packet: &Packet) -> bool {
        let is_stray = self.home.is_some_and(|home| home.is_away(packet.key.hosts.difference()));
        self.table.counters.strays += u64::from(is_stray);
        is_stray
    }

    /// Prefetches the flows of the first [`LOOK_AHEAD`] of `frames` that cross this `way`, before they are taken one
    /// by one, so that the cache misses of a large table overlap. Each loop waits for memory once, and not for each
    /// frame. `more` prefetches the entry of a scheme for a flow. The slots are kept for [`Flows::see_next`], so that
    /// no flow is looked for twice.
    #[inline(never)]
    pub fn look_ahead<'a>(
        &mut self,
        way: Way,
        frames: impl Iterator<Item = &'a [u8]>,
        more: impl Fn(Slot, &Hot) -> u64,
    ) {
        self.next = LOOK_AHEAD;
        // On a quiet port, hardly any of them is looked up.
        if self.table.len() < LARGE_TABLE || self.watch.since == Nanos::NEVER {
            return;
        }
        let Self { table, guesses, .. } = self;
        let (mut hashes, mut count) = ([0; LOOK_AHEAD], 0);
        for (hash, headers) in hashes.iter_mut().zip(frames) {
            // The hash of a frame without a flow leads nowhere, and does no harm.
            *hash = Packet::usual_key(way, headers).map_or(0, |key| table.hash(&key));
            count += 1;
        }
        let first = LOOK_AHEAD - count;
        let (hashes, guesses) = (&hashes[..count], &mut guesses[first..]);
        black_box(hashes.iter().fold(0, |sum, hash| sum ^ table.peek(*hash)));
        for (guess, hash) in guesses.iter_mut().zip(hashes) {
            *guess = table.guess(*hash);
        }
        let flows = guesses.iter().filter_map(|guess| table.peek_flow(*guess));
        black_box(flows.fold(0, |sum, (slot, hot)| sum ^ hot.sent().0 ^ more(slot, hot)));
        self.next = first;
    }

    /// Takes the frame of a packet that is simply the next one of a known flow, as nearly all are, or a repeated one:
    /// counts its data on the way out. If the resolver `learns` nothing from it, it is any packet with data of a known
    /// flow. Returns `None` for all others, which [`Flows::see`] takes.
    ///
    /// `SAMPLES` is [`Flows::samples`]. Headers are read where they are needed, and not before: more would have to be
    /// kept aside meanwhile.
    #[inline(always)]
    pub fn see_next<const SAMPLES: bool>(
        &mut self,
        way: Way,
        frame: Crossing<'_>,
        headers: &[u8],
        learns: bool,
    ) -> Option<Seen> {
        let guess = self.next_guess();
        let packet = packet::ipv4_of(frame.descriptor, headers)?;
        let head = roce::Head::parse(packet)?;
        let (key, bth) = packet::key_of(way, head);
        if !Role::of(bth.opcode()).single {
            return None;
        }
        // Packets of a flow come in trains.
        let slot = match self.table.find_at(self.last, &key) {
            Some(slot) => slot,
            None => {
                let guess = match guess {
                    Some(guess) => guess,
                    None => self.table.guess(self.table.hash(&key)),
                };
                match self.table.find_at(guess, &key) {
                    Some(slot) => slot,
                    None => self.find_usual(way, packet)?,
                }
            }
        };
        self.last = Link::to(slot);
        let (digest, bytes) = (frame.origin(headers).digest(), counted(way, frame.length));
        let goes_on = self.take_next::<SAMPLES>(slot, digest, frame.now, bth.psn(), bytes, learns);
        goes_on.then(|| Seen { sighting: Sighting::Of(slot), data: true, source_port: head.source_port() })
    }

    /// Takes a packet of the flow in `slot`, as [`Flows::see_next`] does. Returns whether it is simply the next one.
    #[inline(always)]
    fn take_next<const SAMPLES: bool>(
        &mut self,
        slot: Slot,
        digest: u32,
        now: Nanos,
        psn: Psn,
        bytes: WireBytes,
        learns: bool,
    ) -> bool {
        match learns {
            true => {
                let most = if SAMPLES { self.watch.most } else { 1 };
                self.table.go_on(slot, digest, now, psn, (bytes, most))
            }
            false => self.table.go_by(slot, digest, now, psn, self.counted_outside(now, bytes)),
        }
    }

    /// The slot at which the flow of the next frame probably is, if the burst was [looked up](Flows::look_ahead). The
    /// guess is wrong if frames were left out since then.
    #[inline(always)]
    fn next_guess(&mut self) -> Option<Link> {
        let guess = self.guesses.get(self.next)?;
        self.next += 1;
        Some(*guess)
    }

    /// The slot of the flow of a packet over IPv4 without options, which is not where it was guessed to be. The packet
    /// is read again, because passing its key on would cost all others.
    #[inline(never)]
    fn find_usual(&self, way: Way, packet: &[u8]) -> Option<Slot> {
        let (key, _) = packet::key_of(way, roce::Head::parse(packet)?);
        self.table.find(self.table.hash(&key), &key)
    }

    /// Takes a frame: finds or enters its flow, learns from it if it `learns`, and counts its data on the way out.
    /// Incoming data is not counted: this end notifies none of its senders.
    #[inline(never)]
    pub fn see(&mut self, way: Way, frame: Crossing<'_>, headers: &[u8], learns: bool) -> Seen {
        let Crossing { now, port, length, descriptor, .. } = frame;
        let packet = Packet::usual(way, port, descriptor, headers)
            .or_else(|| Packet::find(way, port, descriptor, headers));
        let Some(packet) = packet else {
            return Seen { sighting: Sighting::NoFlow, data: false, source_port: 0 };
        };
        let sighting = match learns {
            true => self.observe(now, &packet, length),
            false => self.look_on(now, &packet, length),
        };
        let Role { data, .. } = Role::of(packet.bth.opcode());
        Seen { sighting, data, source_port: packet.source_port }
    }

    /// The flow of a data packet that leaves, and its UDP source port. The packet was [seen](Flows::see) when it was
    /// queued. Its port of entry is unknown here, so it counts as its flow's if station and VLAN are those of the flow.
    pub fn find_outgoing(&self, descriptor: &Descriptor, headers: &[u8]) -> Option<(Slot, u16)> {
        /// It is not compared.
        const ANY: PortId = PortId(0);
        let packet = Packet::usual(Way::Out, ANY, descriptor, headers)
            .or_else(|| Packet::find(Way::Out, ANY, descriptor, headers))?;
        let slot = self.table.find(self.table.hash(&packet.key), &packet.key)?;
        let origin = self.table.cold(slot).origin()?;
        let is_data = Role::of(packet.bth.opcode()).data && origin.shares_station_with(packet.origin);
        is_data.then_some((slot, packet.source_port))
    }

    /// Takes a packet of a frame of `length`: finds or enters its flow, learns from it, and counts it.
    fn observe(&mut self, now: Nanos, packet: &Packet, length: WireBytes) -> Sighting {
        let Packet { key, origin, bth, .. } = packet;
        let (role, bytes) = (Role::of(bth.opcode()), counted(key.hosts.way, length));
        if role.single
            && let Some(slot) = self.table.find(self.table.hash(key), key)
            && self.table.go_on(slot, origin.digest(), now, bth.psn(), (bytes, self.watch.most))
        {
            return Sighting::Of(slot);
        }
        let sighting = self.look_at(now, packet, role);
        if role.data
            && let Sighting::Of(slot) = sighting
        {
            let bytes = WireBytes(bytes.0 * self.left_out(now, role));
            self.table.hot_mut(slot).count(bytes);
        }
        sighting
    }

    /// Takes a packet from which nothing is learnt: finds its flow, and counts it. Only data that leaves enters a flow:
    /// its sender may have to be told. A flow that seems to have another sender than before keeps it for the resolver,
    /// which will see that in the sample, but the packet is not taken as one of it.
    fn look_on(&mut self, now: Nanos, packet: &Packet, length: WireBytes) -> Sighting {
        let Packet { key, origin, bth, .. } = packet;
        let Role { kind, data, .. } = Role::of(bth.opcode());
        let bytes = self.counted_outside(now, counted(key.hosts.way, length));
        if self.is_stray(packet) {
            return Sighting::Stranger;
        }
        let Self { table, resolver, .. } = self;
        let hash = table.hash(key);
        let known = table.find(hash, key).filter(|slot| !table.has_aged(*slot, Tick::of(now)));
        let enters = data && key.hosts.way == Way::Out && key.qp > QueuePair::GENERAL_SERVICES;
        let slot = match known {
            Some(slot) => slot,
            None if enters => {
                let gone = |table: &mut FlowTable, slot| resolver.release(table, slot, now);
                let slot = table.find_or_insert(hash, key, now, gone).0;
                table.cold_mut(slot).source_port = packet.source_port;
                slot
            }
            None => return Sighting::NoFlow,
        };
        match table.cold(slot).origin() {
            Some(known) if known != *origin => return Sighting::Stranger,
            Some(_) => {}
            None => resolver::pin(table, slot, *origin),
        }
        // The resolver is to know of a silence that this packet ends.
        if Tick::of(now).since(table.hot(slot).last_seen) > Tick::QUIET {
            resolver::end_silence(table, slot);
        }
        // Whatever its number says, its origin is not silent.
        table.hot_mut(slot).last_seen = Tick::of(now);
        if resolver.doubts(table, slot, now, kind, bth.psn()) {
            return Sighting::Stranger;
        }
        if data {
            resolver.carries_data(table, slot);
            table.hot_mut(slot).count(bytes);
        }
        Sighting::Of(slot)
    }

    /// Takes a packet that is not simply the next one of a known flow.
    fn look_at(&mut self, now: Nanos, packet: &Packet, role: Role) -> Sighting {
        let Role { kind, data, is_read, .. } = role;
        if self.is_stray(packet) {
            return Sighting::Stranger;
        }
        if kind == Kind::Other || packet.key.qp <= QueuePair::GENERAL_SERVICES {
            return self.look_at_other(now, packet);
        }
        let (notices_silence, samples) = (self.notices_silence(now), self.samples());
        let Self { table, resolver, .. } = self;
        let hash = table.hash(&packet.key);
        let (slot, new) =
            table.find_or_insert(hash, &packet.key, now, |table, slot| resolver.release(table, slot, now));
        let before = table.hot(slot).last_seen;
        let position = match kind {
            Kind::Request => PsnPosition::Request(packet.bth.psn()),
            Kind::Response => role::answered(packet, samples)
                .map_or(PsnPosition::Unnumbered, |(psn, acknowledged)| {
                    PsnPosition::Response(Response { now, psn, acknowledged, before })
                }),
            Kind::Unacknowledged | Kind::Other => PsnPosition::Unnumbered,
        };
        let known = table.cold(slot).origin();
        if known != Some(packet.origin) {
            let stays = || !notices_silence || !resolver.follows(table, slot, now, position);
            if known.is_some() && stays() {
                resolver.pass_over(table, slot, now);
                if Tick::of(now).since(before) > Tick::QUIET {
                    self.watch_origins(now);
                }
                return Sighting::Stranger;
            }
            if known.is_some() {
                resolver.note_move(table, slot, now);
            }
            resolver::pin(table, slot, packet.origin);
        }
        table.hot_mut(slot).last_seen = Tick::of(now);
        if new || matches!(position, PsnPosition::Request(_)) {
            table.cold_mut(slot).source_port = packet.source_port;
        }
        match position {
            PsnPosition::Request(psn) if samples && is_read => {
                resolver.read(table, slot, now, psn, role::psns(packet));
            }
            PsnPosition::Request(psn) => resolver.request(table, slot, now, psn, role::psns(packet)),
            PsnPosition::Response(response) => resolver.response(table, slot, response),
            PsnPosition::Unnumbered => {}
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
        let back = self.table.find(self.table.hash(&cnp.key), &cnp.key)?;
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

    /// Gives what has become known of senders since the last call to `take`, and returns the number of changes that
    /// found no room. Nothing is kept before the first call.
    pub fn take_changes(&mut self, take: impl FnMut(FlowChange)) -> u64 {
        self.resolver.take_changes(take)
    }

    /// The number of flows, and what has become of them so far.
    pub fn report(&self) -> FlowsReport {
        let Self { table, resolver, .. } = self;
        FlowsReport {
            known: table.len(),
            table: table.counters(),
            data: resolver.data,
            resolver: resolver.counters,
        }
    }
}
