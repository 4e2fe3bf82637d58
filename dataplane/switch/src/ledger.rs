//! The ledger: every charge and credit of the buffer.
//!
//! Each entry counts cells, the unit of the buffer, and frames and bytes, from which links and schemes compute
//! bytes on the wire. The only facts are totals that never fall, each written by one core:
//!
//! | total | writer | readers |
//! |---|---|---|
//! | `admitted[ingress][egress][priority]` | owner of the ports | all |
//! | `departed[egress][ingress][priority]` | owner of the ports | all |
//! | `discarded[egress][ingress][priority]` | owner of the ports | all |
//! | `moved[egress][ingress][priority]` | owner of the ports | all |
//! | `released[ingress][priority]` | owner of the ports | the same |
//! | `pool_use[shard]` | that shard | all |
//!
//! Ports that exchange frames have one owner. Occupancy is a difference of totals, and every other figure is a sum over
//! the matrix. One such sum, `released`, over the egress ports, is kept, so that a group is settled by one line. A reader
//! on another core may see a total late. It then misses departures, so it can only overestimate
//! occupancy. `pool_use` is the exception: see [`crate::admission`].
//!
//! A frame that is dropped at egress after admission counts as departed too (and as `discarded`), so the ledger
//! never leaks. One that moves to another egress port has departed from the first (and counts as `moved`), and is admitted
//! for the other; its group does not release it.

use crate::sync::{AtomicU64, Ordering};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use units::{Bytes, Cells, PortId, Priority, WireBytes};

/// The shard, and so the core, that owns a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ShardId(pub u16);

impl ShardId {
    /// The number as an index into a table with one row per shard.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The part of the shared pools that one shard's groups and queues hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolUse {
    /// Shared part of the ingress pool.
    pub shared: Bytes,
    /// Headroom pool.
    pub headroom: Bytes,
    /// Egress pool of lossy queues.
    pub egress_lossy: Bytes,
}

/// A number with one writer. In a checkpoint it is a plain one.
#[derive(Default)]
struct Total(AtomicU64);

impl Total {
    #[inline]
    fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    #[inline]
    fn set(&self, number: u64) {
        self.0.store(number, Ordering::Release);
    }

    /// Adds to it, by its writer: a load and a store, no read-modify-write. With `Release`, a reader that sees the sum also
    /// sees its causes.
    #[inline]
    fn add(&self, amount: u64) {
        self.set(self.0.load(Ordering::Relaxed) + amount);
    }
}

impl Serialize for Total {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.get().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Total {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).map(|number| Self(AtomicU64::new(number)))
    }
}

/// One total per priority, on its own cache line. A library's padded type takes two lines and would double the
/// matrix.
#[derive(Default, Serialize, Deserialize)]
#[repr(align(64))]
struct Row([Total; Priority::COUNT]);

impl Row {
    #[inline]
    fn total(&self, priority: Priority) -> &Total {
        &self.0[priority.index()]
    }
}

/// Cells, bytes and frames of one priority, beside each other: most frames touch one cache line here, not three.
#[derive(Default, Serialize, Deserialize)]
struct Account {
    cells: Total,
    bytes: Total,
    frames: Total,
}

/// Cells, bytes and frames, by priority.
#[derive(Default, Serialize, Deserialize)]
#[repr(align(64))]
struct Totals([Account; Priority::COUNT]);

impl Totals {
    #[inline]
    fn add(&self, priority: Priority, load: Load) {
        let Account { cells, bytes, frames } = &self.0[priority.index()];
        cells.add(load.cells.0);
        bytes.add(load.volume.bytes.0);
        frames.add(load.volume.frames);
    }

    fn volume(&self, priority: Priority) -> Volume {
        let Account { bytes, frames, .. } = &self.0[priority.index()];
        Volume { frames: frames.get(), bytes: Bytes(bytes.get()) }
    }

