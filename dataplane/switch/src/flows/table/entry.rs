//! An entry of the flow table: one cache line that every packet needs, and the rest.

use crate::flows::packet::{Address, FlowKey, Hosts, Origin, Way};
use serde::{Deserialize, Serialize};
use units::{Nanos, PortId, WireBytes};
use wire::ethernet::MacAddress;
use wire::roce::{Psn, QueuePair};

/// The place of a flow in the table, for as long as it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Slot(pub(super) u32);

impl Slot {
    /// The slot with this [index](Self::index).
    pub const fn numbered(index: u32) -> Self {
        Self(index)
    }

    /// The slot as a small number.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// An instant in units of 2^16 ns, which wraps after 78 hours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tick(u32);

impl Tick {
    /// The unit, as a power of two of nanoseconds.
    pub const SHIFT: u32 = 16;
    /// The time in ticks, about a second, after which a quiet half-flow may be another one.
    pub const QUIET: u32 = 1 << 14;

    #[inline]
    pub const fn of(now: Nanos) -> Self {
        Self((now.0 >> Self::SHIFT) as u32)
    }

    /// Ticks since `earlier`; zero if `earlier` is ahead by less than half a turn.
    #[inline]
    pub const fn since(self, earlier: Self) -> u32 {
        let ticks = self.0.wrapping_sub(earlier.0);
        if ticks > u32::MAX / 2 { 0 } else { ticks }
    }

    /// Whether it is at most `ticks` [since](Self::since) `earlier`.
    #[inline]
    pub const fn is_within(self, ticks: u32, earlier: Self) -> bool {
        let since = self.0.wrapping_sub(earlier.0);
        since <= ticks || since > u32::MAX / 2
    }
}

/// No source is known.
const UNKNOWN: u32 = u32::MAX;
/// No flow is in the slot.
const VACANT: u32 = u32::MAX - 1;

/// The part of a flow that every packet needs.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[repr(align(64))]
pub(crate) struct Hot {
    hosts: [Address; 2],
    /// The receiver's queue pair, and the way of the packets.
    receiver: u32,
    /// The sender's queue pair, or one of the two constants.
    source: u32,
    /// Bytes on the wire of data packets that went out, above the digest of their origin.
    sent: u64,
    /// The time of the last packet.
    pub(crate) last_seen: Tick,
    /// The round of notifications in which the flow was last handled, as counted by the scheme that checks it for
    /// each packet; zero is none.
    pub(crate) round: u32,
    pub(in crate::flows) progress: Progress,
    pub(crate) notes: Notes,
}

const _: () = assert!(size_of::<Hot>() == 64);

impl Hot {
    /// The bytes that are certain to be counted, half a terabyte: a flow that has sent as many is old on any link.
    pub(crate) const MOST_SENT: WireBytes = WireBytes(1 << (u64::BITS - Self::DIGEST_BITS - 1));
    const DIGEST_BITS: u32 = 24;
    const DIGEST: u64 = (1 << Self::DIGEST_BITS) - 1;

    pub(super) const fn new(key: FlowKey, now: Tick) -> Self {
        Self {
            hosts: [key.hosts.source, key.hosts.destination],
            receiver: receiver(&key),
            source: UNKNOWN,
            sent: 0,
            last_seen: now,
            round: 0,
            progress: Progress(0),
            notes: Notes(0),
        }
    }

    #[inline]
    pub const fn key(&self) -> FlowKey {
        let [source, destination] = self.hosts;
        let way = if self.receiver & IN == 0 { Way::Out } else { Way::In };
        FlowKey {
            hosts: Hosts { source, destination, way },
            qp: QueuePair::from_low_bits(self.receiver & !IN),
        }
    }

    /// Whether the flow is the one of `key`.
    #[inline(always)]
    pub fn is_of(&self, key: &FlowKey) -> bool {
        self.receiver == receiver(key) && self.hosts == [key.hosts.source, key.hosts.destination]
    }

    /// Bytes on the wire so far; above [`Hot::MOST_SENT`], possibly not all of them.
    #[inline]
    pub const fn sent(&self) -> WireBytes {
        WireBytes(self.sent >> Self::DIGEST_BITS)
    }

