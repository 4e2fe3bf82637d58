//! The queue pairs of a host, by their numbers.

use crate::receiver::Receiver;
use crate::sender::Sender;
use crate::settings::Transport;
use serde::{Deserialize, Serialize};
use wire::roce::QueuePair;

/// Bits of a number that hold the slot. The bits above distinguish successive queue pairs of one slot.
const SLOT_BITS: u32 = 20;
const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;
/// A number has 24 bits.
const GENERATION_MASK: u32 = u32::MAX >> (SLOT_BITS + 8);
/// Queue pairs 0 and 1 are for management.
const RESERVED: u32 = 2;

/// The index of a queue pair in the table.
pub(super) type Slot = u32;

/// The state of a queue pair.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum QueuePairState {
    /// Unused.
    Free,
    /// Reserved but not connected.
    Reserved,
    /// A sender.
    Sender(Box<Sender>),
    /// A receiver.
    Receiver(Box<Receiver>),
}

/// The maximum number of queue pairs, depending on how they are identified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Places {
    /// By their numbers: 2^20 - 2.
    Numbers,
    /// By TCP ports, which have 16 bits: 65,534.
    Ports,
}

impl Places {
    /// The maximum for a transport.
    pub fn of(transport: &Transport) -> Self {
        match transport {
            Transport::NewReno(_) => Self::Ports,
            Transport::GoBackN(_) | Transport::Irn(_) => Self::Numbers,
        }
    }

    pub const fn count(self) -> usize {
        match self {
            Self::Numbers => (SLOT_MASK + 1 - RESERVED) as usize,
            Self::Ports => (u16::MAX as u32 + 1 - RESERVED) as usize,
        }
    }
}

/// All queue pairs. Memory grows to the largest number in use at one time.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Table {
    places: Places,
    entries: Vec<Entry>,
    /// The first slots, whose queue pairs stay reserved: see [`Table::keep`].
    kept: u32,
    free: Vec<Slot>,
    /// The number of releases.
    pub released: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    generation: u32,
    state: QueuePairState,
}

/// The number of the queue pair in a kept slot that was released `uses` times.
pub(super) fn kept_number(slot: Slot, uses: u32) -> QueuePair {
    QueuePair::from_low_bits((uses & GENERATION_MASK) << SLOT_BITS | (slot + RESERVED))
}

impl Table {
    /// An empty table.
    pub fn new(places: Places) -> Self {
        Self { places, entries: Vec::new(), kept: 0, free: Vec::new(), released: 0 }
    }

    /// Reserves the first `count` slots of an empty table for good. A slot that is released stays reserved, under the next
    /// of its numbers, [`kept_number`].
    pub fn keep(&mut self, count: u32) {
        self.kept = count.min(self.places.count() as u32);
        let reserved = || Entry { generation: 0, state: QueuePairState::Reserved };
        self.entries.resize_with(self.kept as usize, reserved);
    }