    #[inline]
    fn cells(&self, priority: Priority) -> Cells {
        Cells(self.0[priority.index()].cells.get())
    }

    fn load(&self, priority: Priority) -> Load {
        Load { cells: self.cells(priority), volume: self.volume(priority) }
    }
}

/// Frames and their cost of the buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// The cells that they take.
    pub cells: Cells,
    /// Their number and length.
    pub volume: Volume,
}

impl Load {
    /// No frame.
    pub const ZERO: Self = Self { cells: Cells::ZERO, volume: Volume::ZERO };

    /// One frame of `length` bytes.
    #[inline(always)]
    pub const fn of_frame(length: Bytes) -> Self {
        Self { cells: Cells::of_frame(length), volume: Volume { frames: 1, bytes: length } }
    }

    /// One more frame, which costs `cells`.
    #[inline(always)]
    pub(crate) fn count(&mut self, length: Bytes, cells: Cells) {
        self.cells += cells;
        self.volume.count(length);
    }
}

impl core::ops::AddAssign for Load {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.cells += other.cells;
        self.volume += other.volume;
    }
}

impl core::ops::Add for Load {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl core::ops::Sub for Load {
    type Output = Self;

    /// Saturates at zero.
    fn sub(self, other: Self) -> Self {
        Self { cells: self.cells - other.cells, volume: self.volume - other.volume }
    }
}

impl core::iter::Sum for Load {
    fn sum<I: Iterator<Item = Self>>(loads: I) -> Self {
        loads.fold(Self::ZERO, |sum, load| sum + load)
    }
}

/// A number of frames and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    /// Frames.
    pub frames: u64,
    /// Their stored length, without FCS.
    pub bytes: Bytes,
}

impl Volume {
    /// No frame.
    pub const ZERO: Self = Self { frames: 0, bytes: Bytes::ZERO };

    /// Bytes of the frames on a link. It leaves out the padding of frames below the minimum: their original length
    /// is unknown here, and frames off a link have it already.
    #[inline]
    pub const fn on_the_wire(self) -> WireBytes {
        WireBytes(self.bytes.0 + self.frames * WireBytes::OVERHEAD)
    }

    /// One more frame.
    #[inline]
    pub fn count(&mut self, length: Bytes) {
        self.frames += 1;
        self.bytes.0 += length.0;
    }
}

impl core::ops::Add for Volume {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { frames: self.frames + other.frames, bytes: self.bytes + other.bytes }
    }
}

impl core::ops::AddAssign for Volume {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.frames += other.frames;
        self.bytes.0 += other.bytes.0;
    }
}

impl core::ops::Sub for Volume {
    type Output = Self;

    /// Saturates at zero.
    fn sub(self, other: Self) -> Self {
        Self { frames: self.frames.saturating_sub(other.frames), bytes: self.bytes - other.bytes }
    }
}

impl core::iter::Sum for Volume {
    fn sum<I: Iterator<Item = Self>>(volumes: I) -> Self {
        volumes.fold(Self::default(), |sum, volume| sum + volume)
    }
}

/// The ledger of one switch, shared by its shards.
#[derive(Serialize, Deserialize)]
pub struct Ledger {
    ports: usize,
    shards: usize,
    admitted: Box<[Totals]>,
    departed: Box<[Totals]>,
    discarded: Box<[Totals]>,
    moved: Box<[Totals]>,
    released: Box<[Row]>,
    pool_use: Box<[Row]>,
}

/// Places of the pools in a `pool_use` row.
const SHARED: Priority = Priority::from_low_bits(0);
const HEADROOM: Priority = Priority::from_low_bits(1);
const EGRESS_LOSSY: Priority = Priority::from_low_bits(2);

impl Ledger {
    /// An empty ledger for a switch of `ports` ports and `shards` shards.
    pub fn new(ports: usize, shards: usize) -> Self {
        Self {
            ports,
            shards,
            admitted: table(ports * ports),
            departed: table(ports * ports),
            discarded: table(ports * ports),
            moved: table(ports * ports),
            released: table(ports),
            pool_use: table(shards),
        }
    }