    /// Counts a data packet.
    #[inline]
    pub(in crate::flows) fn count(&mut self, bytes: WireBytes) {
        if let Some(sent) = self.sent.checked_add(bytes.0 << Self::DIGEST_BITS) {
            self.sent = sent;
        }
    }

    /// Whether packets come from an origin with this digest.
    #[inline(always)]
    pub const fn comes_from(&self, digest: u32) -> bool {
        self.sent & Self::DIGEST == digest as u64
    }

    pub(in crate::flows) const fn set_origin(&mut self, origin: Origin) {
        self.sent = self.sent & !Self::DIGEST | origin.digest() as u64;
    }

    /// The sender's queue pair.
    #[inline]
    pub const fn source(&self) -> Option<QueuePair> {
        if self.source < VACANT { Some(QueuePair::from_low_bits(self.source)) } else { None }
    }

    pub(super) fn set_source(&mut self, source: Option<QueuePair>) {
        self.source = source.map_or(UNKNOWN, QueuePair::number);
    }

    /// Takes the next data packet of a flow for which nothing is unresolved. Returns whether it was one.
    #[inline(always)]
    pub(in crate::flows) fn goes_on(&mut self, psn: Psn, now: Tick, ageing: u32) -> bool {
        let Self { progress, last_seen, .. } = self;
        let usual = progress.has_data() && progress.expects(psn) && now.is_within(ageing, *last_seen);
        if usual {
            self.progress.advance(psn, 1);
            self.last_seen = now;
        }
        usual
    }

    pub(super) const fn is_vacant(&self) -> bool {
        self.source == VACANT
    }

    /// Leaves the slot to another flow. It is of no key until then, and no scheme has a note of it.
    pub(super) const fn vacate(&mut self) {
        (self.source, self.receiver, self.notes) = (VACANT, VACANT, Notes(0));
    }
}

/// The notes of schemes about a flow, one bit each. A scheme keeps its further state of a flow in a table of its
/// own, by slot. That entry is valid only while the scheme's bit is set here. A new flow in the slot has no bits,
/// so the entry of the former flow needs no reset, and packets of flows without notes touch no other line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Notes(u32);

/// One of these bits. The list of schemes assigns it to a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Note(u32);

impl Note {
    /// The note of this number, 0 to 31.
    pub const fn numbered(number: u8) -> Self {
        Self(1 << number)
    }
}

impl Notes {
    #[inline]
    pub const fn has(self, note: Note) -> bool {
        self.0 & note.0 != 0
    }

    #[inline]
    pub const fn set(&mut self, note: Note, on: bool) {
        self.0 = self.0 & !note.0 | if on { note.0 } else { 0 };
    }
}

/// A bit above a queue pair's number: the packets come in from the long link.
const IN: u32 = 1 << 24;

/// A queue pair and a way in one word.
#[inline(always)]
const fn receiver(key: &FlowKey) -> u32 {
    key.qp.number() | if matches!(key.hosts.way, Way::In) { IN } else { 0 }
}

/// The progress of the requests of a half-flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Progress(u32);

impl Progress {
    const PSN: u32 = 0x00ff_ffff;
    const TAIL_SHIFT: u32 = 24;
    const TAIL: u32 = 0x1f << Self::TAIL_SHIFT;
    /// A power of two. The longest message, 2 GiB, has this many packets of 512 bytes; and PSNs can be compared
    /// only if less than half of all are in flight.
    const LONGEST_TAIL: u32 = 22;
    const REQUESTS: u32 = 1 << 29;
    const DATA: u32 = 1 << 30;
    const SETTLED: u32 = 1 << 31;
    /// Consecutive packets that may be lost before the gateway.
    pub const GAP: u32 = 1 << 12;
    /// A PSN further behind is not a repetition.
    const AGAIN: i32 = 1 << 20;
    /// At each multiple of this, the range of PSNs is checked.
    const STRIDE: u32 = 1 << 20;
    /// The bits of a PSN that tell between which two it is.
    const STRIDES: u32 = Self::PSN & !(Self::STRIDE - 1);

    /// The highest PSN of a request.
    #[inline]
    pub const fn last(self) -> Psn {
        Psn::from_low_bits(self.0)
    }

    /// The number of PSNs behind the last that may belong to the same request: an RDMA READ takes one for each
    /// packet of its response.
    #[inline]
    pub const fn tail(self) -> u32 {
        (1 << ((self.0 & Self::TAIL) >> Self::TAIL_SHIFT)) - 1
    }

