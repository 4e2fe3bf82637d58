//! The board: what the lanes of a switch tell each other. A line of 64 bytes has one writer, so that a line that does not
//! change costs its readers a load from their own cache.

use super::horizon::Horizon;
use super::pair_hash::PairHash;
use super::post::Post;
use super::sightings::{Sightings, Stations};
use crate::flow_control::PauseCause;
use crate::ledger::{Ledger, PoolUse};
use crate::sync::{AtomicU64, Ordering};
use std::sync::Arc;
use units::{BitRate, Bytes, Cells, Interval, Nanos, PortId, Priority, PrioritySet, WireBytes};

/// Eight words with one writer.
#[derive(Default)]
#[repr(align(64))]
struct Line([AtomicU64; Priority::COUNT]);

impl Line {
    #[inline]
    fn load(&self, word: usize) -> u64 {
        self.0[word].load(Ordering::Acquire)
    }

    #[inline]
    fn store(&self, word: usize, value: u64) {
        self.0[word].store(value, Ordering::Release);
    }
}

/// The horizon of one port, on a line of its own: all lanes write it.
#[derive(Default)]
#[repr(align(64))]
struct Claims(Horizon);

/// What the lanes of one switch share. The lines of a lane are written by that lane alone; the horizon of a port is the
/// one thing that several lanes write.
pub struct Board {
    lanes: usize,
    ports: usize,
    /// By lane and port, for each priority: the parts of a [`Level`] that count against pools.
    levels: Box<[Line]>,
    /// The same for the reserved part.
    reserved: Box<[Line]>,
    /// By lane and port, for each priority: all bytes on the wire that have come in to be forwarded.
    received: Box<[Line]>,
    /// By lane and port: [`Waiting`].
    waiting: Box<[Line]>,
    /// By lane and port, for each priority: [`Heard`].
    heard: Box<[Line]>,
    /// By lane: the use of the pools.
    pools: Box<[Line]>,
    /// By port: the priorities that the lead pauses, and those of them that it pauses for a receive ring; and when the first
    /// of these pauses ends.
    paused: Box<[Line]>,
    /// By port: [`Pace`].
    paces: Box<[Line]>,
    horizons: Box<[Claims]>,
    hash: Option<PairHash>,
    /// By lane and port: control frames for the lead.
    posts: Box<[Post]>,
    /// By lane: the stations of which it tells the others.
    sightings: Arc<[Sightings]>,
    /// By lane. The lead reads the totals of the others where it needs them exactly, at deadlines.
    ledgers: Box<[Arc<Ledger>]>,
}

/// What one lane holds of a priority group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Level {
    /// Cells in the reserved part of the group.
    pub reserved: Cells,
    /// Cells in the shared pool.
    pub shared: Cells,
    /// Cells in the headroom.
    pub headroom: Cells,
}

impl Level {
    fn words(self) -> [u64; 2] {
        let half = |cells: Cells| cells.0.min(u64::from(u32::MAX));
        [self.reserved.0, half(self.shared) << 32 | half(self.headroom)]
    }

    fn of([reserved, pooled]: [u64; 2]) -> Self {
        let (shared, headroom) = (Cells(pooled >> 32), Cells(pooled & u64::from(u32::MAX)));
        Self { reserved: Cells(reserved), shared, headroom }
    }
}

/// What one lane has for a port, and what it wants of the lead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// Bytes that wait, by priority, rounded up to whole cells of 16 bytes.
    pub cells: [u32; Priority::COUNT],
    /// Bytes on the wire that it has claimed of the link since the start, modulo 2^64.
    pub claimed: u64,
    /// Bytes on the wire to which a rate of the port applies and which it has taken since the start.
    pub limited: u64,
    /// The priorities that it cannot let go on, with the cause.
    pub wants: [Option<PauseCause>; Priority::COUNT],
}

/// Words of a waiting line: four of two priorities each, and two more.
const CLAIMED: usize = 4;
const WANTS: usize = 5;
const LIMITED: usize = 6;
/// Of all that a lane shows of the port but what it has claimed and taken: its readers look at the rest where this has changed.
const VERSION: usize = 7;

/// The rate of a port, and the queue that there would be at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    /// `None` if no rate is in force.
    pub rate: Option<BitRate>,
    pub queue: WireBytes,
}

/// A pause that a lane has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    /// When.
    pub at: Nanos,
    /// How long it lasts.
    pub lasts: Interval,
}