    /// The number of ports for which it has rows.
    pub fn ports(&self) -> usize {
        self.ports
    }

    /// The number of shards for which it has rows.
    pub fn shards(&self) -> usize {
        self.shards
    }

    #[inline]
    fn place(&self, row: PortId, column: PortId) -> usize {
        row.index() * self.ports + column.index()
    }

    /// Charges frames that came in through `ingress` and wait for `egress`. Only the owner of both
    /// ports may call it.
    #[inline(always)]
    pub(crate) fn admit(&self, ingress: PortId, egress: PortId, priority: Priority, load: Load) {
        self.admitted[self.place(ingress, egress)].add(priority, load);
    }

    /// Credits frames that have left through `egress`. Only the owner of both ports may call it.
    #[inline(always)]
    pub(crate) fn depart(&self, ingress: PortId, egress: PortId, priority: Priority, load: Load) {
        self.departed[self.place(egress, ingress)].add(priority, load);
        self.released[ingress.index()].total(priority).add(load.cells.0);
    }

    /// Credits frames that were dropped at `egress` after their admission.
    pub(crate) fn discard(&self, ingress: PortId, egress: PortId, priority: Priority, load: Load) {
        self.discarded[self.place(egress, ingress)].add(priority, load);
        self.depart(ingress, egress, priority, load);
    }

    /// Moves frames that wait at the first of two egress ports to the second. Only the owner of all three ports may call it.
    pub(crate) fn relocate(
        &self,
        ingress: PortId,
        (from, to): (PortId, PortId),
        priority: Priority,
        load: Load,
    ) {
        self.admit(ingress, to, priority, load);
        self.moved[self.place(from, ingress)].add(priority, load);
        self.departed[self.place(from, ingress)].add(priority, load);
    }

    /// Cells of all frames from `ingress` at `priority` that have gone since the start.
    #[inline]
    pub(crate) fn released(&self, ingress: PortId, priority: Priority) -> Cells {
        Cells(self.released[ingress.index()].total(priority).get())
    }

    /// Publishes the use of the pools by `shard`. Only that shard may call it.
    #[inline]
    pub(crate) fn publish_pool_use(&self, shard: ShardId, held: PoolUse) {
        let row = &self.pool_use[shard.index()];
        row.total(SHARED).set(held.shared.0);
        row.total(HEADROOM).set(held.headroom.0);
        row.total(EGRESS_LOSSY).set(held.egress_lossy.0);
    }

    /// The use of the pools by all shards but `shard`.
    #[inline]
    pub(crate) fn pool_use_of_others(&self, shard: ShardId) -> PoolUse {
        let mut sum = PoolUse::default();
        for (index, row) in self.pool_use.iter().enumerate() {
            if index != shard.index() {
                sum.shared.0 += row.total(SHARED).get();
                sum.headroom.0 += row.total(HEADROOM).get();
                sum.egress_lossy.0 += row.total(EGRESS_LOSSY).get();
            }
        }
        sum
    }

    /// All frames from `ingress` for `egress` at `priority`.
    pub fn admitted(&self, ingress: PortId, egress: PortId, priority: Priority) -> Volume {
        self.admitted[self.place(ingress, egress)].volume(priority)
    }

    /// The part of them that no longer waits there: sent, dropped, or moved to another port.
    pub fn departed(&self, ingress: PortId, egress: PortId, priority: Priority) -> Volume {
        self.departed[self.place(egress, ingress)].volume(priority)
    }

    /// The part of them that was dropped at egress.
    pub fn discarded(&self, ingress: PortId, egress: PortId, priority: Priority) -> Volume {
        self.discarded[self.place(egress, ingress)].volume(priority)
    }