    /// The highest PSN that may be acknowledged.
    #[inline]
    pub const fn reach(self) -> Psn {
        self.last().advanced_by(self.tail())
    }

    /// Whether a request with this PSN, which takes no other, is expected: the next one or one soon after, on a
    /// half-flow for which nothing is unresolved.
    #[inline(always)]
    pub const fn expects(self, psn: Psn) -> bool {
        // One that is not ahead skips more than half of all.
        let skipped = (psn.distance_from(self.last()) as u32).wrapping_sub(1);
        let known = Self::REQUESTS | Self::SETTLED;
        self.0 & known == known
            && (skipped < Self::GAP || skipped < Self::GAP + self.tail())
            && (psn.number() ^ self.0) & Self::STRIDES == 0
    }

    /// Whether a request with this PSN would be the next one or one soon after, on a half-flow for which nothing is
    /// unresolved.
    #[inline(always)]
    pub const fn is_soon(self, psn: Psn) -> bool {
        let skipped = (psn.distance_from(self.last()) as u32).wrapping_sub(1);
        let known = Self::REQUESTS | Self::SETTLED;
        self.0 & known == known && skipped < Self::GAP
    }

    /// Whether data with this PSN or a later one has gone by already, on a half-flow for which nothing is
    /// unresolved.
    #[inline]
    pub const fn has_settled_before(self, psn: Psn) -> bool {
        let known = Self::REQUESTS | Self::SETTLED | Self::DATA;
        let behind = self.last().distance_from(psn);
        self.0 & known == known && behind >= 0 && behind <= Self::AGAIN
    }

    /// Notes a request with this PSN, which takes at most `packets` PSNs.
    #[inline(always)]
    pub const fn advance(&mut self, psn: Psn, packets: u32) {
        let exponent = if packets <= 1 { 0 } else { u32::BITS - (packets - 1).leading_zeros() };
        let exponent = if exponent > Self::LONGEST_TAIL { Self::LONGEST_TAIL } else { exponent };
        self.0 &= !(Self::PSN | Self::TAIL);
        self.0 |= psn.number() | exponent << Self::TAIL_SHIFT | Self::REQUESTS;
    }

    /// Whether requests went by.
    #[inline]
    pub const fn has_requests(self) -> bool {
        self.0 & Self::REQUESTS != 0
    }

    /// Forgets the requests.
    pub const fn forget(&mut self) {
        self.0 &= Self::DATA | Self::SETTLED;
    }

    /// Whether data went by.
    #[inline]
    pub const fn has_data(self) -> bool {
        self.0 & Self::DATA != 0
    }

    pub const fn set_data(&mut self) {
        self.0 |= Self::DATA;
    }

    pub const fn set_settled(&mut self, settled: bool) {
        self.0 = self.0 & !Self::SETTLED | if settled { Self::SETTLED } else { 0 };
    }
}

/// Index that stands for no slot.
pub(super) const NONE: u32 = u32::MAX;

/// A slot that may be none, in four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Link(u32);

impl Link {
    pub const NONE: Self = Self(NONE);

    #[inline]
    pub const fn to(slot: Slot) -> Self {
        Self(slot.0)
    }

    /// An index for a table of which no slot is none.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    #[inline]
    pub const fn get(self) -> Option<Slot> {
        if self.0 == NONE { None } else { Some(Slot(self.0)) }
    }
}

/// Tag control information of a VLAN tag, or none, in two bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tag(u16);

impl Tag {
    /// No tag: its VLAN, 0xfff, is reserved (IEEE 802.1Q table 9-2).
    pub const NONE: Self = Self(u16::MAX);

    pub const fn new(tci: Option<u16>) -> Self {
        match tci {
            Some(tci) => Self(tci),
            None => Self::NONE,
        }
    }

    /// The VLAN; 0 without one.
    pub const fn vlan(self) -> u16 {
        match self.tci() {
            Some(tci) => tci & 0x0fff,
            None => 0,
        }
    }

