//! The longest prefix of an IPv4 address by one hash, where the routes are those of racks and hosts.
//!
//! A tree finds any prefix, by as many steps as it is long. Inside a data center the routes are /24 and longer.
//! What they say of each address of such a block of 256 is written down when the table is built, as in the second
//! table of DIR-24-8 (Gupta, Lin and McKeown, "Routing Lookups in Hardware at Memory Access Speeds"); a hash
//! of the upper 24 bits takes the place of the first, which would have 2^24 entries.

use core::net::Ipv4Addr;
use foldhash::fast::FixedState;
use std::collections::{BTreeMap, HashMap};

/// Addresses in a block.
const ADDRESSES: usize = 256;
/// The most blocks that are written down address by address, a few kilobytes each. Further ones are left to
/// the tree.
const MOST_TABLES: usize = 4_096;

/// What the routes say of one block.
#[derive(Clone, Copy)]
enum Block<T> {
    /// The same of all its addresses.
    Same(T),
    /// Of each what is in this table.
    Each(u32),
}

/// The blocks of which some prefix of 24 bits or more is a part.
pub(super) struct Blocks<T> {
    blocks: HashMap<u32, Block<T>, FixedState>,
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
        let mut it = Self { blocks: HashMap::default(), tables: Vec::new() };
        for (number, length) in longest {
            let address = |low: usize| Ipv4Addr::from_bits(number << 8 | low as u32);
            if length == 24 {
                it.blocks.insert(number, Block::Same(longest_match(address(0))));
            } else if it.tables.len() < MOST_TABLES {
                it.blocks.insert(number, Block::Each(it.tables.len() as u32));
                it.tables.push(core::array::from_fn(|low| longest_match(address(low))));
            }
        }
        it
    }

    /// What the longest prefix of `address` says; `None` where only the tree knows.
    #[inline]
    pub fn find(&self, address: Ipv4Addr) -> Option<T> {
        match *self.blocks.get(&number(address))? {
            Block::Same(answer) => Some(answer),
            Block::Each(table) => {
                self.tables.get(table as usize).map(|it| it[usize::from(address.octets()[3])])
            }
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