    /// The part of them that was sent.
    pub fn sent(&self, ingress: PortId, egress: PortId, priority: Priority) -> Volume {
        // Drops and moves are read first: a frame that is dropped between the two reads counts as sent for once.
        let place = self.place(egress, ingress);
        let others = self.discarded[place].volume(priority) + self.moved[place].volume(priority);
        self.departed(ingress, egress, priority) - others
    }

    /// The part of them that is inside now.
    pub fn occupancy(&self, ingress: PortId, egress: PortId, priority: Priority) -> Load {
        // Departures first: a frame that departs between the two reads still counts.
        let departed = self.departed[self.place(egress, ingress)].load(priority);
        self.admitted[self.place(ingress, egress)].load(priority) - departed
    }

    /// The cells of what [`Ledger::occupancy`] says.
    #[inline]
    pub(crate) fn cells(&self, ingress: PortId, egress: PortId, priority: Priority) -> Cells {
        let departed = self.departed[self.place(egress, ingress)].cells(priority);
        self.admitted[self.place(ingress, egress)].cells(priority) - departed
    }

    /// The ingress queue: frames from `ingress` at `priority` that are still inside.
    pub fn ingress_queue(&self, ingress: PortId, priority: Priority) -> Volume {
        self.ingress_load(ingress, priority).volume
    }

    /// The ingress queue, with its cost of the buffer.
    pub fn ingress_load(&self, ingress: PortId, priority: Priority) -> Load {
        self.all_ports().map(|egress| self.occupancy(ingress, egress, priority)).sum()
    }

    /// Frames from `ingress` at `priority` that were sent, without dropped ones.
    pub fn sent_from(&self, ingress: PortId, priority: Priority) -> Volume {
        self.all_ports().map(|egress| self.sent(ingress, egress, priority)).sum()
    }

    /// Frames for `egress` that are still inside, charged to groups of `priority`: the egress queue, except for frames
    /// that [bounced](crate::program::Remap).
    pub fn egress_queue(&self, egress: PortId, priority: Priority) -> Volume {
        self.all_ports().map(|ingress| self.occupancy(ingress, egress, priority).volume).sum()
    }

    fn all_ports(&self) -> impl Iterator<Item = PortId> {
        (0..self.ports as u16).map(PortId)
    }
}

