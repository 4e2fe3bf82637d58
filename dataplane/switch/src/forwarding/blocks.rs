//! The longest prefix of an IPv4 address by one hash, where the routes are those of racks and hosts.
//!
//! A tree finds any prefix, in as many steps as it is long. Inside a data center, routes are /24 and longer. For
//! each such block of 256 addresses, the result for each address is stored when the table is built, as in the
//! second table of DIR-24-8 (Gupta, Lin and McKeown, "Routing Lookups in Hardware at Memory Access Speeds"). A hash
//! of the upper 24 bits replaces the first table, which would have 2^24 entries.

use core::net::Ipv4Addr;
use std::collections::BTreeMap;

/// Addresses in a block.
const ADDRESSES: usize = 256;
/// The most blocks stored address by address, a few kilobytes each. Further ones are left to the tree.
const MOST_TABLES: usize = 4_096;

/// 2^32 divided by the golden ratio: multiplied by it, numbers that follow each other are far apart (Knuth, "The
/// Art of Computer Programming", volume 3, section 6.4).
const GOLDEN: u32 = 0x9e37_79b9;

/// The result for one block.
#[derive(Clone, Copy)]
enum Block<T> {
    /// The same for all its addresses.
    Same(T),
    /// One for each address, in the table of this number.
    Each(u32),
}

/// A block under its number.
#[derive(Clone, Copy)]
struct Entry<T> {
    number: u32,
    block: Block<T>,
}

/// The blocks that contain some prefix of 24 bits or more.
pub(super) struct Blocks<T> {
    /// The blocks, each at the place of its hash or the next free one. At least half of the places are empty.
    places: Box<[Option<Entry<T>>]>,
    /// The shift that turns a hash into a place.
    shift: u32,
    tables: Vec<[T; ADDRESSES]>,
}

impl<T: Copy> Blocks<T> {
    /// Stores the results of `longest_match` for all blocks of `prefixes`, given with their lengths.
    /// `longest_match` must have no other prefix of 24 bits or more.
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

    /// The place of the block `number`, or the place that it would have.
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

    /// The result for `address`; `None` if only the tree has it.
    #[inline(always)]
    pub fn find(&self, address: Ipv4Addr) -> Option<T> {
        match self.places[self.place(number(address))]?.block {
            Block::Same(answer) => Some(answer),
            Block::Each(table) => Some(self.tables[table as usize][usize::from(address.octets()[3])]),
        }
    }
}

/// The number of the block of `address`.
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