    pub const fn tci(self) -> Option<u16> {
        if self.0 == u16::MAX { None } else { Some(self.0) }
    }
}

/// The data needed to answer a flow, and to find its sender.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Cold {
    /// Half-flows of the other direction that cannot be the other half, by their ordinals.
    pub(in crate::flows) excluded: u64,
    /// The lowest PSN of a request.
    pub(in crate::flows) first: Psn,
    /// The PSN up to which the responses on this half-flow have acknowledged.
    pub(in crate::flows) answered: Psn,
    /// The other half, if it is known; if not, the only candidate.
    pub(in crate::flows) other: Link,
    /// The next in the chain of half-flows that are not bound; or of free slots.
    pub(in crate::flows) next: Link,
    /// The station that sends the packets, if it is pinned.
    pub(crate) source: MacAddress,
    /// The station to which the packets go.
    pub(crate) destination: MacAddress,
    /// Their tag; its VLAN is pinned with the station.
    pub(crate) tag: Tag,
    /// The port at which packets come in, where it is pinned.
    pub(crate) ingress: PortId,
    /// Their UDP source port.
    pub(crate) source_port: u16,
    /// The time when it joined its chain, or ended: in units of 2^20 ns.
    pub(in crate::flows) joined: u16,
    /// Its number in its chain.
    pub(in crate::flows) ordinal: u8,
    /// The number of confirmations of `other`.
    pub(in crate::flows) confirmations: u8,
    /// The number of checked responses, at most 255.
    pub(in crate::flows) tries: u8,
    pub(in crate::flows) flags: Flags,
}

const _: () = assert!(size_of::<Cold>() <= 48);

impl Cold {
    /// The origin of packets, if it is known.
    pub(crate) fn origin(&self) -> Option<Origin> {
        let origin = Origin::new(self.ingress, self.source, self.tag.vlan());
        self.flags.has(Flags::PINNED).then_some(origin)
    }

    pub(super) const NEW: Self = Self {
        excluded: 0,
        first: Psn::from_low_bits(0),
        answered: Psn::from_low_bits(0),
        other: Link::NONE,
        next: Link::NONE,
        source: MacAddress([0; 6]),
        destination: MacAddress([0; 6]),
        tag: Tag::NONE,
        ingress: PortId(0),
        source_port: 0,
        joined: 0,
        ordinal: 0,
        confirmations: 0,
        tries: 0,
        flags: Flags(0),
    };
}

/// The state of a half-flow in the resolver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Flags(u8);

impl Flags {
    /// Responses went by: `answered` is valid.
    pub const ANSWERED: Self = Self(1);
    /// It is in its chain.
    pub const CHAINED: Self = Self(2);
    /// Its chain had no room for it.
    pub const LEFT_OUT: Self = Self(4);
    /// The connection manager bound it.
    pub const MANAGED: Self = Self(8);
    /// The connection manager ended it; if it is bound, by a message from elsewhere.
    pub const ENDED: Self = Self(16);
    /// Packets are accepted from one origin alone: `source`, `ingress` and `tag` are valid.
    pub const PINNED: Self = Self(32);
    /// There were packets of other origins, which were ignored.
    pub const STRANGERS: Self = Self(64);
    /// The last request is an RDMA READ, and the resolver sees a sample of the others: others may come
    /// again unseen.
    pub const AFTER_READ: Self = Self(128);