fn table<T: Default>(rows: usize) -> Box<[T]> {
    (0..rows).map(|_| T::default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_dropped_has_departed_and_was_not_sent() {
        let ledger = Ledger::new(2, 1);
        let (one, other, priority) = (PortId(0), PortId(1), Priority::from_low_bits(3));
        let frames = |frames| Volume { frames, bytes: Bytes(100 * frames) };
        let load = |count| Load { cells: Cells(8 * count), volume: frames(count) };
        ledger.admit(one, other, priority, load(5));
        ledger.depart(one, other, priority, load(2));
        ledger.discard(one, other, priority, load(1));
        assert_eq!(ledger.departed(one, other, priority), frames(3));
        assert_eq!(ledger.sent_from(one, priority), frames(2));
        assert_eq!(ledger.ingress_load(one, priority), load(2));
        assert_eq!(ledger.released(one, priority), Cells(24));
    }

    #[test]
    fn what_moves_is_inside_all_the_time_and_was_not_sent() {
        let ledger = Ledger::new(3, 1);
        let (ingress, from, to, priority) = (PortId(0), PortId(1), PortId(2), Priority::from_low_bits(3));
        let load = |count| Load {
            cells: Cells(8 * count),
            volume: Volume { frames: count, bytes: Bytes(100 * count) },
        };
        ledger.admit(ingress, from, priority, load(5));
        ledger.relocate(ingress, (from, to), priority, load(3));
        assert_eq!(ledger.ingress_load(ingress, priority), load(5));
        assert_eq!(ledger.egress_queue(from, priority), load(2).volume);
        assert_eq!(ledger.egress_queue(to, priority), load(3).volume);
        assert_eq!(
            (ledger.sent_from(ingress, priority), ledger.released(ingress, priority)),
            (Volume::ZERO, Cells::ZERO)
        );
        ledger.depart(ingress, to, priority, load(3));
        assert_eq!(ledger.sent_from(ingress, priority), load(3).volume);
        assert_eq!(ledger.ingress_load(ingress, priority), load(2));
    }

    #[test]
    fn each_pair_of_ports_has_totals_of_its_own_at_each_priority() {
        let ledger = Ledger::new(3, 2);
        assert_eq!((ledger.ports(), ledger.shards()), (3, 2));
        let load = |count| Load {
            cells: Cells(8 * count),
            volume: Volume { frames: count, bytes: Bytes(100 * count) },
        };
        let all = || (0..3).flat_map(|ingress| (0..3).map(move |egress| (ingress, egress)));
        let admitted = |ingress: u16, egress: u16, priority: Priority| {
            1_000 + 100 * u64::from(ingress) + 10 * u64::from(egress) + priority.index() as u64
        };
        let gone = |ingress: u16, egress: u16| 20 * u64::from(ingress) + u64::from(egress);
        for (ingress, egress) in all() {
            for priority in Priority::all() {
                let (from, to) = (PortId(ingress), PortId(egress));
                ledger.admit(from, to, priority, load(admitted(ingress, egress, priority)));
                ledger.depart(from, to, priority, load(gone(ingress, egress)));
                ledger.discard(from, to, priority, load(1));
            }
        }
        for (ingress, egress) in all() {
            for priority in Priority::all() {
                let (from, to) = (PortId(ingress), PortId(egress));
                let inside =
                    |ingress, egress| load(admitted(ingress, egress, priority) - gone(ingress, egress) - 1);
                assert_eq!(
                    ledger.admitted(from, to, priority),
                    load(admitted(ingress, egress, priority)).volume
                );
                assert_eq!(ledger.discarded(from, to, priority), load(1).volume);
                assert_eq!(ledger.occupancy(from, to, priority), inside(ingress, egress));
                assert_eq!(ledger.cells(from, to, priority), inside(ingress, egress).cells);
                let waits: Load = (0..3).map(|ingress| inside(ingress, egress)).sum();
                assert_eq!(ledger.egress_queue(to, priority), waits.volume);
                let came: Load = (0..3).map(|egress| inside(ingress, egress)).sum();
                assert_eq!(ledger.ingress_queue(from, priority), came.volume);
                let released: Load = (0..3).map(|egress| load(gone(ingress, egress) + 1)).sum();
                assert_eq!(ledger.released(from, priority), released.cells);
            }
        }
    }

    #[test]
    fn a_shard_reads_what_the_others_hold_of_the_pools() {
        let ledger = Ledger::new(1, 3);
        let held = |n| PoolUse { shared: Bytes(n), headroom: Bytes(10 * n), egress_lossy: Bytes(100 * n) };
        for (shard, n) in [(0, 1), (1, 2), (2, 4), (1, 3)] {
            ledger.publish_pool_use(ShardId(shard), held(n));
        }
        for (shard, others) in [(0, 3 + 4), (1, 1 + 4), (2, 1 + 3)] {
            assert_eq!(ledger.pool_use_of_others(ShardId(shard)), held(others));
        }
    }

    #[test]
    fn frames_take_their_bytes_and_an_overhead_each_on_the_wire() {
        let mut load = Load::ZERO;
        [60, 1_500].map(Bytes).into_iter().for_each(|length| load.count(length, Cells::of_frame(length)));
        assert_eq!(load, Load::of_frame(Bytes(60)) + Load::of_frame(Bytes(1_500)));
        assert_eq!(load.volume.on_the_wire(), WireBytes(1_560 + 2 * WireBytes::OVERHEAD));
    }
}
