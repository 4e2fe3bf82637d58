//! The queue pairs of a host, by their numbers.

use crate::receiver::Receiver;
use crate::sender::Sender;
use wire::roce::QueuePair;

/// Bits of a number that say where the queue pair is; those above tell apart who was there one after the other.
const SLOT_BITS: u32 = 20;
const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;
/// Queue pairs 0 and 1 are those of management.
const RESERVED: u32 = 2;

/// Where a queue pair is in the table.
pub(super) type Slot = u32;

/// What a queue pair is.
#[derive(Debug)]
pub(super) enum QueuePairState {
    /// Nobody's.
    Free,
    /// Reserved, and not connected.
    Reserved,
    /// One that sends.
    Sender(Box<Sender>),
    /// One that receives.
    Receiver(Box<Receiver>),
}

/// All of them. Memory is that of the most that there were at one time.
#[derive(Debug, Default)]
pub(super) struct Table {
    entries: Vec<Entry>,
    free: Vec<Slot>,
}

#[derive(Debug)]
struct Entry {
    generation: u32,
    state: QueuePairState,
}

impl Table {
    /// Takes a free number; `None` where all 2^20 - 2 of them are taken.
    pub fn reserve(&mut self) -> Option<QueuePair> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                let slot = self.entries.len() as u32;
                if slot + RESERVED > SLOT_MASK {
                    return None;
                }
                self.entries.push(Entry { generation: 0, state: QueuePairState::Free });
                slot
            }
        };
        let entry = self.entries.get_mut(slot as usize)?;
        entry.state = QueuePairState::Reserved;
        Some(QueuePair::from_low_bits(entry.generation << SLOT_BITS | (slot + RESERVED)))
    }

    /// Where the queue pair with this number is; `None` where there is none now.
    #[inline]
    pub fn find(&self, number: QueuePair) -> Option<Slot> {
        let slot = (number.number() & SLOT_MASK).checked_sub(RESERVED)?;
        let entry = self.entries.get(slot as usize)?;
        (entry.generation == number.number() >> SLOT_BITS).then_some(slot)
    }

    /// Where the queue pair is that has this TCP port. Ports have 16 bits, so those of the first 65,534 places can be
    /// told apart.
    pub fn find_port(&self, port: u16) -> Option<Slot> {
        let slot = u32::from(port).checked_sub(RESERVED)?;
        (slot < self.entries.len() as u32).then_some(slot)
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

    /// Gives the number back.
    pub fn release(&mut self, slot: Slot) {
        if let Some(entry) = self.entries.get_mut(slot as usize)
            && !matches!(entry.state, QueuePairState::Free)
        {
            entry.state = QueuePairState::Free;
            entry.generation = (entry.generation + 1) & (u32::MAX >> (SLOT_BITS + 8));
            self.free.push(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_not_given_twice_while_it_is_taken() {
        let mut table = Table::default();
        let mut numbers: Vec<_> = (0..100).map(|_| table.reserve().unwrap()).collect();
        numbers.sort();
        numbers.dedup();
        assert_eq!(numbers.len(), 100);
        assert!(numbers.iter().all(|number| *number > QueuePair::GENERAL_SERVICES));
    }

    #[test]
    fn who_comes_later_to_a_place_has_another_number() {
        let mut table = Table::default();
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
}