/// Bits of the nanoseconds that a unit of [`Heard`] leaves out.
const HEARD_UNIT: u32 = 4;

impl Heard {
    /// `at` in whole units.
    pub(super) fn stamp(at: Nanos) -> Nanos {
        Nanos(at.0 >> HEARD_UNIT << HEARD_UNIT)
    }

    fn word(self) -> u64 {
        let at = (self.at.0 >> HEARD_UNIT) as u32;
        // Rounded up: a pause may last longer, and never shorter.
        let lasts = self.lasts.0.div_ceil(1 << HEARD_UNIT).min(u64::from(u32::MAX));
        u64::from(at) << 32 | lasts
    }

    /// What `word` says at `now`, less than 34 s after it was written.
    fn of(word: u64, now: Nanos) -> Self {
        let age = ((now.0 >> HEARD_UNIT) as u32).wrapping_sub((word >> 32) as u32);
        // The clock of its writer may be ahead of `now`.
        let age = if age > u32::MAX / 2 { 0 } else { age };
        let at = Nanos(((now.0 >> HEARD_UNIT) - u64::from(age)) << HEARD_UNIT);
        Self { at, lasts: Interval((word & u64::from(u32::MAX)) << HEARD_UNIT) }
    }
}

impl Board {
    /// A board for `lanes` lanes of a switch with `ports` ports.
    pub fn new(lanes: usize, ports: usize) -> Self {
        let lines = |count: usize| (0..count).map(|_| Line::default()).collect();
        Self {
            lanes,
            ports,
            levels: lines(lanes * ports),
            reserved: lines(lanes * ports),
            received: lines(lanes * ports),
            waiting: lines(lanes * ports),
            heard: lines(lanes * ports),
            pools: lines(lanes),
            paused: lines(ports),
            paces: lines(ports),
            hash: Some(PairHash::default()),
            horizons: (0..ports).map(|_| Claims::default()).collect(),
            posts: (0..lanes * ports).map(|_| Post::new()).collect(),
            sightings: (0..lanes).map(|_| Sightings::new(lanes)).collect(),
            ledgers: (0..lanes).map(|_| Arc::new(Ledger::new(ports, 1))).collect(),
        }
    }

    /// The same for devices that spread frames by `hash`; `None` if one has a way of its own. Then no lane learns who sends.
    #[must_use]
    pub fn spread_by(self, hash: Option<PairHash>) -> Self {
        Self { hash, ..self }
    }

    pub(super) fn hash(&self) -> Option<PairHash> {
        self.hash
    }

    /// The number of lanes.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// The number of ports.
    pub fn ports(&self) -> usize {
        self.ports
    }

    /// The ledger of `lane`, which that lane alone writes.
    pub(crate) fn ledger(&self, lane: usize) -> &Arc<Ledger> {
        &self.ledgers[lane]
    }

    pub(super) fn post(&self, lane: usize, port: PortId) -> &Post {
        &self.posts[self.place(lane, port)]
    }

    /// The end of `lane` of what lanes tell of stations.
    pub(crate) fn stations(&self, lane: usize) -> Stations {
        Stations::new(self.sightings.clone(), lane)
    }

    #[inline]
    fn place(&self, lane: usize, port: PortId) -> usize {
        lane * self.ports + port.index()
    }

    pub(super) fn horizon(&self, port: PortId) -> &Horizon {
        &self.horizons[port.index()].0
    }

    pub(super) fn show_level(&self, lane: usize, port: PortId, priority: Priority, level: Level) {
        let (place, [reserved, pooled]) = (self.place(lane, port), level.words());
        self.reserved[place].store(priority.index(), reserved);
        self.levels[place].store(priority.index(), pooled);
    }

    #[inline]
    pub(super) fn level(&self, lane: usize, port: PortId, priority: Priority) -> Level {
        let place = self.place(lane, port);
        Level::of([&self.reserved, &self.levels].map(|lines| lines[place].load(priority.index())))
    }

    pub(super) fn show_received(&self, lane: usize, port: PortId, priority: Priority, bytes: WireBytes) {
        self.received[self.place(lane, port)].store(priority.index(), bytes.0);
    }

    pub(super) fn received(&self, lane: usize, port: PortId, priority: Priority) -> WireBytes {
        WireBytes(self.received[self.place(lane, port)].load(priority.index()))
    }

