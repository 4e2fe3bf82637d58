//! The packets of a message that have arrived: all before the first gap, and some after it.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

const WORD: u64 = u64::BITS as u64;

/// A set of packet numbers that is contiguous up to its first gap. It takes one bit for each packet from the
/// gap to the last.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// The first missing packet.
    missing: u64,
    /// Bits, starting at the word of `missing`. Bits below `missing` are ignored.
    words: VecDeque<u64>,
    /// One past the last packet in the set.
    end: u64,
}

impl Seen {
    /// The first missing packet.
    #[inline]
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// One past the last packet in the set.
    #[inline]
    pub fn end(&self) -> u64 {
        self.end.max(self.missing)
    }

    #[inline]
    pub fn contains(&self, packet: u64) -> bool {
        if packet < self.missing {
            return true;
        }
        let word = self.words.get(self.word(packet)).copied().unwrap_or(0);
        word >> (packet % WORD) & 1 != 0
    }

    /// Adds a packet; returns whether it is new.
    pub fn insert(&mut self, packet: u64) -> bool {
        if packet == self.missing && self.end <= self.missing {
            // The common case: there were no packets after the gap, and now there is no gap.
            self.words.clear();
            self.missing += 1;
            self.end = self.missing;
            return true;
        }
        if self.contains(packet) {
            return false;
        }
        let word = self.word(packet);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        if let Some(word) = self.words.get_mut(word) {
            *word |= 1 << (packet % WORD);
        }
        self.end = self.end().max(packet + 1);
        if packet == self.missing {
            self.move_to(self.next_missing(packet));
        }
        true
    }

    /// Adds all packets before `packet`.
    pub fn insert_before(&mut self, packet: u64) {
        if packet > self.missing {
            let next = self.next_missing(packet);
            self.move_to(next);
        }
    }

    /// The first missing packet from `packet` on.
    pub fn next_missing(&self, packet: u64) -> u64 {
        let mut packet = packet.max(self.missing);
        while packet < self.end {
            let word = self.words.get(self.word(packet)).copied().unwrap_or(0);
            // Count the consecutive ones from the bit of `packet` on.
            let ones = u64::from((word >> (packet % WORD)).trailing_ones());
            let left = WORD - packet % WORD;
            if ones < left {
                return packet + ones;
            }
            packet += left;
        }
        packet
    }

    /// The index of the word of `packet`, which is not before the gap.
    #[inline]
    fn word(&self, packet: u64) -> usize {
        (packet / WORD - self.missing / WORD) as usize
    }

    fn move_to(&mut self, missing: u64) {
        let words = self.words.len().min((missing / WORD - self.missing / WORD) as usize);
        self.words.drain(..words);
        self.missing = missing;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_the_set_that_it_stands_for(
            packets in prop::collection::vec((0..400_u64, any::<bool>()), 0..300), probes: [u16; 8],
        ) {
            let (mut seen, mut set) = (Seen::default(), BTreeSet::new());
            for (packet, all_before) in packets {
                // Rarely, or there would be no gaps.
                if all_before && packet < 40 {
                    seen.insert_before(packet * 8);
                    set.extend(0..packet * 8);
                } else {
                    prop_assert_eq!(seen.insert(packet), set.insert(packet));
                }
                let missing = (0..).find(|number| !set.contains(number));
                prop_assert_eq!(Some(seen.missing()), missing);
                prop_assert_eq!(seen.end(), set.last().map_or(0, |last| last + 1));
                for probe in probes.map(|probe| u64::from(probe) % 500) {
                    prop_assert_eq!(seen.contains(probe), set.contains(&probe));
                    let next = (probe.max(seen.missing())..).find(|number| !set.contains(number));
                    prop_assert_eq!(Some(seen.next_missing(probe)), next);
                }
            }
        }
    }

    #[test]
    fn what_comes_in_order_takes_no_memory() {
        let mut seen = Seen::default();
        for packet in 0..10_000 {
            assert!(seen.insert(packet));
        }
        assert_eq!((seen.missing(), seen.words.capacity()), (10_000, 0));
    }
}
