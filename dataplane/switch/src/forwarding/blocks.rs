//! The longest prefix of an IPv4 address by one hash, where the routes are those of racks and hosts.
//!
//! A tree finds any prefix, by as many steps as it is long. Inside a data center the routes are /24 and longer.
//! What they say of each address of such a block of 256 is written down when the table is built, as in the second
//! table of DIR-24-8 (Gupta, Lin and McKeown, "Routing Lookups in Hardware at Memory Access Speeds"); a hash
//! of the upper 24 bits takes the place of the first, which would have 2^24 entries.

use core::net::Ipv4Addr;
use std::collections::BTreeMap;

/// Addresses in a block.
const ADDRESSES: usize = 256;
/// The most blocks that are written down address by address, a few kilobytes each. Further ones are left to
/// the tree.
const MOST_TABLES: usize = 4_096;

/// 2^32 divided by the golden ratio: multiplied by it, numbers that follow each other are far apart (Knuth, "The
/// Art of Computer Programming", volume 3, section 6.4).
const GOLDEN: u32 = 0x9e37_79b9;

/// What the routes say of one block.
#[derive(Clone, Copy)]
enum Block<T> {
    /// The same of all its addresses.
    Same(T),
    /// Of each what is in this table.
    Each(u32),
}

/// A block under its number.
#[derive(Clone, Copy)]
struct Entry<T> {
    number: u32,
    block: Block<T>,
}

/// The blocks of which some prefix of 24 bits or more is a part.
pub(super) struct Blocks<T> {
    /// Each at its place by hash or in one of the next. Half of the places are empty at least.
    places: Box<[Option<Entry<T>>]>,
    /// By which a hash is shifted to be a place.
    shift: u32,
    tables: Vec<[T; ADDRESSES]>,
}

impl<T: Copy> Blocks<T> {
    /// Asks `longest_match` for all that `prefixes`, with their lengths, make worth writing down. No other prefix
    /// of 24 bits or more may be in what it asks.
    pub fn new(
        prefixes: impl IntoIterator<Item = (Ipv4Addr, u32)>,
        longest_match: impl Fn(Ipv4Addr) -> T,
    ) -> Self {
        let mut longest = BTreeMap::new();
        for (address, length) in prefixes.into_iter().filter(|(_, length)| *length >= 24) {
            let known = longest.entry(number(address)).or_insert(length);
            *known = length.max(*known);
        }
        let bits = (2 * longest.len()).next_power_of_two().trailing_zeros().max(1);
        let places = vec![None; 1 << bits].into_boxed_slice();
        let mut it = Self { places, shift: u32::BITS - bits, tables: Vec::new() };
        for (number, length) in longest {
            let address = |low: usize| Ipv4Addr::from_bits(number << 8 | low as u32);
            if length == 24 {
                it.insert(number, Block::Same(longest_match(address(0))));
            } else if it.tables.len() < MOST_TABLES {
                it.insert(number, Block::Each(it.tables.len() as u32));
                it.tables.push(core::array::from_fn(|low| longest_match(address(low))));
            }
        }
        it
    }

    /// Where the block `number` is, or where it would be.
    #[inline(always)]
    fn place(&self, number: u32) -> usize {
        let mut place = (number.wrapping_mul(GOLDEN) >> self.shift) as usize;
        while self.places[place].is_some_and(|entry| entry.number != number) {
            place = (place + 1) & (self.places.len() - 1);
        }
        place
    }

    fn insert(&mut self, number: u32, block: Block<T>) {
        self.places[self.place(number)] = Some(Entry { number, block });
    }

    /// What the longest prefix of `address` says; `None` where only the tree knows.
    #[inline(always)]
    pub fn find(&self, address: Ipv4Addr) -> Option<T> {
        match self.places[self.place(number(address))]?.block {
            Block::Same(answer) => Some(answer),
            Block::Each(table) => Some(self.tables[table as usize][usize::from(address.octets()[3])]),
        }
    }
}

/// Of the block of `address`.
#[inline]
fn number(address: Ipv4Addr) -> u32 {
    address.to_bits() >> 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use ip_network_table_deps_treebitmap::IpLookupTable;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_down_is_what_the_tree_says(
            // Few blocks, so that prefixes of all lengths meet in one.
            prefixes in proptest::collection::vec((0_u32..1 << 10, 14_u32..=32), 0..40),
            asked in proptest::collection::vec(0_u32..1 << 10, 1..100),
        ) {
            let prefixes: Vec<_> = prefixes
                .into_iter()
                .map(|(bits, length)| (Ipv4Addr::from_bits((0x0a00_0000 | bits) & u32::MAX << (32 - length)), length))
                .collect();
            let mut tree = IpLookupTable::new();
            for (number, (address, length)) in prefixes.iter().enumerate() {
                tree.insert(*address, *length, number);
            }
            let longest = |address| tree.longest_match(address).map(|(_, _, number)| *number);
            let blocks = Blocks::new(prefixes.iter().copied(), longest);
            for bits in asked {
                let address = Ipv4Addr::from_bits(0x0a00_0000 | bits);
                let inside = |it: &(Ipv4Addr, u32)| it.1 >= 24 && number(it.0) == number(address);
                let found = blocks.find(address);
                prop_assert_eq!(found.is_some(), prefixes.iter().any(inside));
                prop_assert!(found.is_none_or(|found| found == longest(address)));
            }
        }
    }
}