    #[inline]
    pub const fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    pub const fn set(&mut self, flag: Self, on: bool) {
        self.0 = self.0 & !flag.0 | if on { flag.0 } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn psn(number: u32) -> Psn {
        Psn::from_low_bits(number)
    }

    fn hot(way: Way) -> Hot {
        let hosts = Hosts { source: Address::numbered(1), destination: Address::numbered(2), way };
        Hot::new(FlowKey { hosts, qp: QueuePair::from_low_bits(0xff_fffe) }, Tick(5))
    }

    #[test]
    fn a_flow_keeps_its_key_whichever_way_it_goes() {
        for way in [Way::Out, Way::In] {
            let FlowKey { hosts, qp } = hot(way).key();
            assert_eq!((hosts.way, qp.number()), (way, 0xff_fffe));
            assert!(hot(way).is_of(&FlowKey { hosts, qp }));
            assert!(!hot(way.reversed()).is_of(&FlowKey { hosts, qp }));
        }
    }

    #[test]
    fn an_origin_and_the_bytes_that_were_sent_do_not_disturb_each_other() {
        let origin = |port| Origin::new(PortId(port), MacAddress([2, 0, 0, 0, 0, 1]), 7);
        let mut hot = hot(Way::Out);
        hot.count(WireBytes(1_000));
        for port in [63, 5] {
            hot.set_origin(origin(port));
            assert_eq!(hot.sent(), WireBytes(1_000));
            assert!(hot.comes_from(origin(port).digest()) && !hot.comes_from(origin(port ^ 1).digest()));
        }
        hot.count(WireBytes(500));
        assert_eq!(hot.sent(), WireBytes(1_500));
        assert!(hot.comes_from(origin(5).digest()));
    }

    #[test]
    fn a_slot_without_a_flow_has_no_source_and_no_notes() {
        let mut hot = hot(Way::Out);
        hot.notes.set(Note::numbered(5), true);
        assert_eq!(hot.source(), None);
        hot.set_source(Some(QueuePair::from_low_bits(0xff_ffff)));
        assert_eq!(hot.source(), Some(QueuePair::from_low_bits(0xff_ffff)));
        hot.vacate();
        assert_eq!((hot.source(), hot.notes), (None, Notes(0)));
    }

    #[test]
    fn half_a_turn_of_ticks_is_the_longest_that_is_told() {
        let half = u32::MAX / 2;
        assert_eq!((Tick(half).since(Tick(0)), Tick(half + 1).since(Tick(0))), (half, 0));
    }

    #[test]
    fn notes_are_set_and_cleared_one_by_one() {
        let mut notes = Notes(0);
        for number in [0, 5, 31] {
            notes.set(Note::numbered(number), true);
        }
        notes.set(Note::numbered(5), true);
        notes.set(Note::numbered(31), false);
        let set = (0..32).filter(|number| notes.has(Note::numbered(*number)));
        assert_eq!(set.collect::<Vec<_>>(), [0, 5]);
    }

    #[test]
    fn a_request_reaches_as_far_as_the_next_power_of_two_of_its_packets() {
        let reached = |packets| {
            let mut progress = Progress::default();
            progress.advance(psn(1_000), packets);
            assert_eq!(progress.last(), psn(1_000));
            progress.reach().distance_from(psn(1_000))
        };
        assert_eq!([0, 1, 2, 3, 4, 5, 8, 9].map(reached), [0, 0, 1, 3, 3, 7, 7, 15]);
        let longest = 1 << 22;
        assert_eq!([longest, longest + 1, u32::MAX].map(reached), [longest as i32 - 1; 3]);
    }

    #[test]
    fn a_forgotten_half_flow_keeps_that_it_had_data_and_is_settled() {
        let mut progress = Progress::default();
        progress.set_data();
        assert!(progress.has_data() && !progress.has_requests());
        progress.set_settled(true);
        assert!(!progress.has_settled_before(psn(0)), "there was no request");
        progress.advance(psn(0), 1);
        assert!(progress.has_requests() && progress.expects(psn(1)) && progress.has_settled_before(psn(0)));
        progress.forget();
        assert!(progress.has_data() && !progress.has_requests() && !progress.expects(psn(1)));
        progress.advance(psn(0), 1);
        assert!(progress.expects(psn(1)), "it is settled still");
        progress.set_settled(false);
        assert!(!progress.expects(psn(1)) && !progress.has_settled_before(psn(0)));
        assert!(progress.has_data() && progress.has_requests());
    }

    #[test]
    fn only_data_that_went_by_is_a_repetition() {
        let mut progress = Progress::default();
        progress.set_settled(true);
        progress.advance(psn(0), 1);
        assert!(!progress.has_settled_before(psn(0)), "it had no data");
    }

    #[test]
    fn the_next_request_may_follow_the_tail_of_the_last_and_a_gap() {
        let mut progress = Progress::default();
        progress.set_settled(true);
        progress.advance(psn(1_000), 1_024);
        let farthest = 1_000 + Progress::GAP + 1_023;
        let expected = [1_000, 1_001, farthest, farthest + 1].map(|number| progress.expects(psn(number)));
        assert_eq!(expected, [false, true, true, false]);
    }

    #[test]
    fn a_tag_has_the_vlan_of_its_low_twelve_bits() {
        assert_eq!((Tag::new(Some(0x6123)).vlan(), Tag::new(Some(0x6123)).tci()), (0x123, Some(0x6123)));
        assert_eq!((Tag::new(None).vlan(), Tag::NONE.tci()), (0, None));
    }
}