    pub(super) fn show_waiting(&self, lane: usize, port: PortId, waiting: &Waiting) {
        let line = &self.waiting[self.place(lane, port)];
        for (word, pair) in waiting.cells.as_chunks::<2>().0.iter().enumerate() {
            line.store(word, u64::from(pair[0]) << 32 | u64::from(pair[1]));
        }
        line.store(CLAIMED, waiting.claimed);
        line.store(LIMITED, waiting.limited);
        let code = |cause: &Option<PauseCause>| cause.map_or(0, |it| it.index() as u8 + 1);
        line.store(WANTS, u64::from_be_bytes(waiting.wants.each_ref().map(code)));
    }

    /// Shows that there is news, behind it.
    pub(super) fn show_version(&self, lane: usize, port: PortId, version: u64) {
        self.waiting[self.place(lane, port)].store(VERSION, version);
    }

    #[inline]
    pub(super) fn version(&self, lane: usize, port: PortId) -> u64 {
        self.waiting[self.place(lane, port)].load(VERSION)
    }

    #[inline]
    pub(super) fn claimed(&self, lane: usize, port: PortId) -> u64 {
        self.waiting[self.place(lane, port)].load(CLAIMED)
    }

    pub(super) fn waiting(&self, lane: usize, port: PortId) -> Waiting {
        let line = &self.waiting[self.place(lane, port)];
        let pair = |index: usize| line.load(index / 2) >> (32 * (1 - index % 2));
        let codes = line.load(WANTS).to_be_bytes();
        let cause = |code: u8| PauseCause::ALL.get(usize::from(code).checked_sub(1)?).copied();
        Waiting {
            cells: core::array::from_fn(|index| pair(index) as u32),
            claimed: line.load(CLAIMED),
            limited: line.load(LIMITED),
            wants: codes.map(cause),
        }
    }

    pub(super) fn tell_heard(&self, lane: usize, port: PortId, priority: Priority, heard: Heard) -> u64 {
        let word = heard.word();
        self.heard[self.place(lane, port)].store(priority.index(), word);
        word
    }

    /// The last pause that `lane` has received, unless it is `known`.
    #[inline]
    pub(super) fn heard(
        &self,
        now: Nanos,
        (lane, port): (usize, PortId),
        priority: Priority,
        known: &mut u64,
    ) -> Option<Heard> {
        let word = self.heard[self.place(lane, port)].load(priority.index());
        let is_new = word != *known;
        *known = word;
        is_new.then(|| Heard::of(word, now))
    }

    pub(super) fn show_pools(&self, lane: usize, held: PoolUse) {
        let line = &self.pools[lane];
        for (word, bytes) in [held.shared, held.headroom, held.egress_lossy].into_iter().enumerate() {
            line.store(word, bytes.0);
        }
    }

    pub(super) fn pools(&self, lane: usize) -> PoolUse {
        let [shared, headroom, egress_lossy] = [0, 1, 2].map(|word| Bytes(self.pools[lane].load(word)));
        PoolUse { shared, headroom, egress_lossy }
    }

    pub(super) fn show_pace(&self, port: PortId, pace: Pace) {
        let line = &self.paces[port.index()];
        line.store(0, pace.rate.map_or(0, BitRate::bits_per_second));
        line.store(1, pace.queue.0);
    }

    pub(super) fn pace(&self, port: PortId) -> Pace {
        let [rate, queue] = [0, 1].map(|word| self.paces[port.index()].load(word));
        Pace { rate: BitRate::new(rate), queue: WireBytes(queue) }
    }

    pub(super) fn show_paused(&self, port: PortId, paused: PrioritySet, for_ring: PrioritySet) {
        let word = u64::from(for_ring.bits()) << 8 | u64::from(paused.bits());
        self.paused[port.index()].store(0, word);
    }

    pub(super) fn show_end(&self, port: PortId, end: Nanos) {
        self.paused[port.index()].store(1, end.0);
    }

    pub(super) fn end(&self, port: PortId) -> Nanos {
        Nanos(self.paused[port.index()].load(1))
    }

    #[inline]
    pub(super) fn paused(&self, port: PortId) -> (PrioritySet, PrioritySet) {
        let [.., for_ring, paused] = self.paused[port.index()].load(0).to_be_bytes();
        (PrioritySet::from_bits(paused), PrioritySet::from_bits(for_ring))
    }
}