    /// Reserves a free number; `None` if all are taken.
    pub fn reserve(&mut self) -> Option<QueuePair> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                if self.entries.len() == self.places.count() {
                    return None;
                }
                let slot = self.entries.len() as u32;
                self.entries.push(Entry { generation: 0, state: QueuePairState::Free });
                slot
            }
        };
        let entry = self.entries.get_mut(slot as usize)?;
        entry.state = QueuePairState::Reserved;
        Some(QueuePair::from_low_bits(entry.generation << SLOT_BITS | (slot + RESERVED)))
    }

    /// The number of queue pairs that are free.
    pub fn left(&self) -> usize {
        self.places.count() - self.entries.len() + self.free.len()
    }

    /// The slot of the queue pair with this number, or `None`.
    #[inline]
    pub fn find(&self, number: QueuePair) -> Option<Slot> {
        let slot = (number.number() & SLOT_MASK).checked_sub(RESERVED)?;
        let entry = self.entries.get(slot as usize)?;
        (entry.generation == number.number() >> SLOT_BITS).then_some(slot)
    }

    /// The slot of the queue pair with this TCP port.
    pub fn find_port(&self, port: u16) -> Option<Slot> {
        let slot = u32::from(port).checked_sub(RESERVED)?;
        (slot < self.entries.len() as u32).then_some(slot)
    }

    /// Whether the slot stays reserved.
    pub fn keeps(&self, slot: Slot) -> bool {
        slot < self.kept
    }

    #[inline]
    pub fn state(&self, slot: Slot) -> Option<&QueuePairState> {
        self.entries.get(slot as usize).map(|entry| &entry.state)
    }

    #[inline]
    pub fn state_mut(&mut self, slot: Slot) -> Option<&mut QueuePairState> {
        self.entries.get_mut(slot as usize).map(|entry| &mut entry.state)
    }

    #[inline]
    pub fn sender(&mut self, slot: Slot) -> Option<&mut Sender> {
        match self.state_mut(slot) {
            Some(QueuePairState::Sender(sender)) => Some(sender),
            _ => None,
        }
    }

    /// Releases the number.
    pub fn release(&mut self, slot: Slot) {
        self.release_before(slot, 0);
    }

    /// Releases the number as if the last `later` releases had come after this one.
    pub fn release_before(&mut self, slot: Slot, later: usize) {
        if let Some(entry) = self.entries.get_mut(slot as usize)
            && !matches!(entry.state, QueuePairState::Free)
        {
            entry.generation = (entry.generation + 1) & GENERATION_MASK;
            if slot < self.kept {
                entry.state = QueuePairState::Reserved;
                return;
            }
            entry.state = QueuePairState::Free;
            self.free.insert(self.free.len().saturating_sub(later), slot);
            self.released += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_not_given_twice_while_it_is_taken() {
        let mut table = Table::new(Places::Numbers);
        let mut numbers: Vec<_> = (0..100).map(|_| table.reserve().unwrap()).collect();
        numbers.sort();
        numbers.dedup();
        assert_eq!(numbers.len(), 100);
        assert!(numbers.iter().all(|number| *number > QueuePair::GENERAL_SERVICES));
    }

    #[test]
    fn a_reused_slot_has_another_number() {
        let mut table = Table::new(Places::Numbers);
        let first = table.reserve().unwrap();
        let slot = table.find(first).unwrap();
        table.release(slot);
        assert_eq!(table.find(first), None);
        let second = table.reserve().unwrap();
        assert_ne!(first, second);
        assert_eq!(table.find(second), Some(slot), "and the place is used again");
        table.release(slot);
        table.release(slot);
        assert_ne!(table.reserve(), table.reserve(), "given back twice, it is free once");
    }

    #[test]
    fn a_number_that_is_given_back_late_is_used_again_in_its_turn() {
        let used_again = |late: bool| {
            let mut table = Table::new(Places::Numbers);
            let slots: Vec<Slot> = (0..3).map(|_| table.reserve().unwrap().number() - RESERVED).collect();
            if late {
                table.release(slots[1]);
                table.release(slots[2]);
                table.release_before(slots[0], 2);
            } else {
                slots.iter().for_each(|slot| table.release(*slot));
            }
            assert_eq!(table.released, 3);
            (0..3).map(|_| table.reserve()).collect::<Vec<_>>()
        };
        assert_eq!(used_again(true), used_again(false));
    }

    #[test]
    fn a_kept_slot_stays_reserved_under_one_number_after_the_other_and_no_other_flow_gets_it() {
        let mut table = Table::new(Places::Numbers);
        table.keep(2);
        for uses in 0..40 {
            assert_eq!(table.find(kept_number(1, uses)), Some(1));
            assert!(matches!(table.state(1), Some(QueuePairState::Reserved)));
            table.release(1);
            assert_eq!(table.find(kept_number(1, uses)), None, "a late packet finds nothing");
        }
        assert_eq!((table.released, table.left()), (0, Places::Numbers.count() - 2));
        assert_eq!(table.reserve().map(|number| table.find(number)), Some(Some(2)));
    }

    #[test]
    fn when_all_numbers_are_taken_there_is_none_until_one_is_given_back() {
        for (places, count) in [(Places::Numbers, (1 << 20) - 2), (Places::Ports, 65_534)] {
            let mut table = Table::new(places);
            assert!((0..count).all(|_| table.reserve().is_some()), "{places:?}");
            assert_eq!((table.reserve(), table.reserve()), (None, None));
            table.release(count - 1);
            let last = table.reserve().unwrap();
            assert_eq!(table.find(last), Some(count - 1));
            if places == Places::Ports {
                assert_eq!(table.find_port(last.number() as u16), Some(count - 1));
            }
            assert_eq!(table.reserve(), None);
        }
    }
}
